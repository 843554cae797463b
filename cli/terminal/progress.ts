/** A stream that a command writes to. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Shows on standard error what a command is doing. */
export interface Progress {
  /**
   * Shows how far a task is, once the command has run for a second: a bar on a terminal, and otherwise
   * a line each five seconds.
   */
  update(label: string, done: number, total: number): void;
  /**
   * Runs a step and shows its label while it takes longer than a second: with its duration on a
   * terminal, and otherwise as one line.
   *
   * @param label What is done: `Opening the database`.
   * @returns The result of the work.
   */
  step<T>(label: string, work: () => Promise<T>): Promise<T>;
  /** Clears the line of the terminal before another text is written. */
  clear(): void;
  /** Clears the line of the terminal, and shows the running step no more: a question follows. */
  end(): void;
}

/** Options of {@link createProgress}. */
export interface ProgressOptions {
  readonly stderr: OutputStream;
  /** True if nothing is shown. */
  readonly isQuiet: boolean;
  /** Returns the current time in milliseconds. */
  readonly now: () => number;
  /** Escapes control characters. */
  readonly escape: (text: string) => string;
}

/** Time that a command or a step runs before it is shown. */
const QUIET_MS = 1000;
/** Interval of progress lines without a terminal. */
const LINE_EVERY_MS = 5000;
const FRAME_MS = 100;
const BAR_WIDTH = 20;

/** Creates the progress of a command. */
export function createProgress(options: ProgressOptions): Progress {
  const { stderr, isQuiet, now, escape } = options;
  const isTerminal = stderr.isTTY === true;
  const startedAt = now();
  let lastShownAt = isTerminal ? -Infinity : startedAt;
  let isShown = false;
  let timer: ReturnType<typeof setInterval> | undefined;

  function draw(text: string): void {
    lastShownAt = now();
    isShown = isTerminal;
    const line = escape(text);
    stderr.write(isTerminal ? `\r\x1b[K${line.slice(0, (stderr.columns ?? 80) - 1)}` : `${line}\n`);
  }

  function clear(): void {
    if (isShown) stderr.write("\r\x1b[K");
    isShown = false;
  }

  function end(): void {
    clearInterval(timer);
    clear();
  }

  return {
    update(label, done, total): void {
      const at = now();
      const everyMs = isTerminal ? FRAME_MS : LINE_EVERY_MS;
      if (isQuiet || at - startedAt < QUIET_MS || at - lastShownAt < everyMs) return;
      const count = `${label} ${done}/${total}`;
      draw(isTerminal ? `${renderBar(done, total)} ${count}` : count);
    },
    async step(label, work) {
      if (isQuiet) return await work();
      let seconds = 0;
      clearInterval(timer);
      timer = setInterval(() => {
        seconds++;
        // a bar of the step shows more
        const hasBar = isShown && now() - lastShownAt < QUIET_MS;
        if (isTerminal && !hasBar) draw(`${label} … ${seconds} s`);
        else if (!isTerminal && seconds === 1) draw(`${label} …`);
      }, QUIET_MS);
      try {
        return await work();
      } finally {
        end();
      }
    },
    clear,
    end,
  };
}

function renderBar(done: number, total: number): string {
  const filled = total === 0 ? 0 : Math.min(BAR_WIDTH, Math.floor(BAR_WIDTH * done / total));
  return `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}]`;
}
