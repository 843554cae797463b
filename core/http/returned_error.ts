import type { AppError } from "../../errors/app_error.ts";

/**
 * An error that a handler returns instead of throwing it. Throwing costs as much as validating a small body, and a
 * client that retries in a loop sends many invalid requests.
 */
export class ReturnedError {
  /** The error. */
  readonly error: AppError;

  /** @param error The error. */
  constructor(error: AppError) {
    this.error = error;
  }
}
