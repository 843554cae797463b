import { isCorrelationId } from "../http/correlation_id.ts";
import type { EventBridgeEvent } from "./trigger_events.ts";

/**
 * Returns the first value that is a correlation id: 1 to 128 characters of `[A-Za-z0-9._:-]`.
 *
 * @param candidates Values from a message, best first.
 * @returns The id, or `undefined`.
 */
export function findCorrelationId(candidates: readonly unknown[]): string | undefined {
  return candidates.find(isCorrelationId);
}

/**
 * Lists what may be the correlation id of an EventBridge event: `correlationId` in its detail, then its own id.
 *
 * @returns The candidates, best first.
 */
export function listEventCorrelationIds(event: EventBridgeEvent | undefined): unknown[] {
  return [
    (event?.detail as { correlationId?: unknown } | null | undefined)?.correlationId,
    event?.id,
  ];
}
