import type { PGlite } from "@electric-sql/pglite";
import { qualify, quoteName } from "../../sql/quote.ts";
import { type CatalogTable, getLabel, quoteTable } from "../schema_migration/catalog.ts";
import { readCatalog } from "../schema_migration/read_catalog.ts";
import { count } from "../terminal/generated_report.ts";

/** Rows of a table that are left to copy. */
interface Copy {
  readonly table: CatalogTable;
  readonly columns: readonly string[];
  rows: readonly string[];
  /** The number of rows that were left out because another row has their key. */
  duplicates: number;
  /** Why the first row that does not fit was refused. */
  reason?: string;
}

const BATCH_ROWS = 500;

/**
 * Copies the rows of an embedded database into one with another schema, as far as they fit: tables
 * and columns that both have. Rows that migrations have inserted stay as they are.
 *
 * @param from The database with the rows.
 * @param to The migrated database without other rows than those of its migrations.
 * @returns What was not copied, one sentence each, without values.
 */
export async function copyRows(from: PGlite, to: PGlite): Promise<string[]> {
  const { tables: before } = await readCatalog(from);
  const { tables: after } = await readCatalog(to);
  const lost: string[] = [];
  const copies: Copy[] = [];
  for (const table of before) {
    const target = after.find(({ schema, name }) => schema === table.schema && name === table.name);
    const rowCount = await countRows(from, table);
    if (rowCount === 0) continue;
    if (target === undefined) {
      lost.push(`${getLabel(table)}: ${count(rowCount, "row")}, because the table is gone`);
    } else if (!hasUniqueKey(target) && await countRows(to, target) > 0) {
      lost.push(
        `${getLabel(table)}: ${
          count(rowCount, "row")
        }, because migrations fill the table and it has no key`,
      );
    } else {
      copies.push(await readCopy(from, table, target));
      lost.push(...await findLostValues(from, table, target));
    }
  }
  const setTriggers = (word: string) =>
    to.exec(
      copies.map(({ table }) => `ALTER TABLE ${quoteTable(table)} ${word} TRIGGER USER;`).join(""),
    );
  await setTriggers("DISABLE");
  await copyInOrder(to, copies);
  await setTriggers("ENABLE");
  for (const { table, rows, reason, duplicates } of copies) {
    const name = getLabel(table);
    if (rows.length > 0) lost.push(`${name}: ${count(rows.length, "row")} (${reason})`);
    if (duplicates > 0) {
      lost.push(`${name}: ${count(duplicates, "row")}, because another row has their key`);
    }
  }
  await copySequences(from, to);
  const views = await query(
    to,
    "SELECT schemaname AS schema, matviewname AS name FROM pg_matviews",
  );
  for (const view of views) {
    await query(to, `REFRESH MATERIALIZED VIEW ${qualify(String(view.schema), String(view.name))}`);
  }
  return lost;
}

/** Copies until nothing more fits: a row may refer to a row of another table. */
async function copyInOrder(to: PGlite, copies: readonly Copy[]): Promise<void> {
  const countLeft = () => copies.reduce((sum, { rows }) => sum + rows.length, 0);
  for (let left = Infinity; countLeft() > 0 && countLeft() < left;) {
    left = countLeft();
    for (const copy of copies) await insertRows(to, copy);
  }
}

async function insertRows(to: PGlite, copy: Copy): Promise<void> {
  const unfit: string[] = [];
  for (let at = 0; at < copy.rows.length; at += BATCH_ROWS) {
    const batch = copy.rows.slice(at, at + BATCH_ROWS);
    if (await tryInsert(to, copy, batch)) continue;
    for (const row of batch) if (!await tryInsert(to, copy, [row])) unfit.push(row);
  }
  copy.rows = unfit;
}

async function tryInsert(to: PGlite, copy: Copy, rows: readonly string[]): Promise<boolean> {
  const name = quoteTable(copy.table);
  const columns = copy.columns.map(quoteName).join(", ");
  try {
    const [{ total }] = await query(
      to,
      `WITH inserted AS (
        INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns}
          FROM json_populate_recordset(NULL::${name}, $1::json) ON CONFLICT DO NOTHING RETURNING 1
      ) SELECT count(*) AS total FROM inserted`,
      [`[${rows.join(",")}]`],
    );
    copy.duplicates += rows.length - Number(total);
    return true;
  } catch (error) {
    copy.reason = describeError(error);
    return false;
  }
}

/** Describes an error of PostgreSQL without the values that its message may contain. */
function describeError(error: unknown): string {
  const { code, column, constraint } = error as Record<string, string | undefined>;
  return [`SQLSTATE ${code}`, column && `column ${column}`, constraint].filter(Boolean).join(", ");
}

async function readCopy(from: PGlite, table: CatalogTable, target: CatalogTable): Promise<Copy> {
  const stored = new Set(listColumns(target));
  const columns = listColumns(table).filter((column) => stored.has(column));
  const rows = await query(
    from,
    `SELECT row_to_json(t)::text AS row FROM (
      SELECT ${columns.map(quoteName).join(", ")} FROM ONLY ${quoteTable(table)}
    ) t`,
  );
  return { table: target, columns, rows: rows.map(({ row }) => String(row)), duplicates: 0 };
}

async function findLostValues(
  from: PGlite,
  table: CatalogTable,
  target: CatalogTable,
): Promise<string[]> {
  const lost: string[] = [];
  const stored = new Set(target.columns.map(({ name }) => name));
  for (const column of listColumns(table).filter((each) => !stored.has(each))) {
    const [{ total }] = await query(
      from,
      `SELECT count(${quoteName(column)}) AS total FROM ${quoteTable(table)}`,
    );
    if (Number(total) === 0) continue;
    lost.push(
      `${getLabel(table)}.${column}: ${count(Number(total), "value")}, because the column is gone`,
    );
  }
  return lost;
}

/** Continues each sequence where the other database has stopped. */
async function copySequences(from: PGlite, to: PGlite): Promise<void> {
  const used = await query(
    from,
    `SELECT format('%I.%I', schemaname, sequencename) AS name, last_value::text AS last
      FROM pg_sequences WHERE last_value IS NOT NULL`,
  );
  for (const { name, last } of used) {
    await query(
      to,
      `SELECT setval(to_regclass($1), greatest($2::bigint, last_value)) FROM pg_sequences
        WHERE format('%I.%I', schemaname, sequencename) = $1`,
      [String(name), String(last)],
    );
  }
}

async function countRows(database: PGlite, table: CatalogTable): Promise<number> {
  const [{ total }] = await query(
    database,
    `SELECT count(*) AS total FROM ONLY ${quoteTable(table)}`,
  );
  return Number(total);
}

function hasUniqueKey({ rules }: CatalogTable): boolean {
  return rules.some(({ kind, key }) =>
    kind === "primary key" || kind === "unique" || key.startsWith("CREATE UNIQUE ")
  );
}

/** Returns the columns whose values are stored by statements. */
function listColumns({ columns }: CatalogTable): string[] {
  return columns.filter(({ generated }) => generated === null).map(({ name }) => name);
}

async function query(
  database: PGlite,
  text: string,
  params: readonly string[] = [],
): Promise<Record<string, unknown>[]> {
  return (await database.query<Record<string, unknown>>(text, [...params])).rows;
}
