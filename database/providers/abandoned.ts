import { getRequestContext } from "../../core/mod.ts";

/**
 * Calls back when the invocation that the calling code belongs to is given up at its deadline: the work goes on, but
 * nobody waits for it any more.
 *
 * @param onAbandon Called once, at the deadline.
 * @returns A function to call when the work is done.
 */
export function whenAbandoned(onAbandon: () => void): () => void {
  const request = getRequestContext();
  // without a deadline nothing is ever given up, and the signal costs something
  if (request?.deadlineMs === undefined) return nothing;
  const { signal } = request;
  signal.addEventListener("abort", onAbandon, { once: true });
  return function forget(): void {
    signal.removeEventListener("abort", onAbandon);
  };
}

function nothing(): void {}
