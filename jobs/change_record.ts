/**
 * The part of a Kinesis event that is used here. Source: AWS Lambda developer guide, "Using Lambda to
 * process records from Amazon Kinesis Data Streams" (2026-11).
 */
export interface KinesisEvent {
  /** The records of one shard. */
  readonly Records: readonly KinesisRecord[];
}

/** Record of a Kinesis stream. */
export interface KinesisRecord {
  /** The record itself. */
  readonly kinesis: {
    /** The content, base64. */
    readonly data: string;
    /** Position in the shard. */
    readonly sequenceNumber: string;
  };
}

/** What a record says about the table of jobs. */
export type JobChange =
  | { readonly kind: "inserted"; readonly id: string }
  | { readonly kind: "other" }
  /** Content that is no change, or an insertion of a job that was split. */
  | { readonly kind: "unread" };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const OTHER: JobChange = { kind: "other" };
const UNREAD: JobChange = { kind: "unread" };

interface Envelope {
  readonly type?: unknown;
  readonly op?: unknown;
  readonly after?: { readonly id?: unknown } | null;
  readonly source?: { readonly table?: unknown };
}

/**
 * Reads a record of Aurora DSQL's change stream. Only `after` is used, because `before` is null for
 * updates. An operation that is not an insertion, including unknown operations, needs no work: a job
 * that is due again is in the hands of the relay.
 *
 * A record of more than 9 MiB is split into a record of the type `chunked` and fragments, which name
 * no table. A new job is smaller: its payload has at most 1,000,000 bytes, which JSON escapes with at
 * most six bytes each. So fragments belong to other tables and are not put together. Source: Aurora
 * DSQL user guide, "Understanding CDC records" (2026-07).
 *
 * @param record The record.
 */
export function readJobChange(record: KinesisRecord): JobChange {
  const envelope = parseEnvelope(record?.kinesis?.data);
  if (envelope?.type === "fragment") return OTHER;
  if (envelope?.type !== "full" && envelope?.type !== "chunked") return UNREAD;
  if (envelope.source?.table !== "trellis_jobs" || envelope.op !== "c") return OTHER;
  // only if the provider lowered its limit: the relay runs the job
  if (envelope.type === "chunked") return UNREAD;
  const id = envelope.after?.id;
  return typeof id === "string" && UUID.test(id) ? { kind: "inserted", id } : UNREAD;
}

function parseEnvelope(data: unknown): Envelope | undefined {
  try {
    const bytes = Uint8Array.from(atob(data as string), (char) => char.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
