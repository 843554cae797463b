import process from "node:process";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** A signal that stops the command. */
export type StopSignal = (typeof SIGNALS)[number];

/**
 * A parent process may forward a signal that the terminal has already sent to the whole process
 * group. A repeated signal within this time is ignored.
 */
const SAME_SIGNAL_MS = 500;

/**
 * Waits for SIGINT or SIGTERM and suspends other listeners of these signals. A second signal exits
 * immediately.
 *
 * @returns The signal, and a function that restores the other listeners.
 */
export function waitForStopSignal(): { readonly stopped: Promise<StopSignal>; restore(): void } {
  const previous = SIGNALS.map((signal) => [signal, process.listeners(signal)] as const);
  for (const signal of SIGNALS) process.removeAllListeners(signal);
  let firstAt = 0;
  let resolveSignal: (signal: StopSignal) => void;
  const stopped = new Promise<StopSignal>((resolve) => resolveSignal = resolve);

  function listen(signal: StopSignal): void {
    const now = performance.now();
    if (firstAt !== 0 && now - firstAt > SAME_SIGNAL_MS) {
      process.exit(signal === "SIGINT" ? 130 : 143);
    }
    firstAt ||= now;
    resolveSignal(signal);
  }

  for (const signal of SIGNALS) process.on(signal, listen);
  return {
    stopped,
    restore(): void {
      for (const [signal, listeners] of previous) {
        process.off(signal, listen);
        for (const listener of listeners) {
          process.on(signal, listener as (signal: StopSignal) => void);
        }
      }
    },
  };
}
