import { readRecords } from "./read_records.ts";
import type { KinesisEvent, KinesisRecord } from "./stream_events.ts";

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
