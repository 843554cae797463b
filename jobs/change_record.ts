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
  /** A part of a record that was split, or content that is no change. */
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
 * updates. An operation that is not an insertion, including unknown operations, needs no work: a job that
 * is due again is in the hands of the relay. Source: Aurora DSQL user guide, "Understanding CDC
 * records" (2026-07).
 *
 * @param record The record.
 */
export function readJobChange(record: KinesisRecord): JobChange {
  const envelope = parseEnvelope(record?.kinesis?.data);
  if (envelope?.type !== "full") return UNREAD;
  if (envelope.source?.table !== "trellis_jobs" || envelope.op !== "c") return OTHER;
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
