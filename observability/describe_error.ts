import { readDriverError } from "../errors/mod.ts";

/** An error as it stands in a log line. */
export interface ErrorDescription {
  /** The class. */
  name: string;
  /** What happened, without SQL and without values of a statement. */
  message: string;
  /** An `AppError`'s code, a SQLSTATE, or a code of the system such as `ECONNRESET`. */
  code?: string;
  /** Where it was thrown: the frames alone, innermost first. */
  stack?: string;
  /** Facts that an `AppError` carries, or the names that a database gave. */
  details?: unknown;
  /** What led to it. */
  cause?: unknown;
}

const MAX_FRAMES = 16;
const MAX_CAUSES = 8;

/**
 * Describes anything that was thrown, with its causes. Drivers put SQL and parameters into messages, and the first
 * line of `stack` repeats the message: neither is copied.
 *
 * @param error Anything that was thrown.
 * @returns A plain object for a log line; not yet redacted.
 */
export function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) {
    return { name: typeof error, message: typeof error === "string" ? error : "a value that is no Error was thrown" };
  }
  const { code, details, cause } = error as { code?: unknown; details?: unknown; cause?: unknown };
  const driver = readDriverError(error);
  const description: ErrorDescription = {
    name: error.name,
    message: isQueryError(error) ? "Failed query" : driver?.message ?? error.message,
  };
  if (typeof code === "string" || typeof code === "number") description.code = String(code);
  const frames = typeof error.stack === "string" ? error.stack.split("\n").filter((line) => /^\s+at /.test(line)) : [];
  if (frames.length > 0) description.stack = frames.slice(0, MAX_FRAMES).map((line) => line.trim()).join("\n");
  if (driver !== undefined) {
    if (Object.keys(driver.names).length > 0) description.details = driver.names;
  } else if (typeof details === "object" && details !== null) description.details = details;
  if (cause !== undefined && depth < MAX_CAUSES) description.cause = describeError(cause, depth + 1);
  return description;
}

/** drizzle's DrizzleQueryError: its message is the statement and its parameters. */
function isQueryError(error: Error): boolean {
  return "query" in error && "params" in error;
}
