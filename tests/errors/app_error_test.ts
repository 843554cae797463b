import {
  assert,
  assertEquals,
  assertFalse,
  assertInstanceOf,
  assertStrictEquals,
} from "@std/assert";
import {
  AppError,
  ERROR_CODES,
  type ErrorCode,
  isAppError,
  NotFoundError,
} from "../../errors/mod.ts";

Deno.test("AppError takes status and phrase from its code", () => {
  for (const [code, { status, title }] of Object.entries(ERROR_CODES)) {
    const error = new AppError(code as ErrorCode);
    assertEquals([error.code, error.statusCode, error.message, error.name], [
      code,
      status,
      title,
      "AppError",
    ]);
    assertInstanceOf(error, Error);
  }
});

Deno.test("AppError keeps cause, details and headers", () => {
  const cause = new Error("inner");
  const details = { id: 1 }, headers = { "X-A": "1" };
  const error = new AppError("CONFLICT", "outer", { cause, details, headers });
  assertStrictEquals(error.cause, cause);
  assertStrictEquals(error.details, details);
  assertStrictEquals(error.headers, headers);
  assertFalse("cause" in new AppError("CONFLICT"));
  assert("cause" in new AppError("CONFLICT", "", { cause: undefined }));
});

Deno.test("AppError exposes its message below 500 only, with any options", () => {
  for (const [code, { status }] of Object.entries(ERROR_CODES)) {
    assertEquals(new AppError(code as ErrorCode).expose, status < 500, code);
    assertEquals(new AppError(code as ErrorCode, "m", { expose: true }).expose, status < 500, code);
    assertFalse(new AppError(code as ErrorCode, "m", { expose: false }).expose, code);
  }
});

Deno.test("isAppError() distinguishes errors of this package from all others", () => {
  const others = [null, undefined, 0, "NOT_FOUND", new Error("x"), {
    code: "NOT_FOUND",
    statusCode: 404,
  }, () => {}];
  for (const value of others) assertFalse(isAppError(value));
  assert(isAppError(new NotFoundError()));
  assert(isAppError(new NotFoundError(), "NOT_FOUND"));
  assertFalse(isAppError(new NotFoundError(), "CONFLICT"));
});

Deno.test("isAppError() knows an error of another copy of the package", async () => {
  // an import with a query string is a module of its own, as a second installed copy would be
  const copy: typeof import("../../errors/app_error.ts") = await import(
    new URL("../../errors/app_error.ts?copy", import.meta.url).href
  );
  const foreign = new copy.AppError("CONFLICT", "x");
  assertFalse(foreign instanceof AppError);
  assert(isAppError(foreign, "CONFLICT"));
  assert(copy.isAppError(new NotFoundError(), "NOT_FOUND"));
});

Deno.test("AppError shows its brand in no enumeration", () => {
  assertEquals(Object.getOwnPropertySymbols({ ...new AppError("CONFLICT") }), []);
});
