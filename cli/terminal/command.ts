import { parseArgs } from "node:util";
import type { CLI_PACKAGES } from "./optional_packages.ts";
import type { Output } from "./output.ts";

/** Exit codes of the command line. */
export enum ExitCode {
  /** Success; with `--check`: everything is up to date. */
  Done = 0,
  /**
   * The command found something to report: stale files, or code that static analysis cannot
   * resolve.
   */
  Found = 1,
  /** The command line is invalid. */
  Usage = 2,
  /** The command could not run: a file or folder is missing, unreadable or invalid. */
  Failed = 3,
}

/** An option of a command. */
export interface CommandOption {
  /** `check` for `--check`. */
  readonly name: string;
  /** One letter, for `-h`. */
  readonly short?: string;
  /** Placeholder for the value; omitted for a boolean flag. */
  readonly value?: string;
  /** The values that it may have. */
  readonly values?: readonly string[];
  /** One sentence. */
  readonly description: string;
}

/** A positional argument of a command. */
export interface CommandArgument {
  /** `folder` for `<folder>`. */
  readonly name: string;
  /** One sentence. */
  readonly description: string;
  /** True if the argument may be omitted. */
  readonly isOptional?: boolean;
}

/** The context that a command runs in. */
export interface CommandContext {
  /** Flags and values by option name. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** The positional arguments; never more than the command declares. */
  readonly args: readonly string[];
  /** Absolute path of the working directory. */
  readonly cwd: string;
  /** Absolute path of the project's folder. */
  readonly root: string;
  readonly output: Output;
  /** True if a terminal is attached on which questions can be asked. */
  readonly canAsk: boolean;
  /** Asks a yes/no question; `undefined` if no terminal is attached. */
  confirm(question: string): Promise<boolean | undefined>;
  /** Asks for a line of text; `undefined` if no terminal is attached. */
  ask(question: string): Promise<string | undefined>;
  /** Reads standard input to its end. On a terminal the request is shown first. */
  readInput(request: string): Promise<string>;
}

/** The result of a command, which `--json` prints. */
export interface CommandResult {
  readonly exitCode: ExitCode;
  readonly [field: string]: unknown;
}

/** A command of the CLI. */
export interface Command {
  /** `generate permissions` */
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  /** Paragraphs about what the command reads, writes and decides. */
  readonly description: readonly string[];
  readonly options: readonly CommandOption[];
  /** The positional arguments, in order. */
  readonly args?: readonly CommandArgument[];
  /** Packages that it always needs. Those that are missing are named before it runs. */
  readonly packages?: readonly (keyof typeof CLI_PACKAGES)[];
  /** An option with which it needs none of the packages. */
  readonly withoutPackages?: string;
  /** Example command lines, each with its purpose. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  /** The meaning of exit codes for this command, where it differs from {@link getExitCodes}. */
  readonly exitCodes?: Readonly<Partial<Record<ExitCode, string>>>;
  /** Runs the command. A command that prints its own result returns only the exit code. */
  run(context: CommandContext): Promise<CommandResult | ExitCode>;
}

/** Thrown if the command line is invalid; the message says why. */
export class UsageError extends Error {
  /** Always `UsageError`, also in minified code. */
  override readonly name: string = "UsageError";
}

/** Options that every command accepts. */
export const COMMON_OPTIONS: readonly CommandOption[] = [
  {
    name: "project",
    value: "folder",
    description: "The project folder. Default: the working directory.",
  },
  {
    name: "config",
    value: "file",
    description: "The configuration file. Default: trellis.config.ts in the project folder.",
  },
  { name: "json", description: "Print the result as one JSON document." },
  { name: "help", short: "h", description: "Print this help." },
];

/** Returns the exit codes of a command with their meanings. */
export function getExitCodes({ exitCodes }: Command): NonNullable<Command["exitCodes"]> {
  return {
    [ExitCode.Done]: "Done.",
    [ExitCode.Usage]: "The command line is invalid.",
    [ExitCode.Failed]:
      "It could not run: a file, folder or table is missing or invalid, or a service does not respond.",
    ...exitCodes,
  };
}

/** A parsed command line. */
export interface ParsedArguments {
  readonly options: Record<string, string | boolean | undefined>;
  readonly args: string[];
}

/**
 * Reads the options and arguments of a command.
 *
 * @param given The arguments after the command name.
 * @returns Values by option, and arguments in order.
 * @throws {UsageError} If an option is unknown, lacks its value or has another one, or an argument is
 * missing or unexpected.
 */
export function parseArguments(command: Command, given: readonly string[]): ParsedArguments {
  const known = [...command.options, ...COMMON_OPTIONS];
  const expected = command.args ?? [];
  try {
    const { values, positionals } = parseArgs({
      args: [...given],
      allowPositionals: expected.length > 0,
      options: Object.fromEntries(
        known.map(({ name, short, value }) => [name, {
          type: value === undefined ? "boolean" as const : "string" as const,
          ...(short === undefined ? {} : { short }),
        }]),
      ),
    });
    const options = values as Record<string, string | boolean | undefined>;
    for (const { name, values } of known) {
      const given = options[name];
      if (given === undefined || values === undefined || values.includes(String(given))) continue;
      throw new UsageError(
        `--${name} must be one of ${values.join(", ")}, got ${JSON.stringify(given)}`,
      );
    }
    const missing = expected.slice(positionals.length).find(({ isOptional }) => !isOptional);
    if (missing !== undefined && !options.help) {
      throw new UsageError(`Missing argument <${missing.name}>: trellis ${renderUsage(command)}`);
    }
    if (positionals.length > expected.length) {
      throw new UsageError(
        `Unexpected argument "${positionals[expected.length]}": trellis ${renderUsage(command)}`,
      );
    }
    return { options, args: positionals };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const [sentence] = (error as Error).message.split(/\. |\n/);
    throw new UsageError(
      `${sentence}. Known options: ${known.map(({ name }) => `--${name}`).join(", ")}`,
    );
  }
}

/** Renders the help text of a command. */
export function renderHelp(command: Command): string {
  const options = [...command.options, ...COMMON_OPTIONS].map((option) =>
    [renderOption(option), option.description] as const
  );
  const width = Math.max(...options.map(([left]) => left.length));
  const codes = Object.entries(getExitCodes(command)).map(([code, what]) => `  ${code}  ${what}`);
  return [
    command.summary,
    "",
    `Usage: trellis ${renderUsage(command)}`,
    "",
    ...command.description.flatMap((paragraph) => [paragraph, ""]),
    ...renderArguments(command),
    "Options:",
    ...options.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`),
    "",
    "Examples:",
    ...command.examples.flatMap(([line, what]) => [`  # ${what}`, `  ${line}`]),
    "",
    "Exit codes:",
    ...codes,
  ].join("\n");
}

/** Renders the usage line of a command: `db mark-applied <tag> [options]`. */
export function renderUsage({ name, args = [] }: Command): string {
  const parts = args.map((argument) =>
    argument.isOptional ? `[${argument.name}]` : `<${argument.name}>`
  );
  return [name, ...parts, "[options]"].join(" ");
}

function renderArguments({ args = [] }: Command): string[] {
  if (args.length === 0) return [];
  const width = Math.max(...args.map(({ name }) => name.length));
  return [
    "Arguments:",
    ...args.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`),
    "",
  ];
}

/** Renders an option for help texts and the reference: `-h, --help`. */
export function renderOption({ name, short, value }: CommandOption): string {
  return `${short === undefined ? "" : `-${short}, `}--${name}${
    value === undefined ? "" : ` <${value}>`
  }`;
}
