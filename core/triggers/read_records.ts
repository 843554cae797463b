import { foreignEvent } from "./foreign_event.ts";
import type { RecordIdentity } from "./record_scope.ts";
import type { KinesisEvent, KinesisRecord } from "./stream_events.ts";
import type { SnsEvent, SnsRecord } from "./trigger_events.ts";

/**
 * Returns the records of an event.
 *
 * @param event The event.
 * @param isRecord Checks a record; must accept any value.
 * @param problem The error's message for events of other services.
 * @throws {UnexpectedError} If the event does not come from the service.
 */
export function readRecords<T>(
  event: { readonly Records: readonly T[] },
  isRecord: (record: T) => boolean,
  problem: string,
): readonly T[] {
  const records: unknown = event?.Records;
  if (!Array.isArray(records) || !records.every(isRecord)) throw foreignEvent(problem, event);
  return records;
}

/**
 * Returns the records of an event.
 *
 * @param event The event.
 * @param trigger What the function's trigger must be, for the error's message.
 * @throws {UnexpectedError} If the event does not come from Kinesis.
 */
export function readKinesisRecords(event: KinesisEvent, trigger: string): readonly KinesisRecord[] {
  return readRecords(
    event,
    (record) =>
      typeof record?.kinesis?.data === "string" &&
      typeof record.kinesis.sequenceNumber === "string",
    `The event holds no records of Kinesis: the trigger of this function must be ${trigger}`,
  );
}

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
