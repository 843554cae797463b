import { setLogOutput } from "../../observability/mod.ts";

/** One parsed log line or metric document. */
// deno-lint-ignore no-explicit-any
export type LogLine = Record<string, any>;

/** What was written while a function ran. */
export interface CapturedLogs<T> {
  /** What the function returned. */
  result: T;
  /** Each write as it was. */
  writes: string[];
  /** Each line of all writes, parsed. */
  lines: LogLine[];
}

/** Parses what was written: whole lines of JSON, or the test fails. */
export function parseLines(writes: readonly string[]): LogLine[] {
  return writes.join("").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/**
 * Runs a function and keeps what it logs from standard output.
 *
 * @param fn The function.
 * @returns Its result, the writes and the lines.
 */
export async function captureLogs<T>(fn: () => T | Promise<T>): Promise<CapturedLogs<T>> {
  const writes: string[] = [];
  const restore = setLogOutput((text) => writes.push(text));
  try {
    const result = await fn();
    return { result, writes, lines: parseLines(writes) };
  } finally {
    restore();
  }
}
