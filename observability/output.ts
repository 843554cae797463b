import { builtinModule, runtimeProcess } from "../env/builtin_module.ts";
import { reportFailure } from "./report_failure.ts";

/** A function that receives text which ends with a newline. */
export type LogOutput = (text: string) => void;

let output: LogOutput = writeToStdout;

/**
 * Redirects log lines, metrics and warnings from standard output, for example in a test or a development server.
 *
 * @param to Called with one or more whole lines. If it throws, the lines are lost and the first failure is reported on
 * standard error. The request continues.
 * @returns Restores the previous output.
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

/** Writes whole lines at once. Never throws. */
export function writeOutput(text: string): void {
  if (text === "") return;
  try {
    const result: unknown = output(text);
    // an asynchronous function passes for a LogOutput
    if (result instanceof Promise) result.catch(reportLoss);
  } catch (error) {
    reportLoss(error);
  }
}

function reportLoss(error: unknown): void {
  // EPIPE: the reader of standard output has closed it
  if ((error as { code?: unknown } | null)?.code !== "EPIPE") reportFailure("log output", error);
}

let fs: ReturnType<typeof builtinModule<"node:fs">>;
let buffer: ReturnType<typeof builtinModule<"node:buffer">>;

/**
 * Writes synchronously to file descriptor 1, in one call. `console.log` is patched by Lambda's runtime (a prefix, two
 * writes), and the first use of `process.stdout` costs milliseconds; neither is written when a sandbox is frozen right
 * after the answer.
 */
function writeToStdout(text: string): void {
  fs ??= builtinModule("node:fs");
  // deno-lint-ignore no-console -- a runtime without file descriptors
  if (fs === undefined) return console.log(text.replace(/\n$/, ""));
  let written = 0;
  try {
    written = fs.writeSync(1, text);
  } catch (error) {
    if ((error as { code?: string }).code !== "EAGAIN") throw error;
  }
  const { Buffer } = buffer ??= builtinModule("node:buffer")!;
  if (written < Buffer.byteLength(text)) queueRest(Buffer.from(text).subarray(written));
}

let watchesStdout = false;

/** Passes the bytes that a full non-blocking pipe did not accept to the stream. */
function queueRest(bytes: Uint8Array): void {
  const { stdout } = runtimeProcess!;
  // an unhandled error event of a stream ends the process
  if (!watchesStdout) stdout.on("error", reportLoss);
  watchesStdout = true;
  stdout.write(bytes);
}
