import type { InfraSettings } from "../config/infra.ts";
import type { QueueInfra } from "../config/named_resources.ts";
import type { InfraFunction, Problem } from "./infra_plan.ts";
import { getResource, getTimeoutSeconds } from "./resources.ts";

/** Maximum size of a batch of a FIFO queue (Lambda, CreateEventSourceMapping). */
const MAX_FIFO_BATCH = 10;

/**
 * Checks for errors of the consumers of queues that AWS would only report during apply, and for two
 * consumers of one queue.
 */
export function checkConsumers(
  functions: readonly InfraFunction[],
  queues: InfraSettings["queues"],
): Problem[] {
  const consumers = new Map<string, string>();
  return functions.filter(({ kind }) => kind === "queue").flatMap((fn): Problem[] => {
    const queue = getResource(fn)!;
    const other = consumers.get(queue);
    consumers.set(queue, fn.name);
    const messages = findConsumerErrors(fn, queue, queues?.[queue] ?? {});
    if (other !== undefined) {
      messages.push(
        `${other} and ${fn.name} both consume the queue ${queue}, so each would receive only a ` +
          "part of the messages: use a different queue for one of them, or publish to a topic",
      );
    }
    return messages.map((message) => ({ functionName: fn.name, message }));
  });
}

function findConsumerErrors(
  { name, options, settings: { batchSize = MAX_FIFO_BATCH, batchingWindowSeconds = 0 } }:
    InfraFunction,
  queue: string,
  { fifo = false, visibilityTimeoutSeconds }: QueueInfra,
): string[] {
  const errors: string[] = [];
  const timeout = getTimeoutSeconds(options);
  if (visibilityTimeoutSeconds !== undefined && visibilityTimeoutSeconds < timeout) {
    errors.push(
      `infra.queues.${queue}.visibilityTimeoutSeconds is ${visibilityTimeoutSeconds}, less than ` +
        `the timeout of ${name}, which is ${timeout} s: set at least ${6 * timeout}`,
    );
  }
  if (fifo && batchSize > MAX_FIFO_BATCH) {
    errors.push(
      `infra.functions.${name}.batchSize is ${batchSize}: a FIFO queue has at most ${MAX_FIFO_BATCH}`,
    );
  }
  if (fifo && batchingWindowSeconds > 0) {
    errors.push(
      `infra.functions.${name}.batchingWindowSeconds: FIFO queues have no batching window. Remove it`,
    );
  }
  return errors;
}
