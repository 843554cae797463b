import { UnexpectedError, type ValidationError } from "../../errors/http_errors.ts";
import { describeError } from "../../observability/describe_error.ts";
import { isClientError } from "../client_error.ts";

/**
 * Returns a description of an error that may be logged. For invalid input it only names the fields, because the
 * messages of some libraries quote the value.
 *
 * @param error Anything that was thrown.
 * @returns The description.
 */
export function getReason(error: unknown): string {
  const { message } = describeError(error);
  if (!isClientError(error) || error.code !== "VALIDATION_FAILED") return message;
  const fields = Object.keys((error as ValidationError).errors);
  const reason = error.details?.reason ?? (fields.length > 0 ? fields.join(", ") : undefined);
  return reason === undefined ? message : `${message}: ${reason}`;
}

/**
 * Converts an error of a trigger without a client. An error with a status below 500 would count as a mistake of the
 * client, and would neither be logged nor counted as a failure.
 *
 * @param error Anything that was thrown.
 * @returns The error to throw to the platform.
 */
export function toServerError(error: unknown): unknown {
  return isClientError(error) ? new UnexpectedError(getReason(error), { cause: error }) : error;
}
