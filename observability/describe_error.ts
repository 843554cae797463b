import { isAppError } from "../errors/app_error.ts";
import { readDriverError } from "../errors/driver_error.ts";

/** An error in the form of a log line. */
export interface ErrorDescription {
  /** The class. */
  name: string;
  /** Description without SQL and without values of a statement. */
  message: string;
  /** An `AppError`'s code, a SQLSTATE, or a code of the system such as `ECONNRESET`. */
  code?: string;
  /** Stack frames, innermost first. */
  stack?: string;
  /** Facts that an `AppError` carries, or the names that a database gave. */
  details?: unknown;
  /** The cause. */
  cause?: ErrorDescription;
  /** The parts of an `AggregateError`. */
  errors?: ErrorDescription[];
}

const MAX_FRAMES = 16;
const MAX_CAUSES = 8;
const MAX_PARTS = 8;
/** A frame ends with a position; a line of a message (SQL has `at time zone`) does not. */
const FRAME = /^\s+at .*(?::\d+:\d+|<anonymous>|native|index \d+)\)?$/;

/**
 * Describes anything that was thrown, with its causes. Drivers put SQL and parameters into messages, and the first
 * line of `stack` repeats the message: neither is copied.
 *
 * @param error Anything that was thrown.
 * @returns A plain object for a log line; not yet redacted.
 */
export function describeError(error: unknown): ErrorDescription {
  return describe(error, 0);
}

function describe(error: unknown, depth: number): ErrorDescription {
  try {
    if (error instanceof Error) return describeReadable(error, depth);
  } catch {
    return { name: "Error", message: "an error that cannot be read was thrown" }; // a proxy or a getter that throws
  }
  return {
    name: typeof error,
    message: typeof error === "string" ? error : "a value that is no Error was thrown",
  };
}

function describeReadable(error: Error, depth: number): ErrorDescription {
  const { code, details, cause } = error as { code?: unknown; details?: unknown; cause?: unknown };
  // our own messages hold no values, and say more than the SQLSTATE that a DatabaseError has too
  const driver = isAppError(error) ? undefined : readDriverError(error);
  const description: ErrorDescription = {
    name: error.name,
    message: isQueryError(error) ? "Failed query" : driver?.message ?? error.message,
  };
  if (typeof code === "string" || typeof code === "number") description.code = String(code);
  const frames = typeof error.stack === "string"
    ? error.stack.split("\n").filter((line) => FRAME.test(line))
    : [];
  if (frames.length > 0) {
    description.stack = frames.slice(0, MAX_FRAMES).map((line) => line.trim()).join("\n");
  }
  if (driver !== undefined) {
    const { names, columns } = driver;
    const facts = columns === undefined ? names : { ...names, columns };
    if (Object.keys(facts).length > 0) description.details = facts;
  } else if (typeof details === "object" && details !== null) description.details = details;
  if (depth >= MAX_CAUSES) return description;
  if (cause !== undefined) description.cause = describe(cause, depth + 1);
  if (error instanceof AggregateError && Array.isArray(error.errors)) {
    const partDepth = Math.max(depth + 1, MAX_CAUSES - 1);
    description.errors = error.errors.slice(0, MAX_PARTS).map((part) => describe(part, partDepth));
  }
  return description;
}

/** drizzle's DrizzleQueryError: its message is the statement and its parameters. */
function isQueryError(error: Error): boolean {
  return "query" in error && "params" in error;
}
