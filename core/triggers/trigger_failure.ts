import { type AppError, isAppError } from "../../errors/app_error.ts";
import { UnexpectedError, type ValidationError } from "../../errors/http_errors.ts";
import { describeError } from "../../observability/describe_error.ts";

/**
 * Why something failed, in words that may stand in a log. Of an input that does not fit only the fields are named:
 * some libraries quote the value in their messages.
 *
 * @param error Anything that was thrown.
 */
export function getReason(error: unknown): string {
  const { message } = describeError(error);
  if (!isClientError(error) || error.code !== "VALIDATION_FAILED") return message;
  const fields = Object.keys((error as ValidationError).errors);
  const fault = error.details?.fault ?? (fields.length > 0 ? fields.join(", ") : undefined);
  return fault === undefined ? message : `${message}: ${fault}`;
}

/**
 * A failure of a trigger that has no client. An error below status 500 would pass for the fault of a caller, of whom
 * there is none: it would neither be logged as a failure nor counted as one.
 *
 * @param error Anything that was thrown.
 * @returns What is thrown to the platform.
 */
export function toFault(error: unknown): unknown {
  return isClientError(error) ? new UnexpectedError(getReason(error), { cause: error }) : error;
}

/** Whether an error is of the kind that a client is told, below status 500. */
export function isClientError(error: unknown): error is AppError {
  try {
    return isAppError(error) && error.statusCode < 500;
  } catch {
    return false; // a thrown proxy or getter
  }
}
