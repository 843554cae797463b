import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import * as mini from "zod/mini";
import { ConfigurationError } from "../../errors/mod.ts";
import { createAuthHandler } from "../../auth/mod.ts";
import { createJwtAuth } from "../../auth/jwt/mod.ts";
import { defineAuthorizerHandler, defineQueueHandler } from "../../triggers/mod.ts";
import { defineRouter } from "../../router/mod.ts";
import {
  createMultipartParser,
  defineApiHandler,
  type DefineApiHandlerOptions,
} from "../../validation/mod.ts";

const GOOD: unknown[] = [
  {},
  {
    timeout: 1,
    memorySize: 128,
    reservedConcurrency: 0,
    ephemeralStorage: 512,
    retryAttempts: 0,
    maxBodyBytes: 1,
  },
  {
    timeout: 900,
    memorySize: 10240,
    reservedConcurrency: 5000,
    ephemeralStorage: 10240,
    retryAttempts: 2,
  },
  {
    schema: z.object({}),
    querySchema: mini.object({}),
    pathSchema: z.any(),
    responseSchema: z.compile(z.object({})),
  },
  { auth: "none", operationName: "Op", metrics: false, tracing: false, logging: {}, openapi: {} },
  { auth: "session" },
  { auth: { mode: "jwt", authenticate: () => ({}) } },
  { deadLetterQueue: true },
  { deadLetterQueue: false },
  { deadLetterQueue: {} },
  { deadLetterQueue: { targetArn: "arn:aws:sqs:eu-west-1:123456789012:dead" } },
  { deadLetterQueue: { targetArn: "arn:aws-cn:sns:cn-north-1:123456789012:dead" } },
  { cors: "*" },
  { cors: "https://example.com" },
  { cors: ["https://a.example", "https://b.example"] },
  { cors: false },
  { schema: undefined, timeout: undefined, logging: undefined },
];

Deno.test("defineApiHandler() takes every option within its range", () => {
  for (const options of GOOD) defineApiHandler(options as DefineApiHandlerOptions);
});

const PROTECTIVE = [
  "auth",
  "cors",
  "idempotency",
  "maxBodyBytes",
  "rateLimit",
  "responses",
  "responseSchema",
] as const;

for (const name of PROTECTIVE) {
  Deno.test(`defineApiHandler() refuses ${name} when it is undefined`, () => {
    const error = assertThrows(() => defineApiHandler({ [name]: undefined }), ConfigurationError);
    assertStringIncludes(error.message, `${name} is undefined`);
  });
}

const ELSEWHERE: [open: () => unknown, inMessage: string][] = [
  [() => defineApiHandler({ logging: { redact: undefined } }), "logging.redact is undefined"],
  [() => createMultipartParser({ maxFiles: undefined }), "maxFiles is undefined"],
  [() => defineRouter({ "GET /": answer }, { cors: undefined }), "cors is undefined"],
  [() => defineQueueHandler({ idempotency: undefined }), "idempotency is undefined"],
  [() => defineAuthorizerHandler({ anonymous: undefined }), "anonymous is undefined"],
  [() => defineAuthorizerHandler({ unauthenticated: undefined }), "unauthenticated is undefined"],
  [() => createAuthHandler(neverCalled, { routes: undefined }), "routes is undefined"],
  [() => createAuthHandler(neverCalled, { cors: undefined }), "cors is undefined"],
  [
    () => createJwtAuth({ issuer: "https://a.example", audience: "b", algorithms: undefined }),
    "algorithms is undefined",
  ],
  [
    () => createJwtAuth({ issuer: "https://a.example", audience: "b", requiredClaims: undefined }),
    "requiredClaims is undefined",
  ],
];

for (const [open, inMessage] of ELSEWHERE) {
  Deno.test(`a function refuses at load that ${inMessage}`, () => {
    assertStringIncludes(assertThrows(open, ConfigurationError).message, inMessage);
  });
}

function neverCalled(): never {
  throw new Error("The options are refused before anything is called");
}

function answer() {
  return Promise.resolve({ statusCode: 200, body: "" });
}

