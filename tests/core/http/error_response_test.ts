import { assert, assertEquals, assertFalse } from "@std/assert";
import { buildErrorResponse, type ProxyResult, withObservability } from "../../../core/mod.ts";
import * as errors from "../../../errors/mod.ts";
import {
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const SECRET = "s3cr3t-4711";
const context = createLambdaContext({ awsRequestId: "lambda-id" });

const ERRORS: [error: errors.AppError, status: number, message: string][] = [
  [new errors.ValidationError("Bad input", { errors: { title: ["too short"] } }), 400, "Bad input"],
  [new errors.UnauthorizedError("Who?"), 401, "Who?"],
  [new errors.ForbiddenError("No"), 403, "No"],
  [new errors.NotFoundError("No such note"), 404, "No such note"],
  [new errors.MethodNotAllowedError(["GET"]), 405, "Method Not Allowed"],
  [new errors.ConflictError("Changed"), 409, "Changed"],
  [new errors.UniqueViolationError("Taken"), 409, "Taken"],
  [new errors.ForeignKeyViolationError("No such user"), 409, "No such user"],
  [new errors.PayloadTooLargeError("Too large"), 413, "Too large"],
  [new errors.UnsupportedMediaTypeError("Not JSON"), 415, "Not JSON"],
  [new errors.TooManyRequestsError("Slow down"), 429, "Slow down"],
  [new errors.UnexpectedError(SECRET), 500, "Internal Server Error"],
  [new errors.ConfigurationError(SECRET), 500, "Internal Server Error"],
  [new errors.DatabaseError(SECRET), 500, "Internal Server Error"],
  [new errors.CommitOutcomeUnknownError(SECRET), 500, "Internal Server Error"],
  [new errors.ServiceUnavailableError(SECRET), 503, "Service Unavailable"],
  [new errors.DeadlineExceededError(SECRET), 504, "Gateway Timeout"],
];

for (const [error, status, message] of ERRORS) {
  Deno.test(`buildErrorResponse() answers ${error.name} with ${status} and the documented body`, () => {
    const response = buildErrorResponse(context, error);
    const body = { message, code: error.code, requestId: "lambda-id", correlationId: "lambda-id" };
    assertEquals(response.statusCode, status);
    assertEquals(
      JSON.parse(response.body),
      error instanceof errors.ValidationError
        ? { ...body, errors: { title: ["too short"] } }
        : body,
    );
    assertEquals(response.headers?.["Content-Type"], "application/json");
    assertEquals(response.headers?.["X-Correlation-Id"], "lambda-id");
    assertFalse(JSON.stringify(response).includes(SECRET));
  });
}

Deno.test("buildErrorResponse() sends the messages by field of a constraint that a query maps", () => {
  for (const type of [errors.UniqueViolationError, errors.ForeignKeyViolationError]) {
    const error = new type(undefined, {
      errors: { email: ["is taken"] },
      constraint: SECRET,
      table: SECRET,
      columns: [SECRET],
      cause: new Error(SECRET),
    });
    const { statusCode, body } = buildErrorResponse(context, error);
    assertEquals([statusCode, JSON.parse(body).errors], [409, { email: ["is taken"] }]);
    assertFalse(body.includes(SECRET));
  }
});

Deno.test("buildErrorResponse() answers with our error where drizzle wraps it, and with 500 for other wrapped errors", () => {
  const wrap = (cause: unknown) =>
    Object.assign(new Error(SECRET, { cause }), { query: SECRET, params: [SECRET] });
  const busy = buildErrorResponse(
    context,
    wrap(new errors.ServiceUnavailableError("m", { retryAfterSeconds: 5 })),
  );
  assertEquals([busy.statusCode, busy.headers?.["Retry-After"]], [503, "5"]);
  assertEquals(buildErrorResponse(context, wrap(new Error(SECRET))).statusCode, 500);
  // another wrapper may mean something by its own class
  assertEquals(
    buildErrorResponse(context, new Error("m", { cause: new errors.NotFoundError() })).statusCode,
    500,
  );
});

Deno.test("buildErrorResponse() sends the headers of an error", () => {
  const cases: [errors.AppError, string, string][] = [
    [new errors.UnauthorizedError(), "WWW-Authenticate", "Bearer"],
    [new errors.TooManyRequestsError("m", { retryAfterSeconds: 30 }), "Retry-After", "30"],
    [new errors.ServiceUnavailableError("m", { retryAfterSeconds: 5 }), "Retry-After", "5"],
    [new errors.MethodNotAllowedError(["GET", "HEAD"]), "Allow", "GET, HEAD"],
    [new errors.ConflictError("m", { headers: { "X-A": "1" } }), "X-A", "1"],
  ];
  for (const [error, name, value] of cases) {
    assertEquals(buildErrorResponse(context, error).headers?.[name], value);
  }
});

Deno.test("buildErrorResponse() keeps a message that is not exposed, causes and details inside", () => {
  const error = new errors.ConflictError(SECRET, {
    expose: false,
    cause: new Error(SECRET),
    details: { a: SECRET },
  });
  assertFalse(JSON.stringify(buildErrorResponse(context, error)).includes(SECRET));
  assertEquals(JSON.parse(buildErrorResponse(context, error).body).message, "Conflict");
});

function hostile(): unknown[] {
  const bad = (): never => {
    throw new Error(SECRET);
  };
  const circular: Record<string, unknown> = { secret: SECRET };
  circular.self = circular;
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const brand = Object.getOwnPropertySymbols(new errors.NotFoundError())[0];
  return [
    null,
    undefined,
    SECRET,
    "",
    0,
    NaN,
    42n,
    true,
    Symbol(SECRET),
    () => SECRET,
    {},
    circular,
    Object.freeze(new Error(SECRET)),
    new TypeError(SECRET),
    Object.assign(new Error(SECRET), { statusCode: 404, code: "NOT_FOUND", expose: true }),
    { statusCode: 200, body: SECRET },
    new Proxy({}, { get: bad, has: bad, getPrototypeOf: bad, ownKeys: bad }),
    new Proxy(new errors.NotFoundError(SECRET), { get: bad }),
    proxy,
    { [brand]: true, code: "NO_SUCH_CODE", message: SECRET, expose: true },
    { [brand]: true, code: "toString", message: SECRET, expose: true },
    {
      [brand]: true,
      get code(): string {
        return bad();
      },
    },
    new AggregateError([new Error(SECRET)], SECRET),
    Promise.resolve(SECRET),
    new Response(SECRET),
  ];
}

Deno.test("buildErrorResponse() answers anything else that was thrown with 500", () => {
  for (const [i, value] of hostile().entries()) {
    const response = buildErrorResponse(context, value);
    assertEquals([response.statusCode, JSON.parse(response.body)], [500, {
      message: "Internal Server Error",
      code: "UNEXPECTED",
      requestId: "lambda-id",
      correlationId: "lambda-id",
    }], String(i));
  }
});

Deno.test("buildErrorResponse() works without a context", () => {
  const response = buildErrorResponse(undefined, new errors.NotFoundError("No such note"));
  assertEquals(response.statusCode, 404);
  assertEquals(JSON.parse(response.body), { message: "No such note", code: "NOT_FOUND" });
});

Deno.test("buildErrorResponse() knows an error of another copy of the package", async () => {
  const url = new URL("../../../errors/app_error.ts?another-copy", import.meta.url).href;
  const copy: typeof import("../../../errors/app_error.ts") = await import(url);
  const response = buildErrorResponse(context, new copy.AppError("CONFLICT", "Changed"));
  assertEquals([response.statusCode, JSON.parse(response.body).message], [409, "Changed"]);
});

async function negotiate(accept: string | undefined, http = false): Promise<ProxyResult> {
  const handler = withObservability((): ProxyResult => {
    throw new errors.ValidationError("Bad input", { errors: { a: ["b"] } });
  }, { respondToError: (error, lambdaContext) => buildErrorResponse(lambdaContext, error) });
  const headers: Record<string, string> = { "X-Correlation-Id": "c-1" };
  if (accept !== undefined) headers.Accept = accept;
  const event = http ? createHttpApiEvent({ headers }) : createRestApiEvent({ headers });
  return (await captureLogs(() => handler(event, context))).result;
}

const ACCEPTS: [accept: string | undefined, problem: boolean][] = [
  [undefined, false],
  ["*/*", false],
  ["application/json", false],
  ["application/problem+json", true],
  ["APPLICATION/PROBLEM+JSON", true],
  ["application/json, application/problem+json", true],
  ["application/problem+json, */*", true],
  ["application/problem+json;q=0.5, application/json;q=0.4", true],
  ["application/problem+json;q=0.5, application/json;q=0.6", false],
  ["application/problem+json ; q=0.5 , application/json ; q=0.6", false],
  ["application/problem+json;q=0, application/json", false],
  ["application/problem+json;q=0", false],
  ["application/problem+json;q=abc", false],
  ["application/problem+json;q=0.1, */*", false],
  ["application/problem+json;q=0.1, application/*;q=0.2", false],
  ["application/problem+json;q=0.3, application/*;q=0.2, */*", true],
  ["text/html, application/xhtml+xml, */*;q=0.8", false],
  ["application/vnd.x.problem+json", false],
  ["", false],
];

for (const [accept, problem] of ACCEPTS) {
  Deno.test(`buildErrorResponse() answers Accept: ${accept} with ${problem ? "a problem" : "the plain body"}`, async () => {
    for (const http of [false, true]) {
      const { headers, body, statusCode } = await negotiate(accept, http);
      const facts = {
        code: "VALIDATION_FAILED",
        requestId: "lambda-id",
        correlationId: "c-1",
        errors: { a: ["b"] },
      };
      assertEquals(statusCode, 400);
      assertEquals(
        headers?.["Content-Type"],
        problem ? "application/problem+json" : "application/json",
      );
      assertEquals(
        JSON.parse(body),
        problem
          ? {
            type: "about:blank",
            title: "Bad Request",
            status: 400,
            detail: "Bad input",
            ...facts,
          }
          : { message: "Bad input", ...facts },
      );
    }
  });
}

Deno.test("buildErrorResponse() is not misled by an event that is none", async () => {
  const handler = withObservability((): ProxyResult => {
    throw new errors.NotFoundError();
  }, { respondToError: (error, lambdaContext) => buildErrorResponse(lambdaContext, error) });
  for (const event of [null, undefined, 7, "text", [], {}, { headers: null }]) {
    const { result } = await captureLogs(() => handler(event, context));
    assert(result.statusCode === 404);
  }
});
