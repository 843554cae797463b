import { type AppError, isAppError } from "../errors/app_error.ts";

/**
 * Checks whether an error reports a mistake of the client: an `AppError` with a status below 500.
 *
 * @param error Anything that was thrown.
 * @returns `true` for a client error. Any other error is a failure of the service.
 */
export function isClientError(error: unknown): error is AppError {
  try {
    return isAppError(error) && error.statusCode < 500;
  } catch {
    return false; // the thrown value is a proxy, or has a getter that throws
  }
}
