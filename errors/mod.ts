/**
 * Errors with a code, an HTTP status and a message that is safe to show. Knows no other part of the package and
 * imports nothing.
 *
 * @example Throw in a handler, and the client gets a 404 with the documented body
 * ```ts
 * import { NotFoundError } from "@trellis/fn/errors";
 *
 * function findNote(notes: Map<string, string>, id: string): string {
 *   const note = notes.get(id);
 *   if (note === undefined) throw new NotFoundError("No such note");
 *   return note;
 * }
 *
 * console.log(findNote(new Map([["n1", "milk"]]), "n1")); // milk
 * ```
 *
 * @module
 */
export { AppError, type AppErrorOptions, isAppError } from "./app_error.ts";
export { findInCauseChain } from "./cause_chain.ts";
export {
  CommitOutcomeUnknownError,
  DatabaseError,
  type DatabaseErrorOptions,
  ForeignKeyViolationError,
  type ForeignKeyViolationOptions,
  UniqueViolationError,
  type UniqueViolationOptions,
} from "./database_errors.ts";
export { ERROR_CODES, type ErrorCode, type ErrorCodeEntry } from "./error_code.ts";
export {
  ConfigurationError,
  ConflictError,
  DeadlineExceededError,
  ForbiddenError,
  MethodNotAllowedError,
  NotFoundError,
  PayloadTooLargeError,
  PreconditionFailedError,
  type RetryAfterOptions,
  ServiceUnavailableError,
  TooManyRequestsError,
  UnauthorizedError,
  UnexpectedError,
  UnprocessableContentError,
  UnsupportedMediaTypeError,
  ValidationError,
  type ValidationErrorOptions,
} from "./http_errors.ts";
export { TransactionMisuseError } from "./transaction_misuse_error.ts";
