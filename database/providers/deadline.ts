import { currentInvocation } from "../../observability/invocation_context.ts";

/**
 * Registers a callback for the deadline of the current invocation. The work continues after the
 * deadline, but its result is no longer awaited.
 *
 * @param onAbandon Called once, at the deadline.
 * @returns A function to call when the work is done.
 */
export function onDeadline(onAbandon: () => void): () => void {
  const invocation = currentInvocation();
  return invocation?.deadlineMs === undefined ? NO_DEADLINE : invocation.onDeadline(onAbandon);
}

/** Result of {@link onDeadline} outside of invocations with a deadline. */
export const NO_DEADLINE: () => void = () => {};
