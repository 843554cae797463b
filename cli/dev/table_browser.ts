import type { PGlite } from "@electric-sql/pglite";
import { getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { executeRows } from "../../database/session/execute.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { sql } from "../../database/orm.ts";
import { NotFoundError, ValidationError } from "../../errors/http_errors.ts";
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
  readonly columns: readonly BrowsedColumn[];
  /** Cells as text or null, in the order of the columns. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** The key of each row, for `changeRow`; omitted if a column of the key is redacted or there is none. */
  readonly keys?: readonly Readonly<Record<string, string>>[];
  readonly offset: number;
  readonly rowCount: number;
}

/** A column of a table. */
export interface BrowsedColumn {
  readonly name: string;
  /** The type as PostgreSQL prints it. */
  readonly type: string;
  /** True if the values are shown and can be changed. */
  readonly isEditable: boolean;
}

/** A new value of a cell. */
export interface RowChange {
  /** Texts of the columns of the primary key. */
  readonly key: Readonly<Record<string, string>>;
  readonly column: string;
  /** The text as PostgreSQL reads it. */
  readonly value: string | null;
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
  const { columns, key } = await findTable(db, schema, name);
  // qualified: a name alone would be the text of the column
  const order = key.length === 0
    ? sql.raw("")
    : sql` order by ${sql.join(key.map((column) => sql`t.${sql.identifier(column)}`), sql`, `)}`;
  const cells = columns.map((column) =>
    sql`t.${sql.identifier(column.name)}::text as ${sql.identifier(column.name)}`
  );
  const limit = sql.raw(`limit ${PAGE_ROWS} offset ${Math.max(0, Math.trunc(offset))}`);
  const found = await executeRows<Record<string, string | null>>(
    db,
    sql`select ${sql.join(cells, sql`, `)} from ${sql.identifier(schema)}.${
      sql.identifier(name)
    } t${order} ${limit}`,
  );
  const hasKey = key.length > 0 && !key.some(isSensitive);
  return {
    columns,
    rows: found.map((row) => columns.map((column) => toCell(column.name, row[column.name]))),
    ...hasKey && {
      keys: found.map((row) => Object.fromEntries(key.map((each) => [each, String(row[each])]))),
    },
    offset,
    rowCount: await countRows(db, schema, name),
  };
}

/**
 * Changes one value of a row.
 *
 * @param schema The table's schema.
 * @param name The table's name.
 * @throws {NotFoundError} If the table has no such row, or the column cannot be changed.
 * @throws {ValidationError} If PostgreSQL refuses the value.
 */
export async function changeRow(
  config: DatabaseConfig,
  schema: string,
  name: string,
  change: RowChange,
): Promise<{ readonly value: string | null }> {
  const db = await getDrizzleClient(config);
  const { columns, key } = await findTable(db, schema, name);
  const column = columns.find((each) => each.name === change.column);
  if (column?.isEditable !== true || key.length === 0) {
    throw new NotFoundError("The value cannot be changed here");
  }
  const conditions = key.map((each) =>
    sql`${sql.identifier(each)}::text = ${change.key[each] ?? null}`
  );
  const rows = await executeRows<{ value: string | null }>(
    db,
    sql`update ${sql.identifier(schema)}.${sql.identifier(name)}
      set ${sql.identifier(column.name)} = ${change.value}::text::${sql.raw(column.type)}
      where ${sql.join(conditions, sql` and `)} returning ${
      sql.identifier(column.name)
    }::text as value`,
  ).catch(toRefusal);
  if (rows.length === 0) throw new NotFoundError("The row does not exist any more");
  return { value: toCell(column.name, rows[0].value) };
}

/** Throws PostgreSQL's reason why it refuses a value as a ValidationError, and other errors as they are. */
function toRefusal(error: unknown): never {
  const { code, message } = Object((error as Error).cause ?? error) as {
    readonly code?: unknown;
    readonly message?: string;
  };
  // data exceptions and violated constraints
  if (/^2[23]/.test(String(code))) throw new ValidationError(message ?? "", { cause: error });
  throw error;
}

/**
 * Returns the plan that PostgreSQL chooses for a statement without knowing its values. Does not run it.
 *
 * @param text The statement with placeholders.
 */
export async function explainStatement(config: DatabaseConfig, text: string): Promise<string> {
  const db = await getDrizzleClient(config) as DrizzleClient & { readonly $client: PGlite };
  const [{ rows }] = await db.$client.exec(`EXPLAIN (GENERIC_PLAN) ${text}`);
  return rows.map((row) => String(row["QUERY PLAN"])).join("\n");
}

/** Finds a table in the catalog: a name is used in a statement only if the catalog has it. */
async function findTable(
  db: DrizzleClient,
  schema: string,
  name: string,
): Promise<{ readonly columns: readonly BrowsedColumn[]; readonly key: readonly string[] }> {
  const known = await tableNames(db);
  if (!known.some((table) => table.schema === schema && table.name === name)) {
    throw new NotFoundError("The table does not exist");
  }
  const columns = await executeRows<{ name: string; type: string; iskey: boolean; kind: string }>(
    db,
    sql`select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
        a.attgenerated::text || a.attidentity::text as kind, exists (select 1 from pg_index i
          where i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey)) as iskey
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where n.nspname = ${schema} and c.relname = ${name} order by a.attnum`,
  );
  return {
    columns: columns.map((column) => ({
      name: column.name,
      type: column.type,
      isEditable: !column.iskey && column.kind === "" && !isSensitive(column.name),
    })),
    key: columns.filter(({ iskey }) => iskey).map((column) => column.name),
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

function toCell(column: string, text: string | null): string | null {
  if (text === null) return null;
  if (isSensitive(column)) return REDACTED;
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
