import { CORRELATION_ID_HEADER, isCorrelationId } from "../http/correlation_id.ts";
import type { EventBridgeEvent } from "./trigger_events.ts";

/**
 * The first of several that is a correlation id: 1 to 128 characters of `[A-Za-z0-9._:-]`.
 *
 * @param candidates What a message says, best first.
 * @returns The id, or `undefined`.
 */
export function firstCorrelationId(candidates: readonly unknown[]): string | undefined {
  return candidates.find(isCorrelationId);
}

/** Headers that hand an id to whatever reads it from a request: the events of triggers have none. */
export function headersWith(correlationId: string | undefined): Record<string, string> {
  return correlationId === undefined ? {} : { [CORRELATION_ID_HEADER]: correlationId };
}

/** What an EventBridge event says of its correlation: `correlationId` in its detail, else its own id. */
export function correlationIdsOfEvent(event: EventBridgeEvent | undefined): unknown[] {
  return [
    (event?.detail as { correlationId?: unknown } | null | undefined)?.correlationId,
    event?.id,
  ];
}
