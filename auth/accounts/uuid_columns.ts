import type { Column, Table } from "drizzle-orm";
import { mapValues } from "../../core/lists/map_values.ts";
import { COLUMNS, getColumns, isKind, isTable } from "../../database/session/drizzle_table.ts";
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
  return mapValues(schema, (table) => isTable(table) ? withTextIds(table) : table);
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
  const columns = mapValues(
    getColumns(table),
    (column) => isKind(column, "PgUUID") ? withTextId(column) : column,
  );
  return Object.defineProperties(Object.create(table), {
    ...mapValues(columns, (value) => ({ value })),
    [COLUMNS]: { value: columns },
  });
}

function withTextId(column: Column): Column {
  return Object.create(column, {
    mapToDriverValue: {
      value: (value: unknown) => typeof value === "string" ? toUuid(value) : value,
    },
  });
}
