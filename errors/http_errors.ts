import { AppError, type AppErrorOptions } from "./app_error.ts";

/** Options of {@link ValidationError}. */
export interface ValidationErrorOptions extends AppErrorOptions {
  /** Messages by field, in dotted paths (`items.0.sku`); `_form` for the whole input. Sent to the client. */
  errors?: Readonly<Record<string, string[]>>;
}

/** 400: the input is invalid. `errors` is part of the response. */
export class ValidationError extends AppError {
  override readonly name: string = "ValidationError";
  /** Messages by field. */
  readonly errors: Readonly<Record<string, string[]>>;

  /**
   * @param message Shown to the client.
   * @param options Messages by field, and the options of every error.
   */
  constructor(message = "Validation failed", options: ValidationErrorOptions = {}) {
    super("VALIDATION_FAILED", message, options);
    this.errors = options.errors ?? {};
  }
}

/** 401: the credential is missing or invalid. Sends `WWW-Authenticate: Bearer` (RFC 6750 section 3). */
export class UnauthorizedError extends AppError {
  override readonly name: string = "UnauthorizedError";

  /**
   * @param message Shown to the client: never the credential.
   * @param options Cause, details, headers.
   */
  constructor(message = "Unauthorized", options: AppErrorOptions = {}) {
    super("UNAUTHORIZED", message, {
      ...options,
      headers: { "WWW-Authenticate": "Bearer", ...options.headers },
    });
  }
}

/** 403: the caller is authenticated but not allowed to do this. */
export class ForbiddenError extends AppError {
  override readonly name: string = "ForbiddenError";

  /**
   * @param message Shown to the client.
   * @param options Cause, details, headers.
   */
  constructor(message = "Forbidden", options: AppErrorOptions = {}) {
    super("FORBIDDEN", message, options);
  }
}

/** 404: the resource does not exist, or the caller may not know that it exists. */
export class NotFoundError extends AppError {
  override readonly name: string = "NotFoundError";

  /**
   * @param message Shown to the client.
   * @param options Cause, details, headers.
   */
  constructor(message = "Not found", options: AppErrorOptions = {}) {
    super("NOT_FOUND", message, options);
  }
}

/** 405: the resource does not support this method. */
export class MethodNotAllowedError extends AppError {
  override readonly name: string = "MethodNotAllowedError";

  /**
   * @param allowed The supported methods, for the `Allow` header (RFC 9110 section 10.2.1).
   * @param options Cause, details, headers.
   */
  constructor(allowed: readonly string[], options: AppErrorOptions = {}) {
    super("METHOD_NOT_ALLOWED", undefined, {
      ...options,
      headers: { Allow: allowed.join(", "), ...options.headers },
    });
  }
}

/** 409: the request conflicts with the current state. */
export class ConflictError extends AppError {
  override readonly name: string = "ConflictError";

  /**
   * @param message Shown to the client.
   * @param options Cause, details, headers.
   */
  constructor(message = "Conflict", options: AppErrorOptions = {}) {
    super("CONFLICT", message, options);
  }
}

/** 412: the resource is not in the state that the request names in `If-Match` or `If-None-Match`. */
export class PreconditionFailedError extends AppError {
  override readonly name: string = "PreconditionFailedError";

  /**
   * @param message Shown to the client.
   * @param options Cause, details, headers.
   */
  constructor(message?: string, options: AppErrorOptions = {}) {
    super("PRECONDITION_FAILED", message, options);
  }
}

/** 413: the body is larger than the limit of the handler. */
export class PayloadTooLargeError extends AppError {
  override readonly name: string = "PayloadTooLargeError";

  /**
   * @param message Shown to the client.
   * @param options Cause, details, headers.
   */
  constructor(message?: string, options: AppErrorOptions = {}) {
    super("PAYLOAD_TOO_LARGE", message, options);
  }
}

/** 415: the handler does not support the media type of the body. */
export class UnsupportedMediaTypeError extends AppError {
  override readonly name: string = "UnsupportedMediaTypeError";

  /**
   * @param message Shown to the client.
   * @param options Cause, details, headers.
   */
  constructor(message?: string, options: AppErrorOptions = {}) {
    super("UNSUPPORTED_MEDIA_TYPE", message, options);
  }
}

/** 422: the request is well-formed, but contradicts what the service already knows. */
export class UnprocessableContentError extends AppError {
  override readonly name: string = "UnprocessableContentError";

  /**
   * @param message Shown to the client.
   * @param options Cause, details, headers.
   */
  constructor(message?: string, options: AppErrorOptions = {}) {
    super("UNPROCESSABLE_CONTENT", message, options);
  }
}

/** Options of the errors with a `Retry-After` header. */
export interface RetryAfterOptions extends AppErrorOptions {
  /** Seconds until the client should retry: the `Retry-After` header (RFC 9110 section 10.2.3). */
  retryAfterSeconds?: number;
}

function withRetryAfter({ retryAfterSeconds, ...options }: RetryAfterOptions): AppErrorOptions {
  if (retryAfterSeconds === undefined) return options;
  if (!(retryAfterSeconds >= 0 && retryAfterSeconds < Infinity)) {
    throw new RangeError(
      `retryAfterSeconds must be a number of seconds from 0, got ${retryAfterSeconds}`,
    );
  }
  return {
    ...options,
    headers: { "Retry-After": String(Math.ceil(retryAfterSeconds)), ...options.headers },
  };
}

/** 429: the caller sends too many requests. Sends `Retry-After`, by default 1 second. */
export class TooManyRequestsError extends AppError {
  override readonly name: string = "TooManyRequestsError";

  /**
   * @param message Shown to the client.
   * @param options When to retry, and the options of every error.
   */
  constructor(message?: string, options: RetryAfterOptions = {}) {
    super("TOO_MANY_REQUESTS", message, withRetryAfter({ retryAfterSeconds: 1, ...options }));
  }
}

/** 500: an unexpected failure. The message and the cause are logged; the client receives the phrase of the status. */
export class UnexpectedError extends AppError {
  override readonly name: string = "UnexpectedError";

  /**
   * @param message For the log only.
   * @param options Cause, details, headers.
   */
  constructor(message = "Unexpected error", options: AppErrorOptions = {}) {
    super("UNEXPECTED", message, options);
  }
}

/** 500: a setting is missing or invalid. The message names the setting and the fix, and is only logged. */
export class ConfigurationError extends AppError {
  override readonly name: string = "ConfigurationError";

  /**
   * @param message Names the setting, its value (unless secret) and the fix.
   * @param options Cause, details, headers.
   */
  constructor(message: string, options: AppErrorOptions = {}) {
    super("CONFIGURATION", message, options);
  }
}

/** 503: a dependency of the request is unavailable. The same request may succeed later. */
export class ServiceUnavailableError extends AppError {
  override readonly name: string = "ServiceUnavailableError";

  /**
   * @param message For the log only.
   * @param options When to retry, and the options of every error.
   */
  constructor(message = "Service unavailable", options: RetryAfterOptions = {}) {
    super("SERVICE_UNAVAILABLE", message, withRetryAfter(options));
  }
}

/** 504: the deadline of the invocation was reached before the handler finished. */
export class DeadlineExceededError extends AppError {
  override readonly name: string = "DeadlineExceededError";

  /**
   * @param message For the log only.
   * @param options Cause, details, headers.
   */
  constructor(
    message = "The deadline of this invocation was reached",
    options: AppErrorOptions = {},
  ) {
    super("DEADLINE_EXCEEDED", message, options);
  }
}
