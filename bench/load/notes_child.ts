/**
 * The example application as `deno task start` runs it, which also tells what it uses: for each line on standard input it
 * collects garbage and writes one line `@sample {…}` to standard error. A promise that nobody waits for is reported there
 * and makes the exit code 70.
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";

let rejections = 0;
process.on("unhandledRejection", (reason) => {
  rejections++;
  writeSync(2, `@rejection ${reason instanceof Error ? reason.stack : String(reason)}\n`);
});
process.on("exit", () => {
  if (rejections > 0) process.exitCode = 70;
});

createInterface({ input: process.stdin }).on("line", () => {
  (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external } = process.memoryUsage();
  writeSync(2, `@sample ${JSON.stringify({ heapUsed, external, rejections })}\n`);
});

await import("../../examples/notes/start.ts");
