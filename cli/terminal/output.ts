import process from "node:process";
import { createProgress, type OutputStream, type Progress } from "./progress.ts";

/** Options of {@link createOutput}. */
export interface OutputOptions {
  /** Prints one JSON document to standard output instead of text. */
  readonly json?: boolean;
  /**
   * Destination of results.
   *
   * @default process.stdout
   */
  readonly stdout?: OutputStream;
  /**
   * Destination of messages, warnings and progress.
   *
   * @default process.stderr
   */
  readonly stderr?: OutputStream;
  /**
   * The environment; `NO_COLOR` and `FORCE_COLOR` are read.
   *
   * @default process.env
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Returns the current time in milliseconds.
   *
   * @default performance.now
   */
  readonly now?: () => number;
}

/** The output of a command: results go to standard output, everything else to standard error. */
export interface Output {
  readonly isJson: boolean;
  /** Writes a line of the result; nothing with `--json`. */
  line(text?: string): void;
  /** Writes an error as a line of the result; nothing with `--json`. */
  error(text: string): void;
  /** Writes a line to standard error. */
  note(text: string): void;
  /**
   * Writes a warning to standard error; nothing with `--json`, where warnings are part of the
   * result.
   */
  warn(text: string): void;
  /** Writes the result as JSON; nothing without `--json`. */
  result(value: unknown): void;
  /** Shows how far a task is; see {@link Progress}. Nothing with `--json`. */
  readonly progress: Progress["update"];
  /** Runs a step and shows its label if it takes long; see {@link Progress}. */
  readonly step: Progress["step"];
  /** Clears the progress line, and shows the running step no more. */
  endProgress(): void;
  /** Colors, if the terminal and `NO_COLOR` allow them. */
  readonly bold: (text: string) => string;
  readonly red: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly green: (text: string) => string;
}

/**
 * Control characters other than line ends, tabs and the colors below. A file name must not move the
 * cursor, hide a line or reverse text.
 */
const CONTROLS =
  // deno-lint-ignore no-control-regex
  /\x1b(?!\[(?:1|22|31|32|33|39)m)|\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/** The colors of this file. */
// deno-lint-ignore no-control-regex
const COLORS = /\x1b\[(?:1|22|31|32|33|39)m/g;

function plain(text: string): string {
  return text.replace(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Creates the output of a command. */
export function createOutput(options: OutputOptions = {}): Output {
  const {
    json = false,
    stdout = process.stdout,
    stderr = process.stderr,
    env = process.env,
    now = () => performance.now(),
  } = options;
  const { update, step, clear, end } = createProgress({
    stderr,
    isQuiet: json,
    now,
    escape: plain,
  });

  // https://no-color.org: any value except the empty string
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "" && env.FORCE_COLOR !== "0";
  const mayColor = !env.NO_COLOR && env.TERM !== "dumb" && (forced || stdout.isTTY === true) &&
    !json;
  const color = (code: number, end: number) => (text: string) =>
    mayColor ? `\x1b[${code}m${text}\x1b[${end}m` : text;
  const bold = color(1, 22);
  const red = color(31, 39);
  const yellow = color(33, 39);
  // messages may go to a file while results go to the terminal
  const toMessage = (text: string) =>
    plain(forced || stderr.isTTY === true ? text : text.replace(COLORS, ""));

  function line(text = ""): void {
    clear();
    // output to a file or another program is not escaped
    if (!json) stdout.write(`${stdout.isTTY ? plain(text) : text}\n`);
  }

  return {
    isJson: json,
    line,
    error: (text) => line(`${red("error")} ${text}`),
    note(text): void {
      clear();
      stderr.write(`${toMessage(text)}\n`);
    },
    warn(text): void {
      clear();
      if (!json) stderr.write(`${toMessage(`${yellow("warning")} ${text}`)}\n`);
    },
    result: (value) => void (json && stdout.write(`${plain(JSON.stringify(value, null, 2))}\n`)),
    progress: update,
    step,
    endProgress: end,
    bold,
    red,
    yellow,
    green: color(32, 39),
  };
}
