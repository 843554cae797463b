import { Buffer } from "node:buffer";
import type nodeFs from "node:fs";
import type nodeProcess from "node:process";

/** Takes text that ends with a newline. */
export type LogOutput = (text: string) => void;

let output: LogOutput = writeToStdout;

/**
 * Sends log lines, metrics and warnings somewhere else than to standard output: a test, a development server.
 *
 * @param to Called with one or more whole lines.
 * @returns Puts the former output back.
 *
 * @example
 * ```ts
 * import { logInfo, setLogOutput } from "@trellis/fn/observability";
 *
 * const lines: string[] = [];
 * const restore = setLogOutput((text) => lines.push(text));
 * logInfo("kept");
 * restore();
 * console.log(JSON.parse(lines[0]).message); // kept
 * ```
 */
export function setLogOutput(to: LogOutput): () => void {
  const former = output;
  output = to;
  return function restoreLogOutput(): void {
    output = former;
  };
}

/** Writes whole lines now. */
export function writeOutput(text: string): void {
  if (text !== "") output(text);
}

interface Runtime extends Pick<typeof nodeProcess, "stdout"> {
  /** Node 20.16, Deno 2 and Bun 1.1 have it. */
  getBuiltinModule?: (name: string) => unknown;
}

/** Importing them would cost 2 ms each of a cold start: an import reads all that a module has. */
const { process } = globalThis as unknown as { process: Runtime };
let fs: Pick<typeof nodeFs, "writeSync"> | undefined;

/**
 * One synchronous write to file descriptor 1. `console.log` is patched by Lambda's runtime (a prefix, two writes), and
 * the first touch of `process.stdout` costs milliseconds; neither survives a sandbox that is frozen right after the answer.
 */
function writeToStdout(text: string): void {
  let rest: string | Uint8Array = text;
  fs ??= process.getBuiltinModule?.("node:fs") as typeof fs;
  try {
    const written = fs?.writeSync(1, text) ?? 0;
    if (written >= Buffer.byteLength(text)) return;
    rest = Buffer.from(text).subarray(written);
  } catch (error) {
    if ((error as { code?: string }).code === "EPIPE") return; // nobody reads any more
    if ((error as { code?: string }).code !== "EAGAIN") throw error;
  }
  process.stdout.write(rest); // a full non-blocking pipe: the stream queues what is left
}
