import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from "node:fs";
import process from "node:process";
import { StringDecoder } from "node:string_decoder";
import { ConfigurationError } from "../../errors/http_errors.ts";
import * as ownPath from "node:path";

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
    function finish(exitCode: number): void {
      lasting?.signal.removeEventListener("abort", interrupt);
      readRest?.();
      resolve({ exitCode, stdout, stderr });
    }
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") finish(MISSING_PROGRAM);
      else reject(error);
    });
    child.on("close", (code) => finish(code ?? 1));
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

/** What to start in place of a program. */
interface StartCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** True if Node.js must pass the arguments unchanged. */
  readonly isVerbatim: boolean;
}

/** Characters with a meaning that quotes of `cmd.exe` do not remove. */
const UNQUOTABLE = ['"', "%", "\r", "\n", "\0"];

/**
 * Creates the command that starts a program. Windows runs `.cmd` and `.bat` files, such as the
 * programs that npm installs, only through `cmd.exe`.
 *
 * Arguments are quoted, so `cmd.exe` reads `&`, `|`, `<`, `>` and `^` as text, both in its command
 * line and in a batch file that passes `%*` on.
 *
 * @param program Path of the program, from `findProgram`.
 * @param shell Path of `cmd.exe`.
 * @throws {ConfigurationError} If a batch file would receive an argument that cannot be quoted.
 */
export function createStartCommand(
  program: string,
  args: readonly string[],
  shell: string,
): StartCommand {
  if (!/\.(?:bat|cmd)$/i.test(program)) return { file: program, args, isVerbatim: false };
  const line = [program, ...args].map((text) => quote(text, program)).join(" ");
  // with /s, cmd.exe removes the outer quotes and leaves all others
  return { file: shell, args: ["/d", "/v:off", "/s", "/c", `"${line}"`], isVerbatim: true };
}

function quote(text: string, program: string): string {
  const found = UNQUOTABLE.find((each) => text.includes(each));
  if (found !== undefined) {
    throw new ConfigurationError(
      `${program} is a batch file, and Windows cannot pass ${JSON.stringify(text)} to it: ` +
        `it contains ${JSON.stringify(found)}. Install the program as an .exe file`,
    );
  }
  // a program reads \" as a quote, so backslashes before the closing quote are doubled
  let end = text.length;
  while (text[end - 1] === "\\") end--;
  return `"${text}${text.slice(end)}"`;
}

/** The parts of the operating system that {@link findProgram} reads. */
export interface ProgramSearch {
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly path: Pick<typeof ownPath, "extname" | "isAbsolute" | "join" | "resolve">;
  isFile(path: string): boolean;
}

const THIS_SYSTEM: ProgramSearch = {
  platform: process.platform,
  env: process.env,
  path: ownPath,
  isFile: (path) => existsSync(path) && statSync(path).isFile(),
};

/** Windows' own value of PATHEXT, without script hosts that Node.js cannot start. */
const EXTENSIONS = ".COM;.EXE;.BAT;.CMD";

/**
 * Finds the file of a program. On Windows it searches the folders of PATH for the extensions of
 * PATHEXT, which finds the `.cmd` files that npm installs. It does not search the working directory,
 * where Windows looks first: a file of the project must not replace an installed program.
 *
 * @param name A name such as `terraform`, or a path.
 * @param cwd The folder that a relative path is relative to.
 * @param search The operating system.
 * @returns Absolute path on Windows; the name itself on other systems, which search by themselves.
 * `undefined` if Windows has no such program.
 */
export function findProgram(
  name: string,
  cwd: string,
  { platform, env, path, isFile }: ProgramSearch = THIS_SYSTEM,
): string | undefined {
  if (platform !== "win32") return name;
  const extensions = (env.PATHEXT ?? EXTENSIONS).toLowerCase().split(";").filter(Boolean);
  const endings = extensions.includes(path.extname(name).toLowerCase()) ? [""] : extensions;
  const folders = /[/\\]/.test(name)
    ? [path.resolve(cwd)]
    : (env.PATH ?? "").split(";").map(withoutQuotes).filter(path.isAbsolute);
  const getPath = path.isAbsolute(name) ? () => name : path.join;
  return folders
    .flatMap((folder) => endings.map((ending) => `${getPath(folder, name)}${ending}`))
    .find(isFile);
}

function withoutQuotes(folder: string): string {
  return folder.trim().replaceAll('"', "");
}
