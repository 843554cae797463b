import type { DrizzleClient } from "../providers/provider.ts";
import { inRange, keyColumns, type KeyMark, keyTexts, readMark, withoutKey } from "./key_range.ts";
import type { CopiedColumn, CopyKey, RecreationCopy } from "./recreation_plan.ts";
import { quoteName } from "./sql_text.ts";
import { runSql } from "./work_table.ts";

/** Rows that one query reads: enough that the round trips do not count, few enough for the provider's 300 s. */
const ROWS_PER_QUERY = 50_000;

/** What a table holds: how many rows, and two sums over 64-bit hashes of them. The order of the rows does not matter. */
export interface RowDigest {
  /** How many. */
  rows: bigint;
  /** The sums. */
  sums: [bigint, bigint];
}

/** Whether two tables hold the same rows, each as often. */
export function sameRows(a: RowDigest, b: RowDigest): boolean {
  return a.rows === b.rows && a.sums[0] === b.sums[0] && a.sums[1] === b.sums[1];
}

/** The row as one text in which no two rows look the same. */
function rowText(columns: readonly CopiedColumn[], side: "source" | "target"): string {
  if (columns.length === 0) return "''";
  return columns.map(({ name, expression, type, changes, collates }) => {
    const value = side === "target"
      ? quoteName(name)
      : changes
      ? `(${expression})::${type}`
      : expression;
    // texts of different collations cannot be joined
    return `quote_nullable(${value}::text${collates ? ' COLLATE "C"' : ""})`;
  }).join(" || ',' || ");
}

interface Side {
  /** FROM and its alias. */
  from: string;
  text: string;
  key: readonly CopyKey[];
}

/**
 * Digests the table as it is, its values as the new table has them.
 *
 * @param db A client.
 * @param copy How rows get across.
 * @param table The table's name in SQL; it changes on the way.
 * @param alias The name that expressions know it by.
 */
export function digestSource(
  db: DrizzleClient,
  copy: RecreationCopy,
  table: string,
  alias: string,
): Promise<RowDigest> {
  return digest(db, {
    from: `${table} AS ${quoteName(alias)}`,
    text: rowText(copy.columns, "source"),
    key: copy.key,
  });
}

/** Digests the new table. */
export function digestTarget(db: DrizzleClient, copy: RecreationCopy): Promise<RowDigest> {
  return digest(db, {
    from: copy.target,
    text: rowText(copy.columns, "target"),
    key: copy.targetKey,
  });
}

async function digest(db: DrizzleClient, side: Side): Promise<RowDigest> {
  const { from, key } = side;
  const total: RowDigest = { rows: 0n, sums: [0n, 0n] };
  const nulls = withoutKey(key);
  if (key.length === 0) await addRows(db, side, "true", total);
  else if (nulls !== undefined) await addRows(db, side, nulls, total);
  for (let mark: KeyMark | null = null; key.length > 0;) {
    const [row]: Record<string, unknown>[] = await runSql(
      db,
      `SELECT ${keyTexts(key)} FROM ${from} WHERE ${inRange(key, mark, null)} ORDER BY ${
        keyColumns(key)
      } ` +
        `OFFSET ${ROWS_PER_QUERY - 1} LIMIT 1`,
    );
    const bound: KeyMark | null = row === undefined ? null : readMark(key, row);
    await addRows(db, side, inRange(key, mark, bound), total);
    if (bound === null) break;
    mark = bound;
  }
  return total;
}

async function addRows(
  db: DrizzleClient,
  { from, text }: Side,
  where: string,
  total: RowDigest,
): Promise<void> {
  const [row] = await runSql(
    db,
    `SELECT count(*)::text AS rows, coalesce(sum(hashtextextended(t, 0)), 0)::text AS a, ` +
      `coalesce(sum(hashtextextended(t, 1)), 0)::text AS b FROM (SELECT ${text} AS t FROM ${from} WHERE ${where}) AS texts`,
  );
  total.rows += BigInt(String(row.rows));
  total.sums[0] += BigInt(String(row.a));
  total.sums[1] += BigInt(String(row.b));
}
