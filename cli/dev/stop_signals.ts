import process from "node:process";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** A signal that asks a program to end. */
export type StopSignal = (typeof SIGNALS)[number];

/** Programs that start programs pass a signal on that the terminal has sent to both: it is one all the same. */
const SAME_SIGNAL_MS = 500;

/**
 * Waits for Ctrl-C or an end from outside. What the program does otherwise at a signal is put aside meanwhile; a second
 * signal ends the process at once.
 *
 * @returns The signal, and how to put everything back.
 */
export function waitForStopSignal(): { readonly stopped: Promise<StopSignal>; restore(): void } {
  const former = SIGNALS.map((signal) => [signal, process.listeners(signal)] as const);
  for (const signal of SIGNALS) process.removeAllListeners(signal);
  let firstAt = 0;
  let tell: (signal: StopSignal) => void;
  const stopped = new Promise<StopSignal>((resolve) => tell = resolve);

  function listen(signal: StopSignal): void {
    const now = performance.now();
    if (firstAt !== 0 && now - firstAt > SAME_SIGNAL_MS) {
      process.exit(signal === "SIGINT" ? 130 : 143);
    }
    firstAt ||= now;
    tell(signal);
  }

  for (const signal of SIGNALS) process.on(signal, listen);
  return {
    stopped,
    restore(): void {
      for (const [signal, listeners] of former) {
        process.off(signal, listen);
        for (const listener of listeners) {
          process.on(signal, listener as (signal: StopSignal) => void);
        }
      }
    },
  };
}
