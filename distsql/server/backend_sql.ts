import { isBareNumeric } from "./rules/column_types.ts";
import type { Statement } from "./syntax/statements.ts";
import { child, children, type SyntaxNode } from "./syntax/syntax_tree.ts";

interface Edit {
  readonly at: number;
  readonly length: number;
  readonly text: string;
}

function declaredColumns(statement: Statement): SyntaxNode[] {
  const columns = children(statement.node, "tableElts").map((element) =>
    child(element, "ColumnDef")
  );
  const added = children(statement.node, "cmds").map((command) =>
    child(child(child(command, "AlterTableCmd"), "def"), "ColumnDef")
  );
  return [...columns, ...added];
}

/**
 * Writes numeric without precision as numeric(18,6), which the provider stores, rounding silently.
 */
function numericEdits(statement: Statement): Edit[] {
  return declaredColumns(statement).map((column) => child(column, "typeName")).filter(isBareNumeric)
    .flatMap((type) => {
      const token = statement.tokens.find((found) =>
        found.start === Number(type.location) - statement.start
      );
      return token ? [{ at: token.end, length: 0, text: "(18,6)" }] : [];
    });
}

/**
 * Omits UNIQUE: the index must not fail on duplicates before its job runs. It is made unique in the
 * catalog.
 */
function uniqueEdits(statement: Statement): Edit[] {
  if (statement.type !== "IndexStmt" || !statement.node.unique) return [];
  const token = statement.tokens[1];
  return [{ at: token.start, length: token.end - token.start, text: "" }];
}

/**
 * Converts a statement to the SQL for the PostgreSQL behind the server.
 *
 * @param statement A statement that the rules accept.
 * @returns Its SQL with the provider's silent changes.
 */
export function toBackendSql(statement: Statement): string {
  const edits = [...numericEdits(statement), ...uniqueEdits(statement)].sort((a, b) => b.at - a.at);
  if (edits.length === 0) return statement.sql;
  let bytes = new TextEncoder().encode(statement.sql);
  for (const { at, length, text } of edits) {
    const inserted = new TextEncoder().encode(text);
    const changed = new Uint8Array(bytes.length - length + inserted.length);
    changed.set(bytes.subarray(0, at));
    changed.set(inserted, at);
    changed.set(bytes.subarray(at + length), at + inserted.length);
    bytes = changed;
  }
  return new TextDecoder().decode(bytes);
}
