import process from "node:process";
import { DATABASE_PACKAGES } from "../database/config/optional_packages.ts";
import { explainMissing } from "../env/optional_package.ts";
import { isAppError } from "../errors/app_error.ts";
import {
  type Command,
  ExitCode,
  parseArguments,
  renderHelp,
  UsageError,
} from "./terminal/command.ts";
import { COMMANDS } from "./commands/commands.ts";
import { VERSIONS } from "./init/versions.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { BuildError } from "./sources/build_error.ts";
import { CLI_PACKAGES } from "./terminal/optional_packages.ts";
import { createOutput, type Output, type OutputOptions } from "./terminal/output.ts";
import { resolve } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { text } from "node:stream/consumers";

/** Options of {@link runCli}. */
export interface CliOptions extends Omit<OutputOptions, "json"> {
  /**
   * The available commands.
   *
   * @default all
   */
  readonly commands?: readonly Command[];
  /**
   * The working directory.
   * @default process.cwd()
   */
  readonly cwd?: string;
  /**
   * Asks a yes/no question; `undefined` if no terminal is attached.
   * @default asks on the terminal
   */
  readonly confirm?: (question: string) => Promise<boolean | undefined>;
  /**
   * Asks for a line; `undefined` if no terminal is attached.
   * @default asks on the terminal
   */
  readonly ask?: (question: string) => Promise<string | undefined>;
  /**
   * Reads standard input to its end.
   * @default process.stdin
   */
  readonly readInput?: (request: string) => Promise<string>;
}

/**
 * Runs a command line. It asks for confirmation only before it changes a remote database.
 *
 * @param args The arguments after the program name: `["generate", "permissions", "--check"]`.
 * @returns The exit code: 0 done, 1 found something, 2 wrong usage, 3 could not run.
 */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<ExitCode> {
  const questions = createQuestions();
  const {
    commands = COMMANDS,
    cwd = process.cwd(),
    confirm = questions.confirm,
    ask = questions.ask,
    readInput = readStandardInput,
    ...streams
  } = options;
  const output = createOutput({ ...streams, json: args.includes("--json") });
  // help is always text, even with --json
  const text = createOutput(streams);
  try {
    if (args[0] === "--version" || args[0] === "-v") {
      text.line(VERSIONS["@trellis/fn"]);
      return ExitCode.Done;
    }
    if (args.length === 0 || args[0] === "help" || args[0].startsWith("-")) {
      const [flag] = args;
      const isHelp = flag === "help" || flag === "--help" || flag === "-h";
      if (flag !== undefined && !isHelp) {
        throw new UsageError(`Write a command before ${flag}: trellis --help lists the commands`);
      }
      text.line(renderOverview(commands));
      return isHelp ? ExitCode.Done : ExitCode.Usage;
    }
    const group = listGroup(commands, args);
    if (group.length > 0) {
      text.line(renderOverview(group, args[0]));
      return args.length > 1 ? ExitCode.Done : ExitCode.Usage;
    }
    const command = findCommand(commands, args);
    const rest = args.slice(command.name.split(" ").length);
    const { options, args: given } = parseArguments(command, rest);
    if (options.help) {
      text.line(renderHelp(command));
      return ExitCode.Done;
    }
    checkPackages(command);
    const result = await command.run({
      options,
      args: given,
      cwd,
      root: resolve(cwd, typeof options.project === "string" ? options.project : "."),
      output,
      canAsk: !output.isJson && (confirm !== questions.confirm || isTerminal()),
      async confirm(question) {
        output.endProgress();
        return output.isJson ? undefined : await confirm(question);
      },
      async ask(question) {
        output.endProgress();
        return output.isJson ? undefined : await ask(question);
      },
      readInput,
    }).catch(explainMissing(CLI_PACKAGES, "acorn", `trellis ${command.name}`))
      .catch(explainMissing(DATABASE_PACKAGES, "drizzle-orm", `trellis ${command.name}`));
    if (typeof result === "number") return result;
    output.result({ command: command.name, ...result });
    return result.exitCode;
  } catch (error) {
    output.endProgress();
    return reportError(output, error);
  } finally {
    questions.close();
  }
}

/**
 * Names all packages that a command needs and that are not installed. Deno downloads what it imports.
 *
 * @throws {ConfigurationError} If a package is missing.
 */
function checkPackages({ name, packages = [] }: Command): void {
  if (process.versions.deno !== undefined) return;
  const missing = packages.filter((each) => {
    try {
      return import.meta.resolve(each) === undefined;
    } catch {
      return true;
    }
  });
  if (missing.length === 0) return;
  const isOne = missing.length === 1;
  throw new ConfigurationError(
    `trellis ${name} needs the ${isOne ? "package" : "packages"} ${missing.join(" and ")}, which ${
      isOne ? "is" : "are"
    } not installed. Install ${isOne ? "it" : "them"}: npm install --save-dev ${
      missing.map((each) => `"${each}@${CLI_PACKAGES[each]}"`).join(" ")
    }`,
  );
}

