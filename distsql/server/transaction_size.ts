import type { Query } from "./jobs.ts";

/** Returns SQL for the size of a column: bytes as stored, everything else as text, uncompressed. */
function weight(expression: string, type: string): string {
  return `coalesce(octet_length(${type === "bytea" ? expression : `(${expression})::text`}), 0)`;
}

/**
 * Measures the rows and index entries that the open transaction has written.
 *
 * Every visible row whose xmin is not older than the transaction's id belongs to it, because the
 * snapshot was taken before the id was assigned.
 *
 * @param query Runs SQL in the transaction as the superuser.
 * @returns Bytes.
 */
export async function measureTransaction(query: Query): Promise<number> {
  const columns = await query(
    `SELECT s.relid::regclass, quote_ident(a.attname), format_type(a.atttypid, NULL)
     FROM pg_stat_xact_user_tables s JOIN pg_attribute a ON a.attrelid = s.relid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE s.n_tup_ins + s.n_tup_upd > 0
     UNION ALL
     SELECT s.relid::regclass, '(' || pg_get_indexdef(i.indexrelid, a.attnum, true) || ')', format_type(a.atttypid, NULL)
     FROM pg_stat_xact_user_tables s JOIN pg_index i ON i.indrelid = s.relid
     JOIN pg_attribute a ON a.attrelid = i.indexrelid WHERE s.n_tup_ins + s.n_tup_upd > 0`,
  );
  const weights = new Map<string, string[]>();
  for (const [table, expression, type] of columns) {
    const list = weights.get(table ?? "") ?? [];
    list.push(weight(expression ?? "", type ?? ""));
    weights.set(table ?? "", list);
  }
  let bytes = 0;
  for (const [table, list] of weights) {
    const [row] = await query(
      `SELECT coalesce(sum(${list.join(" + ")}), 0) FROM ONLY ${table} ` +
        `WHERE xmin::text::bigint >= pg_current_xact_id()::xid::text::bigint`,
    );
    bytes += Number(row[0]);
  }
  return bytes;
}

/** Returns the bytes of the write-ahead log since a position, which other sessions add to. */
export async function measureWal(query: Query, start: string): Promise<number> {
  const [[logged]] = await query(`SELECT pg_current_wal_insert_lsn() - '${start}'::pg_lsn`);
  return Number(logged);
}

/** Returns the number of rows that the open transaction has changed. */
export async function countChangedRows(query: Query): Promise<number> {
  const [[rows]] = await query(
    "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_user_tables " +
      "WHERE schemaname !~ '^pg_temp'",
  );
  return Number(rows);
}
