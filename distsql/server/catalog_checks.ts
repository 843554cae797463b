import type { Query } from "./jobs.ts";
import { SqlError } from "./sql_error.ts";
import type { Statement } from "./statements.ts";
import { child, children, getText, relationName, type SyntaxNode } from "./syntax_tree.ts";
import { quoteLiteral } from "../../sql/quote.ts";

function getActions(statement: Statement, subtype: string): SyntaxNode[] {
  return children(statement.node, "cmds").map((command) => child(command, "AlterTableCmd"))
    .filter((action) => getText(action, "subtype") === subtype);
}

function getNames(statement: Statement, subtype: string): string[] {
  return getActions(statement, subtype).map((action) => getText(action, "name"));
}

/**
 * Rejects an ALTER TABLE by the state of the table: dropping its primary key or one of its columns,
 * and an identity for a column that is not bigint (EMU 2026-09-18, AT; the text for a constraint is
 * inferred).
 */
export async function checkAgainstCatalog(statement: Statement, query: Query): Promise<void> {
  if (statement.type !== "AlterTableStmt") return;
  const columns = getNames(statement, "AT_DropColumn");
  const constraints = getNames(statement, "AT_DropConstraint");
  const identities = getNames(statement, "AT_AddIdentity");
  if (columns.length + constraints.length + identities.length === 0) return;
  const table = `to_regclass(${quoteLiteral(relationName(child(statement.node, "relation")))})`;
  const keys = await query(
    `SELECT a.attname, c.conname FROM pg_constraint c JOIN ` +
      `pg_attribute a ON a.attrelid = c.conrelid ` +
      `AND a.attnum = ANY (c.conkey) WHERE c.contype = 'p' AND c.conrelid = ${table}`,
  );
  for (const [column, constraint] of keys) {
    if (columns.includes(column ?? "")) refuse(`cannot drop primary key column ${column}`);
    if (constraints.includes(constraint ?? "")) {
      refuse("unsupported ALTER TABLE DROP CONSTRAINT statement");
    }
  }
  for (const column of identities) {
    const [[type] = []] = await query(
      `SELECT format_type(atttypid, NULL) FROM pg_attribute ` +
        `WHERE attrelid = ${table} AND attname = ${quoteLiteral(column)}`,
    );
    if (type && type !== "bigint") {
      refuse(`datatype ${type} not supported, identity column type must be bigint`);
    }
  }
}

function refuse(message: string): never {
  throw new SqlError("0A000", message);
}
