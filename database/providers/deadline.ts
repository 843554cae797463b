import { currentInvocation } from "../../observability/invocation_context.ts";

/**
 * Calls back when the invocation that the calling code belongs to is given up at its deadline: the work goes on, but
 * nobody waits for it any more.
 *
 * @param onAbandon Called once, at the deadline.
 * @returns A function to call when the work is done.
 */
export function onDeadline(onAbandon: () => void): () => void {
  const invocation = currentInvocation();
  return invocation?.deadlineMs === undefined ? NO_DEADLINE : invocation.onDeadline(onAbandon);
}

/** What {@link onDeadline} returns where there is no deadline: nothing is ever given up. */
export const NO_DEADLINE: () => void = () => {};
