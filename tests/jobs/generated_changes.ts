import { integer, pgTable, text } from "drizzle-orm/pg-core";
import type { KinesisRecord } from "../../core/triggers/stream_events.ts";
import { createChangeStreamEvent } from "../../testing/mod.ts";

/** The consumed table. */
export const orders = pgTable("orders", {
  id: integer("id").primaryKey(),
  total: integer("total").notNull(),
  note: text("note"),
});

const others = pgTable("others", { id: integer("id").primaryKey(), note: text("note") });

/** Counts of what the stream did. */
export interface StreamCounts {
  changes: number;
  doubled: number;
  split: number;
  missing: number;
  foreign: number;
}

/** What a generated stream delivers. */
export interface GeneratedStream {
  /** The records, in the order in which they arrive. */
  readonly records: KinesisRecord[];
  /** The latest change of each row of which every record arrives: its position. */
  readonly last: ReadonlyMap<number, bigint>;
}

let now = 0;

/**
 * Generates the changes of some rows as the provider delivers them: repeated, in any order, split, and
 * with records that never arrive.
 */
export function generateStream(
  random: () => number,
  counts: StreamCounts,
  { rows, changes }: { rows: number; changes: number },
): GeneratedStream {
  const records: KinesisRecord[] = [];
  const last = new Map<number, bigint>();
  const exists = new Set<number>();
  const deliver = (event: { Records: readonly KinesisRecord[] }) => records.push(...event.Records);
  for (let n = 0; n < changes; n++) {
    const id = Math.floor(random() * rows);
    now = Math.max(now + 1, Date.now() - 1000);
    const position = BigInt(now) * 1_000_000n + BigInt(Math.floor(random() * 1000));
    const isDelete = exists.has(id) && random() < 0.2;
    const note = random() < 0.5 ? null : 'é"\\😀'.repeat(1 + Math.floor(random() * 4));
    const operation = exists.has(id) ? "update" : "insert";
    const fragments = random() < 0.25 ? 1 + Math.floor(random() * 4) : undefined;
    const event = isDelete
      ? createChangeStreamEvent(orders, [{ operation: "delete", before: { id }, position }])
      : createChangeStreamEvent(orders, [
        { operation, after: { id, total: n, note }, position, fragments },
      ]);
    if (isDelete) exists.delete(id);
    else exists.add(id);
    counts.changes++;
    if (event.Records.length > 1) counts.split++;
    if (random() < 0.1) {
      counts.missing++;
      const missing = Math.floor(random() * event.Records.length);
      deliver({ Records: event.Records.filter((_, at) => at !== missing) });
      continue;
    }
    last.set(id, position);
    deliver(event);
    if (random() < 0.3) {
      counts.doubled++;
      deliver(event);
    }
    if (random() < 0.2) {
      counts.foreign++;
      const after = { id, note };
      deliver(createChangeStreamEvent(others, [
        { operation: "insert", after, fragments: random() < 0.5 ? 2 : undefined },
      ]));
    }
  }
  shuffle(random, records);
  return {
    records: records.map((record, at) => ({
      ...record,
      kinesis: { ...record.kinesis, sequenceNumber: String(at + 1) },
    })),
    last,
  };
}

function shuffle<T>(random: () => number, items: T[]): void {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [items[at], items[other]] = [items[other], items[at]];
  }
}
