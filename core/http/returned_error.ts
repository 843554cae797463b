import type { AppError } from "../../errors/app_error.ts";

/**
 * A failure that a handler gives back instead of throwing it. To throw costs as much as to validate a small body, and
 * requests that do not fit are what a client in a loop sends most.
 */
export class ReturnedError {
  /** What would have been thrown. */
  readonly error: AppError;

  /** @param error What would have been thrown. */
  constructor(error: AppError) {
    this.error = error;
  }
}
