import { assertEquals } from "@std/assert";
import * as errors from "../../errors/mod.ts";

Deno.test("ERROR_CODES holds the status and the reason phrase of RFC 9110 for every code, and no other code", () => {
  const server: [number, string] = [500, "Internal Server Error"];
  assertEquals(
    Object.fromEntries(
      Object.entries(errors.ERROR_CODES).map((
        [code, { status, title }],
      ) => [code, [status, title] as [number, string]]),
    ),
    {
      VALIDATION_FAILED: [400, "Bad Request"],
      UNAUTHORIZED: [401, "Unauthorized"],
      FORBIDDEN: [403, "Forbidden"],
      SESSION_NOT_FRESH: [403, "Forbidden"],
      SECOND_FACTOR_REQUIRED: [403, "Forbidden"],
      NOT_FOUND: [404, "Not Found"],
      METHOD_NOT_ALLOWED: [405, "Method Not Allowed"],
      CONFLICT: [409, "Conflict"],
      UNIQUE_VIOLATION: [409, "Conflict"],
      FOREIGN_KEY_VIOLATION: [409, "Conflict"],
      PRECONDITION_FAILED: [412, "Precondition Failed"],
      PAYLOAD_TOO_LARGE: [413, "Content Too Large"],
      UNSUPPORTED_MEDIA_TYPE: [415, "Unsupported Media Type"],
      UNPROCESSABLE_CONTENT: [422, "Unprocessable Content"],
      TOO_MANY_REQUESTS: [429, "Too Many Requests"],
      UNEXPECTED: server,
      CONFIGURATION: server,
      DATABASE: server,
      COMMIT_OUTCOME_UNKNOWN: server,
      TRANSACTION_MISUSE: server,
      MIGRATION: server,
      UNSUPPORTED_STATEMENT: server,
      RECREATION_REQUIRED: server,
      SERVICE_UNAVAILABLE: [503, "Service Unavailable"],
      DEADLINE_EXCEEDED: [504, "Gateway Timeout"],
    },
  );
});

Deno.test("every error class names itself as it is exported", () => {
  const classes = Object.entries(errors).filter(([name]) =>
    name.endsWith("Error") && /^[A-Z]/.test(name)
  );
  assertEquals(classes.length > 15, true);
  for (const [name, value] of classes) {
    if (name === "AppError") continue;
    const error = new (value as new (first?: string[]) => Error)(
      ...name === "MethodNotAllowedError" ? [["GET"]] : [],
    );
    assertEquals(error.name, name);
    assertEquals(errors.isAppError(error), true);
  }
});

Deno.test("isAppError() knows errors of another copy of the package by the symbol that all copies share", () => {
  const foreign = Object.assign(new Error("x"), { [Symbol.for("@trellis/fn/AppError")]: true });
  assertEquals(errors.isAppError(foreign), true);
  assertEquals(
    errors.isAppError(Object.assign(new Error("x"), { [Symbol("@trellis/fn/AppError")]: true })),
    false,
  );
});
