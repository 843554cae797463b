import { ERROR_CODES, type ErrorCode } from "./error_code.ts";

/** Marks our errors across two copies of the package in one process, where `instanceof` fails. */
const BRAND: symbol = Symbol.for("@trellis/fn/AppError");

/** Options of {@link AppError}. */
export interface AppErrorOptions {
  /** The error that led to this one: logged, never sent to a client. */
  cause?: unknown;
  /** Facts about the failure for the log and for code that catches it; never sent to a client. */
  details?: Readonly<Record<string, unknown>>;
  /** HTTP response headers that belong to this failure, such as `Retry-After`. */
  headers?: Readonly<Record<string, string>>;
  /**
   * True if a client may read the message.
   * @default true below status 500; never true from 500 on
   */
  expose?: boolean;
}

/**
 * Base class of all errors that the package throws. Switch on `code`, not on the message.
 *
 * @example
 * ```ts
 * import { AppError } from "@trellis/fn/errors";
 *
 * const error = new AppError("CONFLICT", "The note was changed by someone else");
 * console.log(error.statusCode); // 409
 * ```
 */
export class AppError extends Error {
  override readonly name: string = "AppError";
  /** The kind of failure. */
  readonly code: ErrorCode;
  /** HTTP status of the response that this error becomes. */
  readonly statusCode: number;
  /** Facts for the log. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** Headers of the response that this error becomes. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** True if a client may read the message. */
  readonly expose: boolean;

  /**
   * @param code The kind of failure.
   * @param message What happened and what to do about it; the code's own phrase when left out.
   * @param options Cause, details, headers, exposure.
   */
  constructor(code: ErrorCode, message?: string, options: AppErrorOptions = {}) {
    const { status, title } = ERROR_CODES[code];
    super(message ?? title, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.statusCode = status;
    this.details = options.details;
    this.headers = options.headers;
    this.expose = status < 500 && options.expose !== false;
  }

  /** Mark that {@link isAppError} looks for, also in a copy of the package from another bundle. */
  get [BRAND](): true {
    return true;
  }
}

/**
 * Checks whether a value is an {@link AppError}, also of another copy of the package.
 *
 * @param value Anything, such as what a `catch` caught.
 * @param code When given, only this code counts.
 * @returns `true` for an error of this package.
 *
 * @example
 * ```ts
 * import { isAppError, NotFoundError } from "@trellis/fn/errors";
 *
 * console.log(isAppError(new NotFoundError(), "NOT_FOUND")); // true
 * ```
 */
export function isAppError(value: unknown, code?: ErrorCode): value is AppError {
  return typeof value === "object" && value !== null &&
    (value as Record<symbol, unknown>)[BRAND] === true &&
    (code === undefined || (value as AppError).code === code);
}
