import { assertStringIncludes, assertThrows } from "@std/assert";
import { checkLoggingConfig } from "../../core/logging_config.ts";
import type { LoggingConfig } from "../../core/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";

const GOOD: LoggingConfig[] = [
  {},
  {
    level: "DEBUG",
    logEvent: true,
    logResult: true,
    summary: false,
    sampleRate: 0.5,
    redact: ["iban"],
    fields: { a: 1 },
  },
  { sampleRate: 0 },
  { sampleRate: 1 },
  { level: undefined, sampleRate: undefined },
];

Deno.test("checkLoggingConfig() takes every option", () =>
  GOOD.forEach((config) => checkLoggingConfig(config)));

const BAD: [config: unknown, inMessage: string[]][] = [
  [{ levle: "DEBUG" }, ["levle", "sampleRate"]],
  [{ level: 7 }, ["logging.level is 7", "CRITICAL"]],
  [{ level: "VERBOSE" }, ["logging.level", "VERBOSE", "CRITICAL"]],
  [{ sampleRate: 1.1 }, ["logging.sampleRate", "1.1"]],
  [{ sampleRate: -0.1 }, ["logging.sampleRate", "-0.1"]],
  [{ sampleRate: NaN }, ["logging.sampleRate", "NaN"]],
  [{ sampleRate: "0.5" }, ["logging.sampleRate", "0.5"]],
  [{ redact: "iban" }, ["logging.redact", "iban"]],
  [{ redact: [7] }, ["logging.redact", "7"]],
  [{ fields: "team" }, ["logging.fields", "team"]],
  [{ logEvent: "yes" }, ["logging.logEvent", "yes"]],
  [null, ["logging", "null"]],
  ["DEBUG", ["logging", "DEBUG"]],
];

for (const [config, inMessage] of BAD) {
  Deno.test(`checkLoggingConfig() refuses ${JSON.stringify(config)} and names option and value`, () => {
    const error = assertThrows(
      () => checkLoggingConfig(config as LoggingConfig),
      ConfigurationError,
    );
    for (const text of inMessage) assertStringIncludes(error.message, text);
  });
}
