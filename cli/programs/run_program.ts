import { spawn } from "node:child_process";
import process from "node:process";
import { findProgram } from "./find_program.ts";
import { createStartCommand } from "./windows_command.ts";

/** The exit code that shells use for a program that does not exist. */
export const MISSING_PROGRAM = 127;

/** The end of a program. */
export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Settings of {@link runProgram}. */
export interface ProgramOptions {
  readonly cwd: string;
  /** Variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each line of standard output. */
  readonly onLine?: (line: string) => void;
}

/**
 * Runs a program and waits for its end. Only batch files of Windows need a shell.
 *
 * @param name The program: a name that is searched in PATH, or a path.
 * @param options Folder and variables.
 * @returns Its output; exit code {@link MISSING_PROGRAM} if the program does not exist.
 * @throws {ConfigurationError} If Windows cannot pass an argument to a batch file.
 */
export async function runProgram(
  name: string,
  args: readonly string[],
  { cwd, env = {}, onLine }: ProgramOptions,
): Promise<ProgramResult> {
  const program = findProgram(name, cwd);
  if (program === undefined) return { exitCode: MISSING_PROGRAM, stdout: "", stderr: "" };
  const command = createStartCommand(program, args, process.env.ComSpec ?? "cmd.exe");
  return await new Promise((resolve, reject) => {
    const child = spawn(command.file, command.args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      windowsVerbatimArguments: command.isVerbatim,
    });
    let stdout = "";
    let stderr = "";
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      const lines = `${rest}${text}`.split("\n");
      rest = lines.pop()!;
      if (onLine !== undefined) lines.forEach(onLine);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text);
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") resolve({ exitCode: MISSING_PROGRAM, stdout, stderr });
      else reject(error);
    });
    child.on("close", (code) => resolve({ exitCode: code ?? 1, stdout, stderr }));
  });
}
