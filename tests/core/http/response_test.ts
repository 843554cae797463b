import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import { buildValidatedResponse, withObservability } from "../../../core/mod.ts";
import { UnexpectedError } from "../../../errors/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";

const context = createLambdaContext({ awsRequestId: "lambda-id" });
const Note = z.object({ id: z.string(), tags: z.array(z.object({ name: z.string() })).optional() });

Deno.test("buildValidatedResponse() is a plain proxy result in JSON", () => {
  assertEquals(buildValidatedResponse(context, 201, { id: "é" }), {
    statusCode: 201,
    headers: { "Content-Type": "application/json", "X-Correlation-Id": "lambda-id" },
    body: '{"id":"é"}',
  });
});

Deno.test("buildValidatedResponse() serialises every body that JSON can hold", () => {
  const cases: [body: unknown, text: string][] = [
    [null, "null"],
    [0, "0"],
    [false, "false"],
    ["", '""'],
    [[], "[]"],
    [{ d: new Date(0) }, '{"d":"1970-01-01T00:00:00.000Z"}'],
    [undefined, ""],
    [() => 1, ""],
  ];
  for (const [body, text] of cases) {
    const response = buildValidatedResponse(context, 200, body);
    assertEquals(response.body, text);
    assertEquals("Content-Type" in response.headers!, text !== "");
  }
});

Deno.test("buildValidatedResponse() leaves out what the schema does not name, at every level", () => {
  const body = { id: "n1", passwordHash: "x", tags: [{ name: "a", internal: 1 }] };
  assertEquals(
    buildValidatedResponse(context, 200, body, Note).body,
    '{"id":"n1","tags":[{"name":"a"}]}',
  );
});

Deno.test("buildValidatedResponse() takes a schema of any library that follows Standard Schema", () => {
  const schema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value: unknown) => ({ value: { wrapped: value } }),
    },
  } as const;
  assertEquals(buildValidatedResponse(context, 200, 1, schema).body, '{"wrapped":1}');
});

Deno.test("buildValidatedResponse() names the fields of a body that does not fit, for the log alone", () => {
  const error = assertThrows(
    // @ts-expect-error the compiler refuses a body that the schema does not take
    () => buildValidatedResponse(context, 200, { tags: [{ name: 1 }] }, Note),
    UnexpectedError,
    "The response body does not fit its schema",
  );
  assertStringIncludes(error.message, "id: ");
  assertStringIncludes(error.message, "tags.0.name: ");
  const whole = assertThrows(
    // @ts-expect-error the compiler refuses a body that the schema does not take
    () => buildValidatedResponse(context, 200, "text", Note),
    UnexpectedError,
  );
  assertStringIncludes(whole.message, "_form: ");
});

Deno.test("buildValidatedResponse() names a path whose parts are objects", () => {
  const issues = [{ message: "bad", path: [{ key: "a" }, 0, Symbol("s")] }];
  const schema = {
    "~standard": { version: 1, vendor: "test", validate: () => ({ issues }) },
  } as const;
  assertThrows(
    () => buildValidatedResponse(context, 200, {}, schema),
    UnexpectedError,
    "a.0.Symbol(s): bad",
  );
});

Deno.test("buildValidatedResponse() refuses a schema that validates asynchronously", async () => {
  for (const outcome of [Promise.resolve({ value: 1 }), Promise.reject(new Error("late"))]) {
    const schema = {
      "~standard": { version: 1, vendor: "test", validate: () => outcome },
    } as const;
    assertThrows(
      () => buildValidatedResponse(context, 200, {}, schema),
      UnexpectedError,
      "synchronous",
    );
  }
  await new Promise((resolve) => setTimeout(resolve, 0));
});

Deno.test("buildValidatedResponse() says what to do about a body that is no JSON", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  for (const body of [{ n: 1n }, cycle]) {
    const error = assertThrows(
      () => buildValidatedResponse(context, 200, body),
      UnexpectedError,
      "bigint",
    );
    assert(error.cause instanceof TypeError);
  }
});

Deno.test("buildValidatedResponse() sends no body with 204, 205, 304 and below 200", () => {
  for (const status of [100, 103, 204, 205, 304]) {
    // @ts-expect-error the compiler refuses a body that the schema does not take
    const response = buildValidatedResponse(context, status, { id: 1n }, Note);
    assertEquals([response.body, response.headers], ["", { "X-Correlation-Id": "lambda-id" }]);
  }
});

Deno.test("buildValidatedResponse() refuses a status that is none and names it", () => {
  for (const status of [0, 99, 600, 200.5, NaN, "200" as unknown as number]) {
    assertThrows(
      () => buildValidatedResponse(context, status),
      RangeError,
      `statusCode must be an integer from 100 to 599, got ${status}`,
    );
  }
});

Deno.test("buildValidatedResponse() takes headers, headers with several values and cookies", () => {
  const options = {
    headers: { "Content-Type": "application/hal+json", ETag: '"1"', "X-N": 1 },
    multiValueHeaders: { Link: ["a", "b"] },
    cookies: ["a=1"],
  };
  const response = buildValidatedResponse(context, 200, {}, undefined, options);
  assertEquals(response.headers, { ...options.headers, "X-Correlation-Id": "lambda-id" });
  assertEquals([response.multiValueHeaders, response.cookies], [
    options.multiValueHeaders,
    options.cookies,
  ]);
  assertEquals(Object.keys(buildValidatedResponse(context, 200, {}, undefined, {})), [
    "statusCode",
    "headers",
    "body",
  ]);
});

Deno.test("buildValidatedResponse() has the correlation id of its request, and none without a context", async () => {
  const handler = withObservability((_event, lambdaContext) =>
    buildValidatedResponse(lambdaContext, 200, {})
  );
  const event = createRestApiEvent({ headers: { "X-Correlation-Id": "c-1" } });
  const { result } = await captureLogs(() => handler(event, context));
  assertEquals(result.headers?.["X-Correlation-Id"], "c-1");
  assertEquals(buildValidatedResponse(undefined, 200, {}).headers, {
    "Content-Type": "application/json",
  });
});
