import type { KinesisRecord } from "../../jobs/mod.ts";
import { createStreamEvent } from "../../testing/mod.ts";

let sequence = 0;

/** Wraps a change, or a text, in a record of Kinesis. */
export function toRecord(change: unknown): KinesisRecord {
  const text = typeof change === "string" ? change : JSON.stringify(change);
  const bytes = new TextEncoder().encode(text);
  const { Records: [record] } = createStreamEvent([{
    data: bytes,
    sequenceNumber: String(sequence++),
  }]);
  return record;
}

/** A change of a row, in the form of Aurora DSQL. */
export function createChange(
  op: string,
  id: string,
  table = "trellis_jobs",
): Record<string, unknown> {
  const row = { id, name: "step", payload: "{}" };
  return {
    type: "full",
    op,
    before: op === "d" ? { id } : null,
    after: op === "d" ? null : row,
    source: {
      version: "1.0",
      ts_ms: 1,
      ts_ns: 1_000_000,
      txId: "t",
      schema: "public",
      table,
      db: "postgres",
    },
    ts_ms: 1,
  };
}
