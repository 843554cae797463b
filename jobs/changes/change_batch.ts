import { readKinesisRecords } from "../../core/triggers/read_records.ts";
import type { KinesisEvent } from "../../core/triggers/stream_events.ts";
import { type ChangeEnvelope, readChangeEnvelope } from "./change_envelope.ts";
import { type ChangedTable, listKey } from "./changed_table.ts";

/** Record of a batch with its content. */
export interface ChangeItem {
  /** Position in the shard. */
  readonly sequenceNumber: string;
  /** Id of the record. */
  readonly eventId: string;
  /** The content; `undefined` if it cannot be read. */
  readonly envelope: ChangeEnvelope | undefined;
  /** The reason for which it cannot be read. */
  readonly error: unknown;
  /** The records of its lane. */
  readonly lane: ChangeItem[];
}

/**
 * Reads the records of a batch by lane: changes of one row are a lane in the order of their COMMIT,
 * and so are the pieces of one row. Changes of other tables are left out.
 *
 * @param event The event of Kinesis.
 * @param table The consumed table.
 * @throws {UnexpectedError} If the event comes from another service.
 */
export function listChangeLanes(event: KinesisEvent, table: ChangedTable): ChangeItem[][] {
  const lanes = new Map<string, ChangeItem[]>();
  for (const record of readKinesisRecords(event, "the change stream")) {
    const { sequenceNumber, data } = record.kinesis;
    const content = readContent(data);
    const { envelope } = content;
    if (envelope?.type === "full" && !isOfTable(envelope, table)) continue;
    const name = getLaneName(envelope, table) ?? `record ${sequenceNumber}`;
    const lane = lanes.get(name) ?? [];
    lanes.set(name, lane);
    lane.push({ sequenceNumber, eventId: record.eventID, ...content, lane });
  }
  return [...lanes.values()].map((lane) => lane.sort(compareCommits));
}

/**
 * Checks whether a change belongs to a table.
 *
 * @param change The change.
 * @param table The table.
 */
export function isOfTable(
  change: { schema: string; table: string },
  { schema, name }: ChangedTable,
): boolean {
  return change.schema === schema && change.table === name;
}

/**
 * Lists the positions of records to deliver again: the failed record, and those of its lane that wait
 * for it.
 *
 * @param failed The first record of a lane that failed.
 */
export function listWaitingPositions(failed: ChangeItem): string[] {
  const { lane } = failed;
  return lane.slice(lane.indexOf(failed)).map(({ sequenceNumber }) => sequenceNumber);
}

function readContent(data: string): Pick<ChangeItem, "envelope" | "error"> {
  try {
    return { envelope: readChangeEnvelope(data), error: undefined };
  } catch (error) {
    return { envelope: undefined, error };
  }
}

function getLaneName(
  envelope: ChangeEnvelope | undefined,
  table: ChangedTable,
): string | undefined {
  if (envelope === undefined) return undefined;
  if (envelope.type !== "full") return `chunk ${envelope.chunkId}`;
  try {
    return `row ${JSON.stringify(listKey(table, (envelope.after ?? envelope.before)!))}`;
  } catch {
    // reported when the record is processed
    return undefined;
  }
}

function compareCommits({ envelope: a }: ChangeItem, { envelope: b }: ChangeItem): number {
  if (a?.type !== "full" || b?.type !== "full" || a.commitNs === b.commitNs) return 0;
  return a.commitNs < b.commitNs ? -1 : 1;
}
