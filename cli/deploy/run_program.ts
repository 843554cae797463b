import { spawn } from "node:child_process";
import process from "node:process";

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
 * Runs a program without a shell and waits for its end.
 *
 * @param file The program.
 * @param args Its arguments.
 * @param options Folder and variables.
 * @returns Its output; exit code 127 if the program does not exist.
 */
export function runProgram(
  file: string,
  args: readonly string[],
  { cwd, env = {}, onLine }: ProgramOptions,
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
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
      if (error.code === "ENOENT") resolve({ exitCode: 127, stdout, stderr });
      else reject(error);
    });
    child.on("close", (code) => resolve({ exitCode: code ?? 1, stdout, stderr }));
  });
}
