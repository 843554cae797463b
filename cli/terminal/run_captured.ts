import { type Command, type CommandContext, ExitCode, UsageError } from "./command.ts";
import type { Output } from "./output.ts";

/** The outcome of a command that another command ran. */
export interface CapturedRun {
  readonly exitCode: ExitCode;
  /** Its output, and the message of its error. */
  readonly lines: readonly string[];
  /** Its JSON result. */
  readonly result: unknown;
}

/**
 * Runs a command within another one. Captures its output and shows its progress.
 *
 * @returns The outcome; a thrown error is part of it.
 */
export async function runCaptured(
  command: Command,
  context: CommandContext,
  options: CommandContext["options"],
): Promise<CapturedRun> {
  const lines: string[] = [];
  const fail = (text: string) => void lines.push(`${context.output.red("error")} ${text}`);
  const output: Output = {
    ...context.output,
    // the text is captured
    isJson: false,
    line: (text = "") => void lines.push(text),
    error: fail,
    note: (text) => void lines.push(text),
    warn: (text) => void lines.push(`${context.output.yellow("warning")} ${text}`),
    result: () => {},
  };
  try {
    const result = await command.run({ ...context, options, args: [], output });
    return typeof result === "number"
      ? { exitCode: result, lines, result: null }
      : { exitCode: result.exitCode, lines, result: { command: command.name, ...result } };
  } catch (error) {
    context.output.endProgress();
    const message = error instanceof Error ? error.message : String(error);
    const exitCode = error instanceof UsageError ? ExitCode.Usage : ExitCode.Failed;
    fail(message);
    return { exitCode, lines, result: { exitCode, error: message } };
  }
}
