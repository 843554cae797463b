import { assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import {
  defineAuthorizerHandler,
  defineEventHandler,
  defineQueueHandler,
  defineScheduleHandler,
  defineStorageHandler,
  defineTopicHandler,
  defineWebSocketHandler,
} from "../../../triggers/mod.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

// deno-lint-ignore no-explicit-any
type Factory = (options: any) => (handler: any) => unknown;

const asynchronous: Factory[] = [
  defineTopicHandler,
  defineEventHandler,
  defineScheduleHandler,
  defineStorageHandler,
];
const waiting: Factory[] = [defineQueueHandler, defineWebSocketHandler, defineAuthorizerHandler];

const GOOD: unknown[] = [
  undefined,
  {},
  { timeout: 1, memorySize: 128, reservedConcurrency: 0, ephemeralStorage: 512 },
  { timeout: 900, memorySize: 10240, reservedConcurrency: 5000, ephemeralStorage: 10240 },
  { operationName: "Op", metrics: false, tracing: false, logging: { level: "INFO" } },
  { timeout: undefined, logging: undefined, metrics: undefined },
];

const BAD: [options: unknown, inMessage: string[]][] = [
  [null, ["null", "must be an object"]],
  ["x", ["a string", "must be an object"]],
  [{ memory: 128 }, ["has no option memory", "memorySize"]],
  [{ timeout: 0 }, ["timeout is 0", "seconds from 1 to 900"]],
  [{ timeout: "30" }, ['timeout is "30"']],
  [{ timeout: NaN }, ["timeout is NaN"]],
  [{ memorySize: 127 }, ["memorySize is 127", "MB from 128 to 10240"]],
  [{ ephemeralStorage: 10241 }, ["ephemeralStorage is 10241"]],
  [{ reservedConcurrency: -1 }, ["reservedConcurrency is -1", "from 0"]],
  [{ metrics: 1 }, ["metrics is 1", "true or false"]],
  [{ tracing: "no" }, ['tracing is "no"']],
  [{ logging: { level: "LOUD" } }, ['logging.level is "LOUD"']],
  [{ logging: null }, ["logging is null"]],
];

for (const define of [...asynchronous, ...waiting]) {
  Deno.test(`${define.name}() accepts every option within its range, and rejects invalid ones`, () => {
    for (const options of GOOD) define(options)(() => {});
    for (const [options, inMessage] of BAD) {
      const error = assertThrows(() => define(options), ConfigurationError);
      for (const text of inMessage) assertStringIncludes(error.message, text);
    }
    assertThrows(
      () => define({})("x"),
      ConfigurationError,
      `${define.name}(options) got string as the handler`,
    );
    assertThrows(
      () => define({ operationName: "x".repeat(1025) })(() => {}),
      ConfigurationError,
      "operationName",
    );
  });
}

const ASYNC_BAD: [options: unknown, message: string][] = [
  [{ retryAttempts: 3 }, "retryAttempts is 3: it must be a whole number of retries from 0 to 2"],
  [{ retryAttempts: -1 }, "retryAttempts is -1"],
  [
    { deadLetterQueue: "queue" },
    'deadLetterQueue is "queue": it must be true, false or { targetArn }',
  ],
  [{ deadLetterQueue: null }, "deadLetterQueue is null: it must be true, false or { targetArn }"],
  [
    { deadLetterQueue: { arn: "x" } },
    'deadLetterQueue is {"arn":"x"}: it must be true, false or { targetArn }',
  ],
  [
    { deadLetterQueue: { targetArn: "arn:aws:s3:::b" } },
    'deadLetterQueue is {"targetArn":"arn:aws:s3:::b"}: it must be true, false or { targetArn } with the ARN of a queue',
  ],
];

for (const define of asynchronous) {
  Deno.test(`${define.name}() takes what happens to failed events`, () => {
    define({ retryAttempts: 0, deadLetterQueue: true });
    define({
      retryAttempts: 2,
      deadLetterQueue: { targetArn: "arn:aws:sqs:eu-west-1:123456789012:dead" },
    });
    define({ deadLetterQueue: {} });
    for (const [options, message] of ASYNC_BAD) {
      assertThrows(() => define(options), ConfigurationError, message);
    }
  });
}

for (const define of waiting) {
  Deno.test(`${define.name}() has no options for failed events: nothing is delivered to it again that way`, () => {
    assertThrows(() => define({ retryAttempts: 1 }), ConfigurationError, "no option retryAttempts");
    assertThrows(
      () => define({ deadLetterQueue: true }),
      ConfigurationError,
      "no option deadLetterQueue",
    );
  });
}

for (
  const define of [
    defineQueueHandler,
    defineTopicHandler,
    defineEventHandler,
    defineWebSocketHandler,
  ] as Factory[]
) {
  Deno.test(`${define.name}() takes schemas that follow Standard Schema, functions too, and nothing else`, () => {
    const validate = () => ({ value: 1 });
    for (
      const schema of [
        z.string(),
        Object.assign(() => {}, { "~standard": { version: 1, vendor: "x", validate } }),
      ]
    ) {
      define({ schema });
    }
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    for (const schema of [{}, null, "x", () => {}, 1n, Symbol("x"), cycle, { "~standard": {} }]) {
      const { message } = assertThrows(() => define({ schema }), ConfigurationError, "schema is ");
      assertStringIncludes(message, "it must be a schema of zod 4, valibot, arktype");
    }
  });
}