/** Lists the commands of a group such as `db`, if only the group or its help is asked for. */
function listGroup(commands: readonly Command[], [name, ...rest]: readonly string[]): Command[] {
  if (!rest.every((arg) => arg === "--help" || arg === "-h")) return [];
  const isCommand = commands.some((command) => command.name === name);
  return isCommand ? [] : commands.filter((command) => command.name.startsWith(`${name} `));
}

function findCommand(commands: readonly Command[], args: readonly string[]): Command {
  const words = args.filter((arg) => !arg.startsWith("-"));
  const found = commands.find(({ name }) =>
    name.split(" ").every((word, index) => args[index] === word)
  );
  if (found !== undefined) return found;
  const siblings = commands.filter(({ name }) => name.split(" ")[0] === words[0]).map(({ name }) =>
    name
  );
  throw new UsageError(
    `Unknown command "${words.slice(0, 2).join(" ")}"; known commands: ${
      (siblings.length > 0 ? siblings : commands.map(({ name }) => name)).join(", ")
    }`,
  );
}

function renderOverview(commands: readonly Command[], group?: string): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    `Usage: trellis ${group === undefined ? "" : `${group} `}<command> [options]`,
    "",
    "Commands:",
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "trellis <command> --help shows the options, examples and exit codes of a command.",
    "trellis --version prints the version.",
    "Exit codes: 0 done, 1 found something, 2 wrong usage, 3 could not run.",
  ].join("\n");
}

function reportError(output: Output, error: unknown): ExitCode {
  const exitCode = error instanceof UsageError ? ExitCode.Usage : ExitCode.Failed;
  const message = error instanceof Error ? error.message : String(error);
  output.result({ exitCode, error: message });
  if (output.isJson) return exitCode;
  output.note(`${output.red("error")} ${message}`);
  // an unexpected error: the stack trace helps to find the cause
  const isExpected = error instanceof UsageError || error instanceof SyntaxError ||
    error instanceof BuildError || isAppError(error);
  if (!isExpected && error instanceof Error && error.stack !== undefined) output.note(error.stack);
  return exitCode;
}

/** Returns true if a question can be asked on the terminal. */
function isTerminal(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Asks questions on the terminal. */
interface Questions {
  /**
   * Asks for a line.
   *
   * @param question The text before the cursor.
   * @returns The line without spaces around it; `undefined` when there is no terminal to ask on, or its
   * input ends.
   */
  ask(question: string): Promise<string | undefined>;
  /**
   * Asks a yes/no question.
   *
   * @param question One sentence that ends with a question mark.
   * @returns True for `y` or `yes`; `undefined` when there is no terminal to ask on, or its input ends.
   */
  confirm(question: string): Promise<boolean | undefined>;
  /** Stops reading, so that the process can end. */
  close(): void;
}

/** Creates the reader of answers. It reads nothing before the first question. */
function createQuestions(): Questions {
  const typedAhead: string[] = [];
  let terminal: Interface | undefined;
  let hasEnded = false;
  let answer: ((line: string | undefined) => void) | undefined;

  function settle(line: string | undefined): boolean {
    const isAsked = answer !== undefined;
    answer?.(line);
    // the next line may come before the next question
    answer = undefined;
    return isAsked;
  }

  function open(): Interface {
    // the terminal edits lines itself, so that Ctrl-C ends the process
    const opened = createInterface({ input: process.stdin, terminal: false });
    opened.on("line", (line) => settle(line) || typedAhead.push(line));
    opened.on("close", () => {
      hasEnded = true;
      settle(undefined);
    });
    return opened;
  }

  async function ask(question: string): Promise<string | undefined> {
    if (!isTerminal()) return undefined;
    process.stderr.write(question);
    terminal ??= open();
    if (typedAhead.length > 0) return typedAhead.shift()!.trim();
    if (hasEnded) return undefined;
    return (await new Promise<string | undefined>((resolve) => answer = resolve))?.trim();
  }

  return {
    ask,
    async confirm(question): Promise<boolean | undefined> {
      const line = await ask(`${question} [y/N] `);
      return line === undefined ? undefined : /^y(?:es)?$/i.test(line);
    },
    close: () => terminal?.close(),
  };
}

/**
 * Reads standard input to its end.
 *
 * @param request Shown first if standard input is a terminal.
 * @returns The text.
 */
async function readStandardInput(request: string): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY) stderr.write(`${request}\n`);
  return await text(stdin);
}
