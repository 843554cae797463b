/** What a program printed, and its exit code. */
export interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of {@link runProgram}. */
export type ProgramOptions = Pick<Deno.CommandOptions, "cwd" | "env" | "signal">;

/** Runs a program without input and colours. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { env, ...options }: ProgramOptions = {},
): Promise<ProgramResult> {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    ...options,
    args: [...args],
    env: { NO_COLOR: "1", npm_config_update_notifier: "false", ...env },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/**
 * Runs a program that must succeed.
 *
 * @throws {Error} If its exit code is not 0; the message has its output.
 */
export async function runOrThrow(
  command: string,
  args: readonly string[],
  options?: ProgramOptions,
): Promise<ProgramResult> {
  const result = await runProgram(command, args, options);
  if (result.code === 0) return result;
  throw new Error(`${command} ${args.join(" ")} failed:\n${result.stdout}${result.stderr}`);
}
