import { spawn } from "node:child_process";
import { closeSync, openSync, readSync, rmSync } from "node:fs";
import process from "node:process";
import { StringDecoder } from "node:string_decoder";
import { findProgram } from "./find_program.ts";
import { createStartCommand } from "./windows_command.ts";

/** The exit code that shells use for a program that does not exist. */
export const MISSING_PROGRAM = 127;

/** The end of a program. */
export interface ProgramResult {
  readonly exitCode: number;
  /** The signal that ended it. */
  readonly signal?: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Settings of {@link runProgram}. */
export interface ProgramOptions {
  readonly cwd: string;
  /** Variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Lets the program run to its end if this process is killed. */
  readonly lasting?: LastingProgram;
}

/** A program that outlives the process that started it: it has no pipe that breaks, and gets no Ctrl-C. */
export interface LastingProgram {
  /** Absolute path of a file for standard output and standard error, which is removed in the end. */
  readonly file: string;
  /** Sends SIGINT to the program, once. */
  readonly signal: AbortSignal;
  /** Called with each line of the file. */
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
  { cwd, env = {}, lasting }: ProgramOptions,
): Promise<ProgramResult> {
  const program = findProgram(name, cwd);
  if (program === undefined) return { exitCode: MISSING_PROGRAM, stdout: "", stderr: "" };
  const command = createStartCommand(program, args, process.env.ComSpec ?? "cmd.exe");
  const output = lasting && openSync(lasting.file, "w");
  return await new Promise<ProgramResult>((resolve, reject) => {
    const child = spawn(command.file, command.args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", output ?? "pipe", output ?? "pipe"],
      detached: lasting !== undefined && process.platform !== "win32",
      windowsHide: true,
      windowsVerbatimArguments: command.isVerbatim,
    });
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => stdout += text);
    child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr += text);
    const interrupt = () => process.kill(child.pid!, "SIGINT");
    lasting?.signal.addEventListener("abort", interrupt);
    const readRest = lasting && followFile(lasting, (text) => stdout += text);
    function finish(exitCode: number, signal?: string): void {
      lasting?.signal.removeEventListener("abort", interrupt);
      readRest?.();
      resolve({ exitCode, stdout, stderr, ...signal !== undefined && { signal } });
    }
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") finish(MISSING_PROGRAM);
      else reject(error);
    });
    child.on("close", (code, signal) => finish(code ?? 1, signal ?? undefined));
  }).finally(() => output !== undefined && closeSync(output));
}

const FOLLOW_MS = 200;

/** Reads what a program writes to its file. Returns a function that reads the rest and removes the file. */
function followFile(
  { file, onLine = () => {} }: LastingProgram,
  onText: (text: string) => void,
): () => void {
  const input = openSync(file, "r");
  const buffer = new Uint8Array(65_536);
  const decoder = new StringDecoder("utf8");
  let rest = "";
  function read(): void {
    for (let size; (size = readSync(input, buffer, 0, buffer.length, null)) > 0;) {
      const text = decoder.write(buffer.slice(0, size));
      onText(text);
      const lines = `${rest}${text}`.split("\n");
      rest = lines.pop()!;
      lines.forEach(onLine);
    }
  }
  const timer = setInterval(read, FOLLOW_MS);
  return function readRest(): void {
    clearInterval(timer);
    read();
    closeSync(input);
    rmSync(file, { force: true });
  };
}
