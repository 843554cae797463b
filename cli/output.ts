import process from "node:process";

/** Where a command writes. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Options of {@link createOutput}. */
export interface OutputOptions {
  /** One JSON document on standard output in place of text. */
  readonly json?: boolean;
  /**
   * Where results go.
   * @default process.stdout
   */
  readonly stdout?: OutputStream;
  /**
   * Where messages, warnings and progress go.
   * @default process.stderr
   */
  readonly stderr?: OutputStream;
  /**
   * The environment: `NO_COLOR` and `FORCE_COLOR` are read.
   * @default process.env
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * The time in milliseconds.
   * @default performance.now
   */
  readonly now?: () => number;
}

/** How a command speaks: results on standard output, all else on standard error. */
export interface Output {
  readonly isJson: boolean;
  /** A line of the result; nothing with `--json`. */
  line(text?: string): void;
  /** A line on standard error. */
  note(text: string): void;
  /** A warning on standard error; nothing with `--json`, where warnings are part of the result. */
  warn(text: string): void;
  /** The result as JSON; nothing without `--json`. */
  result(value: unknown): void;
  /** Says how far a work is that takes more than a second; call it as often as you like. */
  progress(label: string, done: number, total: number): void;
  /** Takes the progress off the screen. */
  endProgress(): void;
  /** Colours that the terminal and `NO_COLOR` allow. */
  readonly bold: (text: string) => string;
  readonly red: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly green: (text: string) => string;
}

/**
 * What a terminal acts on, beyond line ends, tabs and the colours below: the name of a file may not move the cursor, hide a
 * line or turn a text around.
 */
const CONTROLS =
  // deno-lint-ignore no-control-regex
  /\x1b(?!\[(?:1|22|31|32|33|39)m)|\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

function plain(text: string): string {
  return text.replace(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Work is silent for so long. */
const QUIET_MS = 1000;
/** Without a terminal a line comes so often at most. */
const LINE_EVERY_MS = 5000;
const FRAME_MS = 100;

/**
 * Makes a command's output.
 *
 * @param options Streams and settings.
 * @returns The output.
 */
export function createOutput(options: OutputOptions = {}): Output {
  const {
    json = false,
    stdout = process.stdout,
    stderr = process.stderr,
    env = process.env,
    now = () => performance.now(),
  } = options;
  const startedAt = now();
  let lastShownAt = -Infinity;
  let isShown = false;

  // https://no-color.org: any value but the empty one
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "" && env.FORCE_COLOR !== "0";
  const mayColor = !env.NO_COLOR && env.TERM !== "dumb" && (forced || stdout.isTTY === true) &&
    !json;
  const color = (code: number, end: number) => (text: string) =>
    mayColor ? `\x1b[${code}m${text}\x1b[${end}m` : text;
  const bold = color(1, 22);
  const yellow = color(33, 39);

  function endProgress(): void {
    if (isShown) stderr.write("\r\x1b[K");
    isShown = false;
  }

  return {
    isJson: json,
    // what goes into a file or another program stays as it is
    line: (text = "") => void (json || stdout.write(`${stdout.isTTY ? plain(text) : text}\n`)),
    note(text): void {
      endProgress();
      stderr.write(`${plain(text)}\n`);
    },
    warn(text): void {
      endProgress();
      if (!json) stderr.write(`${yellow("warning")} ${plain(text)}\n`);
    },
    result: (value) => void (json && stdout.write(`${plain(JSON.stringify(value, null, 2))}\n`)),
    progress(label, done, total): void {
      const at = now();
      if (
        at - startedAt < QUIET_MS || at - lastShownAt < (stderr.isTTY ? FRAME_MS : LINE_EVERY_MS)
      ) return;
      lastShownAt = at;
      const text = plain(`${label} ${done}/${total}`);
      if (stderr.isTTY) {
        isShown = true;
        stderr.write(`\r\x1b[K${text.slice(0, (stderr.columns ?? 80) - 1)}`);
      } else {
        stderr.write(`${text}\n`);
      }
    },
    endProgress,
    bold,
    red: color(31, 39),
    yellow,
    green: color(32, 39),
  };
}
