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
  // work that an ended invocation has left behind would wait for a deadline that never comes
  const hasDeadline = invocation?.deadlineMs !== undefined && !invocation.ended;
  return hasDeadline ? invocation.onDeadline(onAbandon) : NO_DEADLINE;
}

/** Result of {@link onDeadline} outside of running invocations with a deadline. */
export const NO_DEADLINE: () => void = () => {};
