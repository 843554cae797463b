import type { LogLevel } from "../../observability/log_level.ts";
import { log } from "../../observability/logger.ts";

const LEVELS: Readonly<Record<string, LogLevel>> = {
  debug: "DEBUG",
  info: "INFO",
  warn: "WARN",
  error: "ERROR",
};

/**
 * Writes a log line of better-auth to our logger. Values other than errors are dropped, because
 * they contain email addresses, tokens and rows. Errors are logged without SQL.
 *
 * @param level better-auth's level.
 * @param message Text.
 * @param values Further values of the log call.
 */
export function logBetterAuth(level: string, message: string, ...values: unknown[]): void {
  const error = values.find((value) => value instanceof Error);
  // better-auth sometimes logs drizzle's message, which contains the statement and its parameters,
  // as plain text
  const text = /^failed query/i.test(message)
    ? "a query failed"
    : message.replace(/^\[better-auth\]\s*/i, "")
      // its own command writes other tables
      .replace(/npx auth(?:@latest)? generate/g, "trellis generate auth-schema");
  log(
    LEVELS[level] ?? "INFO",
    `[better-auth] ${text}`,
    error === undefined ? undefined : { error },
  );
}
