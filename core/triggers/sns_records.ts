import { readRecords } from "./read_records.ts";
import type { RecordIdentity } from "./record_scope.ts";
import type { SnsEvent, SnsRecord } from "./trigger_events.ts";

/** Returns the ids of a message of SNS. */
export function identifySnsRecord(record: SnsRecord): RecordIdentity {
  const message = record?.Sns;
  return {
    correlationIds: [message?.MessageAttributes?.correlationId?.Value, message?.MessageId],
    fields: { message_id: String(message?.MessageId) },
  };
}

/**
 * Returns the messages of an event.
 *
 * @param event The event.
 * @param problem The error's message for events of other services.
 * @throws {UnexpectedError} If the event does not come from SNS.
 */
export function readSnsRecords(event: SnsEvent, problem: string): readonly SnsRecord[] {
  return readRecords(event, (record) => typeof record?.Sns?.Message === "string", problem);
}