const BAD: [options: unknown, inMessage: string[]][] = [
  [{ roles: ["admin"] }, ["no option roles: write auth: session({ roles: … })"]],
  [{ auth: "session", optional: true }, ["write auth: session({ optional: … })"]],
  [{ auth: "session", organization: undefined }, ["write auth: session({ organization: … })"]],
  [{ auth: "bearer", freshWithinSeconds: 1 }, ["write auth: session({ freshWithinSeconds: … })"]],
  [{ auth: "session", permissions: { a: ["b"] } }, ["write auth: apiKey({ permissions: … })"]],
  [{ auth: "api-key" }, ['auth is "api-key"', "session() of defineAuth"]],
  [{ auth: "jwt" }, ['auth is "jwt"']],
  [{ auth: { mode: "jwt" } }, ["auth is", "session() of defineAuth"]],
  [{ scheme: {} }, ["scheme", "querySchema"]],
  [{ retryAttempts: 3 }, ["retryAttempts is 3", "0 to 2"]],
  [{ retryAttempts: -1 }, ["retryAttempts is -1"]],
  [{ retryAttempts: 1.5 }, ["retryAttempts is 1.5"]],
  [{ timeout: 901 }, ["timeout is 901", "1 to 900", "seconds"]],
  [{ timeout: 0 }, ["timeout is 0"]],
  [{ timeout: NaN }, ["timeout is NaN"]],
  [{ timeout: "30" }, ['timeout is "30"']],
  [{ memorySize: 127 }, ["memorySize is 127", "128 to 10240", "MB"]],
  [{ memorySize: 10241 }, ["memorySize is 10241"]],
  [{ ephemeralStorage: 511 }, ["ephemeralStorage is 511", "512 to 10240"]],
  [{ ephemeralStorage: 10241 }, ["ephemeralStorage is 10241"]],
  [{ reservedConcurrency: -1 }, ["reservedConcurrency is -1", "from 0"]],
  [{ maxBodyBytes: 0 }, ["maxBodyBytes is 0", "from 1"]],
  [{ maxBodyBytes: Infinity }, ["maxBodyBytes is Infinity"]],
  [{ schema: {} }, ["schema is {}", "a schema of zod 4"]],
  [{ querySchema: "x" }, ['querySchema is "x"', "a schema of zod 4"]],
  [{ pathSchema: null }, ["pathSchema is null", "a schema of zod 4"]],
  [{ responseSchema: () => 1 }, ["responseSchema is a function", "a schema of zod 4"]],
  [{ auth: "basic" }, ["auth", '"basic"', "authorizer-optional"]],
  [{ auth: "" }, ["auth", '""']],
  [{ auth: null }, ["auth", "null"]],
  [{ auth: "toString" }, ["auth", '"toString"']],
  [{ deadLetterQueue: "queue" }, ["deadLetterQueue"]],
  [{ deadLetterQueue: null }, ["deadLetterQueue"]],
  [{ deadLetterQueue: { arn: "x" } }, ["deadLetterQueue", "targetArn"]],
  [{ deadLetterQueue: { targetArn: "queue" } }, [
    'deadLetterQueue is {"targetArn":"queue"}',
    "ARN",
  ]],
  [{ deadLetterQueue: { targetArn: "arn:aws:s3:::bucket" } }, [
    "deadLetterQueue",
    "arn:aws:s3:::bucket",
  ]],
  [{ logging: { level: "LOUD" } }, ["logging.level", "LOUD"]],
  [{ logging: null }, ["logging", "null"]],
  [{ cors: true }, ["cors is true"]],
  [{ cors: "" }, ["cors is"]],
  [{ cors: [] }, ["cors is"]],
  [{ cors: ["https://a.example", ""] }, ["cors is"]],
  [{ cors: ["*", "https://a.example"] }, ["cors is", "*"]],
  [{ cors: "https://a.example/" }, ["cors is", "https://a.example/"]],
  [{ cors: "a.example" }, ["cors is", "a.example"]],
  [{ metrics: "no" }, ['metrics is "no"']],
  [{ tracing: 0 }, ["tracing is 0"]],
  [{ openapi: "x" }, ['openapi is "x"']],
  [null, ["options"]],
];

for (const [options, inMessage] of BAD) {
  Deno.test(`defineApiHandler() refuses ${JSON.stringify(options)} and names option and value`, () => {
    const error = assertThrows(
      () => defineApiHandler(options as DefineApiHandlerOptions),
      ConfigurationError,
    );
    assertEquals(error.code, "CONFIGURATION");
    for (const text of inMessage) assertStringIncludes(error.message, text);
  });
}

Deno.test("defineApiHandler() refuses an operation name that is none", () => {
  const define = defineApiHandler({ operationName: 7 as unknown as string });
  assertThrows(
    () => define(() => ({ statusCode: 200, body: "" })),
    ConfigurationError,
    "operationName is 7",
  );
});
