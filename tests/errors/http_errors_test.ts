import { assertEquals, assertInstanceOf, assertStrictEquals, assertThrows } from "@std/assert";
import * as errors from "../../errors/mod.ts";

const {
  ConfigurationError,
  ConflictError,
  DeadlineExceededError,
  ForbiddenError,
  MethodNotAllowedError,
  NotFoundError,
  PayloadTooLargeError,
  PreconditionFailedError,
  ServiceUnavailableError,
  TooManyRequestsError,
  UnauthorizedError,
  UnexpectedError,
  UnprocessableContentError,
  UnsupportedMediaTypeError,
  ValidationError,
} = errors;

type Row = [errors.AppError, name: string, code: errors.ErrorCode, status: number, message: string];

const DEFAULTS: Row[] = [
  [new ValidationError(), "ValidationError", "VALIDATION_FAILED", 400, "Validation failed"],
  [new UnauthorizedError(), "UnauthorizedError", "UNAUTHORIZED", 401, "Unauthorized"],
  [new ForbiddenError(), "ForbiddenError", "FORBIDDEN", 403, "Forbidden"],
  [new NotFoundError(), "NotFoundError", "NOT_FOUND", 404, "Not found"],
  [
    new MethodNotAllowedError(["GET"]),
    "MethodNotAllowedError",
    "METHOD_NOT_ALLOWED",
    405,
    "Method Not Allowed",
  ],
  [new ConflictError(), "ConflictError", "CONFLICT", 409, "Conflict"],
  [
    new PreconditionFailedError(),
    "PreconditionFailedError",
    "PRECONDITION_FAILED",
    412,
    "Precondition Failed",
  ],
  [
    new PayloadTooLargeError(),
    "PayloadTooLargeError",
    "PAYLOAD_TOO_LARGE",
    413,
    "Content Too Large",
  ],
  [
    new UnsupportedMediaTypeError(),
    "UnsupportedMediaTypeError",
    "UNSUPPORTED_MEDIA_TYPE",
    415,
    "Unsupported Media Type",
  ],
  [
    new UnprocessableContentError(),
    "UnprocessableContentError",
    "UNPROCESSABLE_CONTENT",
    422,
    "Unprocessable Content",
  ],
  [
    new TooManyRequestsError(),
    "TooManyRequestsError",
    "TOO_MANY_REQUESTS",
    429,
    "Too Many Requests",
  ],
  [new UnexpectedError(), "UnexpectedError", "UNEXPECTED", 500, "Unexpected error"],
  [new ConfigurationError("PORT is x"), "ConfigurationError", "CONFIGURATION", 500, "PORT is x"],
  [
    new ServiceUnavailableError(),
    "ServiceUnavailableError",
    "SERVICE_UNAVAILABLE",
    503,
    "Service unavailable",
  ],
  [
    new DeadlineExceededError(),
    "DeadlineExceededError",
    "DEADLINE_EXCEEDED",
    504,
    "The deadline of this invocation was reached",
  ],
];

for (const [error, name, code, status, message] of DEFAULTS) {
  Deno.test(`${name} has code ${code}, status ${status} and a message when it is given none`, () => {
    assertInstanceOf(error, errors.AppError);
    assertEquals([error.name, error.code, error.statusCode, error.message], [
      name,
      code,
      status,
      message,
    ]);
    assertEquals(error.expose, status < 500);
  });
}

Deno.test("each error takes a message, a cause, details and headers", () => {
  const options = { cause: new Error("why"), details: { a: 1 }, headers: { "X-A": "1" } };
  const all = [
    new ValidationError("m", options),
    new UnauthorizedError("m", options),
    new ForbiddenError("m", options),
    new NotFoundError("m", options),
    new ConflictError("m", options),
    new PayloadTooLargeError("m", options),
    new UnprocessableContentError("m", options),
    new UnsupportedMediaTypeError("m", options),
    new TooManyRequestsError("m", options),
    new UnexpectedError("m", options),
    new ConfigurationError("m", options),
    new ServiceUnavailableError("m", options),
    new DeadlineExceededError("m", options),
  ];
  for (const error of all) {
    assertEquals(error.message, "m");
    assertStrictEquals(error.cause, options.cause);
    assertStrictEquals(error.details, options.details);
    assertEquals(error.headers?.["X-A"], "1", error.name);
  }
});

Deno.test("ValidationError carries messages by field", () => {
  assertEquals(new ValidationError().errors, {});
  assertEquals(new ValidationError("m", { errors: { title: ["too short"] } }).errors, {
    title: ["too short"],
  });
});

Deno.test("UnauthorizedError answers with WWW-Authenticate, which an option may replace", () => {
  assertEquals(new UnauthorizedError().headers, { "WWW-Authenticate": "Bearer" });
  const headers = { "WWW-Authenticate": 'Bearer realm="notes"', "X-A": "1" };
  assertEquals(new UnauthorizedError("m", { headers }).headers, headers);
});

Deno.test("MethodNotAllowedError answers with Allow", () => {
  assertEquals(new MethodNotAllowedError(["GET", "HEAD"]).headers, { Allow: "GET, HEAD" });
});

Deno.test("TooManyRequestsError and ServiceUnavailableError answer with Retry-After in whole seconds, rounded up", () => {
  assertEquals(new TooManyRequestsError().headers, { "Retry-After": "1" });
  assertEquals(new TooManyRequestsError("m", { retryAfterSeconds: 0.2 }).headers, {
    "Retry-After": "1",
  });
  assertEquals(new TooManyRequestsError("m", { retryAfterSeconds: 0 }).headers, {
    "Retry-After": "0",
  });
  assertEquals(new ServiceUnavailableError("m", { retryAfterSeconds: 30 }).headers, {
    "Retry-After": "30",
  });
  assertEquals(new ServiceUnavailableError().headers, undefined);
});

Deno.test("TooManyRequestsError refuses a delay that is none and names it", () => {
  for (const value of [-1, NaN, Infinity, -Infinity]) {
    assertThrows(
      () => new TooManyRequestsError("m", { retryAfterSeconds: value }),
      RangeError,
      `retryAfterSeconds must be a number of seconds from 0, got ${value}`,
    );
  }
});
