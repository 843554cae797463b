import type { LogLevel } from "../observability/log_level.ts";
import { log } from "../observability/logger.ts";

const LEVELS: Readonly<Record<string, LogLevel>> = {
  debug: "DEBUG",
  info: "INFO",
  warn: "WARN",
  error: "ERROR",
};

/**
 * Takes better-auth's log lines into ours. Of what it hands over beside the text only errors are kept, and those described
 * without SQL: the rest are email addresses, tokens and rows.
 *
 * @param level better-auth's level.
 * @param message Its text.
 * @param values What it would print behind the text.
 */
export function logBetterAuth(level: string, message: string, ...values: unknown[]): void {
  const error = values.find((value) => value instanceof Error);
  // drizzle's message is the statement with its parameters, and better-auth sometimes logs it as plain text
  const text = /^failed query/i.test(message)
    ? "a query failed"
    : message.replace(/^\[better-auth\]\s*/i, "");
  log(
    LEVELS[level] ?? "INFO",
    `[better-auth] ${text}`,
    error === undefined ? undefined : { error },
  );
}
