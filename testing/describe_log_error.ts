import { fileURLToPath } from "node:url";

const MAX_CAUSES = 4;
const MAX_FRAMES = 5;
/** Fields of database errors, and the name of the failed query. */
const FACTS = ["queryName", "sqlState", "constraint", "table", "column", "columns"];
/** Stack frames of the runtime and of installed packages. */
const FOREIGN_FRAME = /\b(?:node|ext|npm|jsr|https?):|\/node_modules\/|\/npm\/registry/;

/** A log line that may contain an error. */
export interface ErrorLine {
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

interface LoggedError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly stack?: unknown;
  readonly details?: unknown;
  readonly cause?: unknown;
}

/**
 * Describes the error of a log line for the terminal: database fields, then each error of the cause
 * chain with its stack frames in the project. Without an error it is the field `reason`.
 *
 * @param shorten Returns how a frame shows an absolute path.
 * @returns The text to append to the line, and more lines.
 */
export function describeLogError(
  line: ErrorLine,
  shorten: (path: string) => string = (path) => path,
): { text: string; lines: string[] } {
  const lines: string[] = [];
  let text = line.error === undefined && typeof line.reason === "string" ? `: ${line.reason}` : "";
  let current = line.error as LoggedError | undefined;
  const facts = describeFacts({ ...(asObject(current?.details)), ...line });
  for (let depth = 0; current !== undefined && depth < MAX_CAUSES; depth++) {
    const title = `${String(current.name ?? "Error")}: ${String(current.message ?? "")}`;
    if (depth === 0) text = `: ${title}`;
    else lines.push(`caused by ${title}`);
    if (depth === 0 && facts !== "") lines.push(facts);
    lines.push(...readFrames(current.stack, shorten));
    current = asObject(current.cause);
  }
  return { text, lines };
}

function describeFacts(fields: Readonly<Record<string, unknown>>): string {
  const known = FACTS.filter((name) => fields[name] !== undefined);
  return known.map((name) => `${name} ${[fields[name]].flat().join(", ")}`).join(" · ");
}

/** Returns the frames in the project, or the first frame if the project has none. */
function readFrames(stack: unknown, shorten: (path: string) => string): string[] {
  if (typeof stack !== "string") return [];
  const frames = stack.split("\n").map((frame) => frame.trim()).filter((frame) =>
    frame.startsWith("at ")
  );
  const own = frames.filter((frame) => !FOREIGN_FRAME.test(frame.replaceAll("file://", "")));
  const chosen = own.length > 0 ? own.slice(0, MAX_FRAMES) : frames.slice(0, 1);
  return chosen.map((frame) => shortenFrame(frame, shorten));
}

/** Shortens the path in a frame. */
function shortenFrame(frame: string, shorten: (path: string) => string): string {
  const start = frame.indexOf("file://");
  const end = frame.lastIndexOf(":", frame.lastIndexOf(":") - 1);
  return start < 0 || end < start
    ? frame
    : frame.slice(0, start) + toPath(frame.slice(start, end), shorten) + frame.slice(end);
}

function toPath(url: string, shorten: (path: string) => string): string {
  try {
    return shorten(fileURLToPath(url));
  } catch {
    return url; // not a local path
  }
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : undefined;
}
