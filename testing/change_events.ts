import type { Column, InferSelectModel } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { encodeBase64 } from "../core/http/base64.ts";
import type { KinesisEvent } from "../core/triggers/stream_events.ts";
import type { RowKey } from "../jobs/changes/change.ts";
import { crc32c } from "../jobs/changes/crc32c.ts";
import { createStreamEvent } from "./stream_events.ts";

/** A change of {@link createChangeStreamEvent}. */
export type ChangeRecordOptions<TTable extends PgTable> =
  & {
    /**
     * Time of the COMMIT in nanoseconds since 1970.
     * @default the current time; later for each change
     */
    position?: bigint;
    /**
     * Transaction.
     * @default one for each change
     */
    transactionId?: string;
    /** Number of fragments into which the row is split. */
    fragments?: number;
  }
  & (
    | { operation: "insert" | "update"; /** The row. */ after: InferSelectModel<TTable> }
    | { operation: "delete"; /** The primary key. */ before: RowKey<TTable> }
  );

/** Where drizzle's tables have their names. Importing drizzle would load it in every unit test. */
const NAME = Symbol.for("drizzle:Name"), SCHEMA = Symbol.for("drizzle:Schema");

const OPERATIONS = { insert: "c", update: "u", delete: "d" } as const;

/**
 * Creates the event that Lambda passes to the consumer of Aurora DSQL's change stream, with the
 * changes of a table.
 *
 * @param table drizzle's definition of the table.
 * @param changes The changes, in the order in which they arrive.
 * @returns The event. A change with `fragments` has several records.
 *
 * @example
 * ```ts
 * import { createChangeStreamEvent } from "@trellis/fn/testing";
 * import { integer, pgTable } from "drizzle-orm/pg-core";
 *
 * const orders = pgTable("orders", { id: integer("id").primaryKey(), total: integer("total").notNull() });
 * const { Records: [record] } = createChangeStreamEvent(orders, [
 *   { operation: "update", after: { id: 1, total: 5 } },
 * ]);
 * console.log(JSON.parse(atob(record.kinesis.data)).after); // { id: 1, total: 5 }
 * ```
 */
export function createChangeStreamEvent<TTable extends PgTable>(
  table: TTable,
  changes: readonly ChangeRecordOptions<TTable>[],
): KinesisEvent {
  const records = changes.flatMap((change, index) => renderChange(table, change, index));
  return createStreamEvent(records.map((data) => ({ data })), "changes");
}

function renderChange<TTable extends PgTable>(
  table: TTable,
  change: ChangeRecordOptions<TTable>,
  index: number,
): string[] {
  const { operation, position = nextPosition(), fragments } = change;
  const { [NAME]: name, [SCHEMA]: schema = "public" } = table as Record<symbol, unknown>;
  const image = renderRow(table, operation === "delete" ? change.before : change.after);
  const source = `"source":{"version":"1.0","ts_ms":${position / 1_000_000n},"ts_ns":${position},` +
    `"txId":${JSON.stringify(change.transactionId ?? `transaction-${index}`)},` +
    `"schema":${JSON.stringify(schema)},"table":${JSON.stringify(name)},"db":"postgres",` +
    `"cluster":"test"},"ts_ms":${position / 1_000_000n},"ts_ns":${position}`;
  const op = `"op":"${OPERATIONS[operation]}"`;
  if (operation === "delete") {
    return [`{"type":"full",${op},"before":${image},"after":null,${source}}`];
  }
  if (fragments === undefined) {
    return [`{"type":"full",${op},"before":null,"after":${image},${source}}`];
  }
  const parts = splitCharacters(image, fragments);
  const chunkId = crypto.randomUUID();
  const chunked = {
    after: { chunk_id: chunkId, total_fragments: parts.length, crc32c: String(crc32c(image)) },
  };
  return [
    `{"type":"chunked",${op},"before":null,"after":null,${source},"chunked":${
      JSON.stringify(chunked)
    }}`,
    ...parts.map((data, at) =>
      JSON.stringify({ type: "fragment", chunk_id: chunkId, index: at, data })
    ),
  ];
}

let lastMs = 0;

/** Returns the current time in nanoseconds, and never the same twice. */
function nextPosition(): bigint {
  lastMs = Math.max(lastMs + 1, Date.now());
  return BigInt(lastMs) * 1_000_000n;
}

function splitCharacters(text: string, count: number): string[] {
  const characters = [...text];
  const size = Math.ceil(characters.length / count);
  return Array.from(
    { length: Math.ceil(characters.length / size) },
    (_, at) => characters.slice(at * size, (at + 1) * size).join(""),
  );
}

function renderRow(table: PgTable, row: object): string {
  const fields = Object.entries(row).filter(([, value]) => value !== undefined).map(
    ([property, value]) => {
      const column = (table as PgTable & Record<string, Column>)[property];
      return `${JSON.stringify(column.name)}:${
        value === null ? "null" : renderValue(column, value)
      }`;
    },
  );
  return `{${fields.join(",")}}`;
}

/** Renders a value as Aurora DSQL does ("Understanding CDC records", 2026-07). */
function renderValue(column: Column, value: unknown): string {
  const isEnum = column.columnType.startsWith("PgEnum");
  const type = isEnum ? "text" : column.getSQLType().toLowerCase();
  if (type.startsWith("json")) return JSON.stringify(JSON.stringify(value));
  if (value instanceof Uint8Array) return JSON.stringify(encodeBase64(value));
  const plain = column.mapToDriverValue(value);
  if (/^(?:timestamp|date|time)/.test(type)) return renderTime(type, plain);
  if (/^(?:small|big)?(?:int|serial)/.test(type) || type === "integer") return String(plain);
  if (typeof plain === "number" && !Number.isFinite(plain)) return JSON.stringify(String(plain));
  return Object.is(plain, -0) ? "-0" : JSON.stringify(plain);
}

function renderTime(type: string, value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : String(value);
  if (type.startsWith("date")) return String(Date.parse(text.slice(0, 10)) / 86_400_000);
  const match = /(\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,6}))?/.exec(text);
  if (match === null) throw new TypeError(`${text} is no time that an event can be created with`);
  const [, clock, fraction = ""] = match;
  const micros = BigInt(fraction.padEnd(6, "0"));
  const zone = /(?:Z|[+-]\d\d(?::?\d\d)?)$/.exec(text.slice(11))?.[0] ?? "Z";
  if (type.startsWith("timestamp")) {
    const seconds = Date.parse(`${text.slice(0, 10)}T${clock}${toIsoZone(zone)}`) / 1000;
    return String(BigInt(seconds) * 1_000_000n + micros);
  }
  const seconds = Date.parse(`1970-01-01T${clock}Z`) / 1000;
  return String(BigInt(seconds) * 1_000_000n + micros);
}

/** Adds minutes to a zone such as `+00`, as dates in JavaScript need them. */
function toIsoZone(zone: string): string {
  return zone.length === 3 ? `${zone}:00` : zone;
}
