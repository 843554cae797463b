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

/** What a command gets. */
export interface CommandContext {
  /** Switches and values by option. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** Absolute path of the project's folder. */
  readonly root: string;
  readonly output: Output;
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
  { name: "project", value: "folder", description: "The project's folder; the working directory without it." },
  { name: "config", value: "file", description: "The configuration; trellis.config.ts of the project without it." },
  { name: "json", description: "Print one JSON document, for programs." },
  { name: "help", short: "h", description: "Print this help." },
];

/**
 * Reads the options of a command.
 *
 * @param command The command.
 * @param args What follows its name.
 * @returns Values by option.
 * @throws {UsageError} When an option is unknown or has no value, or an argument is left over.
 */
export function parseOptions(command: Command, args: readonly string[]): Record<string, string | boolean | undefined> {
  const known = [...command.options, ...COMMON_OPTIONS];
  try {
    const { values } = parseArgs({
      args: [...args],
      options: Object.fromEntries(
        known.map(({ name, short, value }) => [name, {
          type: value === undefined ? "boolean" as const : "string" as const,
          ...(short === undefined ? {} : { short }),
        }]),
      ),
    });
    return values as Record<string, string | boolean | undefined>;
  } catch (error) {
    const [sentence] = (error as Error).message.split(/\. |\n/);
    throw new UsageError(`${sentence}. Known are ${known.map(({ name }) => `--${name}`).join(", ")}`);
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
    `Usage: trellis ${command.name} [options]`,
    "",
    ...command.description.flatMap((paragraph) => [paragraph, ""]),
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
 * An option as help and reference show it.
 *
 * @param option The option.
 */
export function renderOption({ name, short, value }: CommandOption): string {
  return `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`;
}
