import type { Query } from "./jobs.ts";
import type { Statement } from "./statements.ts";
import { child, findNodes, getText, type SyntaxNode } from "./syntax_tree.ts";
import { quoteLiteral, quoteName } from "../../sql/quote.ts";

/** Larger tables are not copied; the statement then conflicts immediately. */
const MAX_COPIED_BYTES = 32 * 1024 * 1024;

/** Returns the tables that a statement writes, or whose rows it locks. */
function touchedTables(statement: Statement): readonly SyntaxNode[] {
  if (statement.kind === "lock") return findNodes(statement.node, "RangeVar");
  const writes = ["InsertStmt", "UpdateStmt", "DeleteStmt"].flatMap((type) =>
    findNodes(statement.node, type)
  );
  const all = ["InsertStmt", "UpdateStmt", "DeleteStmt"].includes(statement.type)
    ? [statement.node, ...writes]
    : writes;
  return all.map((node) => child(node, "relation"));
}

/**
 * Creates temporary copies that shadow the tables of a statement, so that it can run without
 * waiting for rows that another transaction has changed.
 *
 * The provider lets both writers' statements succeed and fails one COMMIT; PostgreSQL lets the
 * second writer wait. In the copies the second writer sees its own snapshot and gets its normal
 * result; its transaction can no longer commit.
 *
 * @param query Runs SQL in the transaction.
 * @param statement The statement that met a lock.
 * @param shadowed Names that already have a copy; updated.
 * @returns True if every table has a copy now: qualified names, views and large tables get none.
 */
export async function shadowTables(
  query: Query,
  statement: Statement,
  shadowed: Set<string>,
): Promise<boolean> {
  for (const table of touchedTables(statement)) {
    const name = getText(table, "relname");
    if (table.schemaname) return false;
    if (shadowed.has(name)) continue;
    const quoted = quoteName(name);
    const [row] = await query(
      `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN ` +
        `pg_namespace n ON n.oid = c.relnamespace ` +
        `WHERE c.oid = to_regclass(${quoteLiteral(quoted)}) AND c.relkind = 'r' ` +
        `AND pg_table_size(c.oid) <= ${MAX_COPIED_BYTES}`,
    );
    if (!row) return false;
    await query(
      `CREATE TEMP TABLE ${quoted} (LIKE ${row[0]} INCLUDING ALL EXCLUDING GENERATED) ` +
        "ON COMMIT DROP; " +
        `INSERT INTO pg_temp.${quoted} OVERRIDING SYSTEM VALUE SELECT * FROM ${row[0]}`,
    );
    shadowed.add(name);
  }
  return true;
}
