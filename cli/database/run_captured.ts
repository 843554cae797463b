import { type Command, type CommandContext, ExitCode, UsageError } from "../command.ts";
import type { Output } from "../output.ts";

/** How a command ended that was run by another one. */
export interface CapturedRun {
  readonly exitCode: ExitCode;
  /** What it said, and the message of its error. */
  readonly lines: readonly string[];
  /** Its document, as `--json` would print it. */
  readonly result: unknown;
}

/**
 * Runs a command within another one: what it says is kept, and its progress is shown.
 *
 * @param command The command.
 * @param context The context of the command that runs it.
 * @param options Its options.
 * @returns How it ended; an error is an end too.
 */
export async function runCaptured(
  command: Command,
  context: CommandContext,
  options: CommandContext["options"],
): Promise<CapturedRun> {
  const lines: string[] = [];
  let result: unknown = null;
  const output: Output = {
    ...context.output,
    // texts and the document are both wanted
    isJson: false,
    line: (text = "") => void lines.push(text),
    note: (text) => void lines.push(text),
    warn: (text) => void lines.push(`${context.output.yellow("warning")} ${text}`),
    result: (value) => void (result = value),
  };
  try {
    const exitCode = await command.run({ ...context, options, args: [], output });
    return { exitCode, lines, result };
  } catch (error) {
    context.output.endProgress();
    const message = error instanceof Error ? error.message : String(error);
    const exitCode = error instanceof UsageError ? ExitCode.Usage : ExitCode.Failed;
    return {
      exitCode,
      lines: [...lines, `${context.output.red("error")} ${message}`],
      result: { exitCode, error: message },
    };
  }
}
