import type { RunSql } from "../../sql/session.ts";
import { inRange, keyColumns, type KeyMark, keyTexts, readMark, withoutKey } from "./key_range.ts";
import type { CopiedColumn, CopyKey, RecreationCopy } from "./recreation_plan.ts";
import { quoteName } from "../../sql/quote.ts";

/**
 * Rows per query: enough to make round trips negligible, few enough for the provider's limit of 300
 * s.
 */
const ROWS_PER_QUERY = 50_000;

/**
 * Digest of a table's rows: their number and two sums over 64-bit hashes, independent of their
 * order.
 */
export interface RowDigest {
  /** Number of rows. */
  rows: bigint;
  /** Sums of the hashes. */
  sums: [bigint, bigint];
}

/** Checks whether two tables contain the same rows, including duplicates. */
export function sameRows(a: RowDigest, b: RowDigest): boolean {
  return a.rows === b.rows && a.sums[0] === b.sums[0] && a.sums[1] === b.sums[1];
}

/** Returns SQL for an unambiguous text of a row. */
function rowText(columns: readonly CopiedColumn[], side: "source" | "target"): string {
  if (columns.length === 0) return "''";
  return columns.map(({ name, expression, type, changes, collates }) => {
    const source = changes ? `(${expression})::${type}` : expression;
    const value = side === "target" ? quoteName(name) : source;
    // texts with different collations cannot be concatenated
    return `quote_nullable(${value}::text${collates ? ' COLLATE "C"' : ""})`;
  }).join(" || ',' || ");
}

interface Side {
  /** Table with its alias. */
  from: string;
  text: string;
  key: readonly CopyKey[];
}

/**
 * Computes the digest of the original table, with its values converted for the new table.
 *
 * @param run Runs a statement.
 * @param copy Mapping of rows.
 * @param table The table's current name in SQL.
 * @param alias Name of the table in expressions.
 */
export function digestSource(
  run: RunSql,
  copy: RecreationCopy,
  table: string,
  alias: string,
): Promise<RowDigest> {
  return digest(run, {
    from: `${table} AS ${quoteName(alias)}`,
    text: rowText(copy.columns, "source"),
    key: copy.key,
  });
}

/** Computes the digest of the new table. */
export function digestTarget(run: RunSql, copy: RecreationCopy): Promise<RowDigest> {
  return digest(run, {
    from: copy.target,
    text: rowText(copy.columns, "target"),
    key: copy.targetKey,
  });
}

async function digest(run: RunSql, side: Side): Promise<RowDigest> {
  const { from, key } = side;
  const total: RowDigest = { rows: 0n, sums: [0n, 0n] };
  const nulls = withoutKey(key);
  if (key.length === 0) await addRows(run, side, "true", total);
  else if (nulls !== undefined) await addRows(run, side, nulls, total);
  for (let mark: KeyMark | null = null; key.length > 0;) {
    const [row]: Record<string, unknown>[] = await run(
      `SELECT ${keyTexts(key)} FROM ${from} WHERE ${inRange(key, mark, null)} ` +
        `ORDER BY ${keyColumns(key)} OFFSET ${ROWS_PER_QUERY - 1} LIMIT 1`,
    );
    const bound: KeyMark | null = row === undefined ? null : readMark(key, row);
    await addRows(run, side, inRange(key, mark, bound), total);
    if (bound === null) break;
    mark = bound;
  }
  return total;
}

async function addRows(
  run: RunSql,
  { from, text }: Side,
  where: string,
  total: RowDigest,
): Promise<void> {
  const [row] = await run(
    `SELECT count(*)::text AS rows, coalesce(sum(hashtextextended(t, 0)), 0)::text AS a, ` +
      `coalesce(sum(hashtextextended(t, 1)), 0)::text AS b FROM (SELECT ` +
      `${text} AS t FROM ${from} WHERE ${where}) AS texts`,
  );
  total.rows += BigInt(String(row.rows));
  total.sums[0] += BigInt(String(row.a));
  total.sums[1] += BigInt(String(row.b));
}
