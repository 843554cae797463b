import { builtinModule, runtimeProcess } from "../env/mod.ts";

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

let fs: ReturnType<typeof builtinModule<"node:fs">>;
let buffer: ReturnType<typeof builtinModule<"node:buffer">>;

/**
 * One synchronous write to file descriptor 1. `console.log` is patched by Lambda's runtime (a prefix, two writes), and
 * the first touch of `process.stdout` costs milliseconds; neither survives a sandbox that is frozen right after the answer.
 */
function writeToStdout(text: string): void {
  let rest: string | Uint8Array = text;
  fs ??= builtinModule("node:fs");
  buffer ??= builtinModule("node:buffer");
  try {
    const written = fs?.writeSync(1, text) ?? 0;
    if (written >= buffer!.Buffer.byteLength(text)) return;
    rest = buffer!.Buffer.from(text).subarray(written);
  } catch (error) {
    if ((error as { code?: string }).code === "EPIPE") return; // nobody reads any more
    if ((error as { code?: string }).code !== "EAGAIN") throw error;
  }
  runtimeProcess!.stdout.write(rest); // a full non-blocking pipe: the stream queues what is left
}
