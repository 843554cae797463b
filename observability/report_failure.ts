import { builtinModule } from "../env/builtin_module.ts";
import { describeError } from "./describe_error.ts";
import { redactValue } from "./redact.ts";

const reported: Set<string> = new Set();

/**
 * Reports on standard error that an output failed, once in a process for each output. It never throws: a request must
 * not fail because its log cannot be written.
 *
 * @param output What failed: `log output`.
 * @param error What was thrown.
 */
export function reportFailure(output: string, error: unknown): void {
  if (reported.has(output)) return;
  reported.add(output);
  try {
    const fields = {
      level: "ERROR",
      message: `${output} failed: what it gets is lost`,
      error: describeError(error),
    };
    const line = JSON.stringify(redactValue(fields));
    const fs = builtinModule("node:fs");
    // deno-lint-ignore no-console -- a runtime without file descriptors
    if (fs === undefined) console.error(line);
    else fs.writeSync(2, `${line}\n`);
  } catch {
    // standard error cannot be written either
  }
}
