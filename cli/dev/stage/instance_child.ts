/**
 * The process that runs the calls of one instance of a function, with the variables of this instance.
 *
 * @module
 */
import process from "node:process";
import { createInterface } from "node:readline";
import type { CallOutcome } from "../../live/channel.ts";
import { importFile } from "../../discovery/import_file.ts";

/** The first line that the process reads. */
export interface ChildStart {
  /** Absolute path of the function's bundle. */
  readonly file: string;
  /** Prefix of the lines with outcomes, which distinguishes them from the function's output. */
  readonly mark: string;
}

/** Another line: a call. */
export interface ChildCall {
  readonly event: unknown;
  readonly context: Readonly<Record<string, unknown>>;
  readonly remainingMs: number;
}

type Handler = (event: unknown, context: unknown) => unknown;

async function runCall(
  load: () => Promise<{ handler?: Handler }>,
  { event, context, remainingMs }: ChildCall,
): Promise<CallOutcome> {
  const endsAtMs = performance.now() + remainingMs;
  try {
    const { handler } = await load();
    if (typeof handler !== "function") throw new TypeError("the file does not export a handler");
    const value = await handler(event, {
      ...context,
      getRemainingTimeInMillis: () => Math.max(0, Math.round(endsAtMs - performance.now())),
    });
    return { kind: "result", value };
  } catch (cause) {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    const { name, message, stack } = error;
    return { kind: "error", name, message, stack };
  }
}

async function main(): Promise<void> {
  process.setSourceMapsEnabled?.(true);
  const lines = createInterface({ input: process.stdin });
  let start: ChildStart | undefined;
  for await (const line of lines) {
    if (start === undefined) {
      start = JSON.parse(line) as ChildStart;
      continue;
    }
    const { file, mark } = start;
    // a module that was imported comes from the cache
    const outcome = await runCall(() => importFile(file), JSON.parse(line));
    process.stdout.write(`${mark}${JSON.stringify(outcome)}\n`);
  }
  process.exit();
}

await main();
