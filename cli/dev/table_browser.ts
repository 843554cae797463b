import { getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { executeRows } from "../../database/session/execute.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { sql } from "../../database/orm.ts";
import { NotFoundError } from "../../errors/http_errors.ts";
import { redactValue } from "../../observability/redact.ts";
import { REDACTED } from "../../observability/redacted.ts";

/** A table with its row count. */
export interface BrowsedTable {
  readonly schema: string;
  readonly name: string;
  readonly rowCount: number;
}

/** A page of a table's rows. */
export interface BrowsedRows {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Cells as text or null, in the order of the columns. */
  readonly rows: readonly (readonly (string | null)[])[];
  readonly offset: number;
  readonly rowCount: number;
}

/** Rows per page. */
const PAGE_ROWS = 25;

const MAX_TEXT = 500;

/** Lists the tables of a database with their row counts. */
export async function listTables(config: DatabaseConfig): Promise<BrowsedTable[]> {
  const db = await getDrizzleClient(config);
  const tables: BrowsedTable[] = [];
  for (const { schema, name } of await tableNames(db)) {
    tables.push({ schema, name, rowCount: await countRows(db, schema, name) });
  }
  return tables;
}

/**
 * Reads a page of rows in the order of the primary key. Values of sensitive columns are redacted,
 * by the rules of the log.
 *
 * @param schema The table's schema.
 * @param name The table's name.
 * @param offset Number of rows to skip.
 * @throws {NotFoundError} If the table does not exist.
 */
export async function readRows(
  config: DatabaseConfig,
  schema: string,
  name: string,
  offset: number,
): Promise<BrowsedRows> {
  const db = await getDrizzleClient(config);
  // a name is used in a statement only if the catalog contains it
  if (!(await tableNames(db)).some((table) => table.schema === schema && table.name === name)) {
    throw new NotFoundError("The table does not exist");
  }
  const columns = await executeRows<{ name: string; type: string }>(
    db,
    sql`select column_name as name, data_type as type from information_schema.columns
      where table_schema = ${schema} and table_name = ${name} order by ordinal_position`,
  );
  const key = await executeRows<{ name: string }>(
    db,
    sql`select a.attname as name from pg_index i
      join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
      where i.indisprimary and n.nspname = ${schema} and c.relname = ${name} order by a.attnum`,
  );
  const order = key.length === 0
    ? sql.raw("")
    : sql` order by ${sql.join(key.map((column) => sql.identifier(column.name)), sql`, `)}`;
  const found = await executeRows(
    db,
    sql`select * from ${sql.identifier(schema)}.${sql.identifier(name)}${order} limit ${
      sql.raw(String(PAGE_ROWS))
    } offset ${sql.raw(String(Math.max(0, Math.trunc(offset))))}`,
  );
  return {
    columns,
    rows: found.map((row) =>
      columns.map(({ name }) =>
        toText(row[name] !== null && isSensitive(name) ? REDACTED : row[name])
      )
    ),
    offset,
    rowCount: await countRows(db, schema, name),
  };
}

function isSensitive(name: string): boolean {
  return (redactValue({ [name]: "value" }) as Record<string, unknown>)[name] === REDACTED;
}

async function tableNames(db: DrizzleClient): Promise<{ schema: string; name: string }[]> {
  return await executeRows(
    db,
    sql`select table_schema as schema, table_name as name from information_schema.tables
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema', 'sys')
      order by table_schema <> 'public', table_schema, table_name`,
  );
}

async function countRows(db: DrizzleClient, schema: string, name: string): Promise<number> {
  const [{ count }] = await executeRows<{ count: unknown }>(
    db,
    sql`select count(*) as count from ${sql.identifier(schema)}.${sql.identifier(name)}`,
  );
  return Number(count);
}

function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = value instanceof Date
    ? value.toISOString()
    : value instanceof Uint8Array
    ? `\\x${
      Array.from(value.subarray(0, 64), (byte) => byte.toString(16).padStart(2, "0")).join("")
    }`
    : typeof value === "object"
    ? JSON.stringify(value)
    : String(value);
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
