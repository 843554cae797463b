import type { Column, Table } from "drizzle-orm";
import { COLUMNS, getColumns, isTable } from "../../database/drizzle_table.ts";
import { isKind } from "../../database/entity_kind.ts";
import { builtinModule } from "../../env/builtin_module.ts";
import { UnexpectedError } from "../../errors/http_errors.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Returns the tables with `uuid` columns that accept any text. better-auth makes some ids from a
 * hash, such as those of reservations in `verification`, and passes ids of requests to the database
 * unchecked. PostgreSQL rejects such a value with an error. These columns store and search a UUID
 * that is derived from the text, so that an unknown id is not found instead.
 *
 * @param schema Tables by model name. They are not changed.
 * @returns Tables for better-auth's adapter.
 */
export function acceptTextAsUuid(
  schema: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).map(([model, table]) => [
      model,
      isTable(table) ? withTextIds(table) : table,
    ]),
  );
}

interface Client {
  readonly _?: { readonly fullSchema?: Readonly<Record<string, unknown>> };
  transaction?(run: (tx: object) => unknown, ...options: unknown[]): unknown;
}

/**
 * Returns a client whose schema has other tables. better-auth finds the relations of a table by the
 * identity of the table in the client's schema.
 *
 * @param db The client.
 * @param tables Tables by model name.
 * @param replaced The tables in their place.
 * @returns A view of the client.
 */
export function withTables<T extends object>(
  db: T,
  tables: Readonly<Record<string, unknown>>,
  replaced: Readonly<Record<string, unknown>>,
): T {
  const byTable = new Map(Object.keys(tables).map((model) => [tables[model], replaced[model]]));
  return new Proxy(db, {
    get(target, key): unknown {
      const { _: internals, transaction } = target as Client;
      if (key === "_" && internals?.fullSchema !== undefined) {
        const entries = Object.entries(internals.fullSchema);
        const fullSchema = entries.map(([name, table]) => [name, byTable.get(table) ?? table]);
        return { ...internals, fullSchema: Object.fromEntries(fullSchema) };
      }
      if (key === "transaction" && transaction !== undefined) {
        return (run: (tx: object) => unknown, ...options: unknown[]) =>
          transaction.call(target, (tx) => run(withTables(tx, tables, replaced)), ...options);
      }
      return Reflect.get(target, key);
    },
  });
}

/**
 * Converts a text to a UUID. A UUID is returned unchanged. Any other text results in a UUID of
 * version 8 (RFC 9562, section 5.8) from its SHA-256.
 *
 * @throws {UnexpectedError} If the runtime has no `node:crypto`.
 */
export function toUuid(text: string): string {
  if (UUID.test(text)) return text;
  const crypto = builtinModule("node:crypto");
  // Web Crypto hashes asynchronously, and drizzle encodes values synchronously
  if (crypto === undefined) throw new UnexpectedError("better-auth's ids need node:crypto");
  const bytes = crypto.createHash("sha256").update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6] & 0x0f) | 0x80;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function withTextIds(table: Table): Table {
  const columns = Object.entries(getColumns(table)).map(([property, column]) =>
    [property, isKind(column, "PgUUID") ? withTextId(column) : column] as const
  );
  return Object.defineProperties(Object.create(table), {
    ...Object.fromEntries(columns.map(([property, value]) => [property, { value }])),
    [COLUMNS]: { value: Object.fromEntries(columns) },
  });
}

function withTextId(column: Column): Column {
  return Object.create(column, {
    mapToDriverValue: {
      value: (value: unknown) => typeof value === "string" ? toUuid(value) : value,
    },
  });
}
