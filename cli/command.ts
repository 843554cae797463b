import { parseArgs } from "node:util";
import type { Output } from "./output.ts";

/** How a command ends. */
export enum ExitCode {
  /** Done; with `--check`: all is as it should be. */
  Done = 0,
  /** Something was found: stale files, places that cannot be told from the text. */
  Found = 1,
  /** The command line is wrong. */
  Usage = 2,
  /** It could not run: a file or folder is missing, cannot be read or is not valid. */
  Failed = 3,
}

/** An option of a command. */
export interface CommandOption {
  /** `check` for `--check`. */
  readonly name: string;
  /** One letter, for `-h`. */
  readonly short?: string;
  /** What its value is called; none for a switch. */
  readonly value?: string;
  /** One sentence. */
  readonly description: string;
}

/** What follows a command's name without dashes. */
export interface CommandArgument {
  /** `folder` for `<folder>`. */
  readonly name: string;
  /** One sentence. */
  readonly description: string;
  /** Whether it may be left out. */
  readonly isOptional?: boolean;
}

/** What a command gets. */
export interface CommandContext {
  /** Switches and values by option. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** The arguments, as many as the command declares at most. */
  readonly args: readonly string[];
  /** Absolute path of the working directory. */
  readonly cwd: string;
  /** Absolute path of the project's folder. */
  readonly root: string;
  readonly output: Output;
  /** Asks a question with yes or no; `undefined` when there is nobody to ask. */
  confirm(question: string): Promise<boolean | undefined>;
}

/** A command of the command line. */
export interface Command {
  /** `generate permissions` */
  readonly name: string;
  /** One sentence. */
  readonly summary: string;
  /** What it reads, writes and decides, in paragraphs. */
  readonly description: readonly string[];
  readonly options: readonly CommandOption[];
  /** What follows the name, in order. */
  readonly args?: readonly CommandArgument[];
  /** Command lines with what they are for. */
  readonly examples: readonly (readonly [line: string, what: string])[];
  /** What the exit codes mean here. */
  readonly exitCodes: Readonly<Partial<Record<ExitCode, string>>>;
  /** Does it. */
  run(context: CommandContext): Promise<ExitCode>;
}

/** The command line was wrong; the message says how. */
export class UsageError extends Error {
  /** Always `UsageError`, also in minified code. */
  override readonly name: string = "UsageError";
}

/** What every command takes. */
export const COMMON_OPTIONS: readonly CommandOption[] = [
  {
    name: "project",
    value: "folder",
    description: "The project's folder; the working directory without it.",
  },
  {
    name: "config",
    value: "file",
    description: "The configuration; trellis.config.ts of the project without it.",
  },
  { name: "json", description: "Print one JSON document, for programs." },
  { name: "help", short: "h", description: "Print this help." },
];

/** A command line, taken apart. */
export interface ParsedArguments {
  readonly options: Record<string, string | boolean | undefined>;
  readonly args: string[];
}

/**
 * Reads the options and arguments of a command.
 *
 * @param command The command.
 * @param given What follows its name.
 * @returns Values by option, and arguments in order.
 * @throws {UsageError} When an option is unknown or has no value, or an argument is missing or left over.
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
    const missing = expected.slice(positionals.length).find(({ isOptional }) => !isOptional);
    if (missing !== undefined && !options.help) {
      throw new UsageError(`<${missing.name}> is missing: trellis ${renderUsage(command)}`);
    }
    if (positionals.length > expected.length) {
      throw new UsageError(
        `"${positionals[expected.length]}" is one argument too many: trellis ${
          renderUsage(command)
        }`,
      );
    }
    return { options, args: positionals };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const [sentence] = (error as Error).message.split(/\. |\n/);
    throw new UsageError(
      `${sentence}. Known are ${known.map(({ name }) => `--${name}`).join(", ")}`,
    );
  }
}

/**
 * The help of a command.
 *
 * @param command The command.
 */
export function renderHelp(command: Command): string {
  const options = [...command.options, ...COMMON_OPTIONS].map((option) =>
    [renderOption(option), option.description] as const
  );
  const width = Math.max(...options.map(([left]) => left.length));
  const codes = Object.entries(command.exitCodes).map(([code, what]) => `  ${code}  ${what}`);
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

/**
 * The shape of a command line: `db mark-applied <tag> [options]`.
 *
 * @param command The command.
 */
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

/**
 * An option as help and reference show it.
 *
 * @param option The option.
 */
export function renderOption({ name, short, value }: CommandOption): string {
  return `${short === undefined ? "" : `-${short}, `}--${name}${
    value === undefined ? "" : ` <${value}>`
  }`;
}
