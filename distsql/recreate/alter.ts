import { readName } from "../../sql/sql_name.ts";
import { splitStatements } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { type AlterAction, inRunOrder, readAlterActions } from "../syntax/alter_action.ts";
import { asyncTableAt } from "../syntax/statement_table.ts";
import { addColumn, alterColumn, refuseAction } from "./alter_column.ts";
import { renameColumn } from "./rename_column.ts";
import { addConstraint, findConstraint, type TableChange } from "./alter_constraint.ts";
import { dropColumn, dropConstraint } from "./alter_drop.ts";
import { createStatementError } from "./recreation_error.ts";
import type { TableSchema } from "../schema/table_schema.ts";

/**
 * Returns the table after ALTER TABLE. Runs nothing and does not change the given schema.
 *
 * A change of type keeps USING. If the column already has the type, USING is dropped, so that a
 * repeated statement does not convert the values twice.
 *
 * @param schema The table before.
 * @param stmt One or more ALTER TABLE statements for the table.
 * @returns The table after.
 * @throws {RecreationError} If a statement is not an ALTER TABLE of this table, names an object
 * that does not exist, or makes a change that recreation cannot make.
 *
 * @example
 * ```ts
 * import { applyAlterToSchema } from "@trellis/fn/database";
 *
 * const notes = {
 *   name: "notes",
 *   columns: [{ name: "pages", type: "integer", notNull: false }],
 *   constraints: [],
 *   indexes: [],
 * };
 * const after = applyAlterToSchema(notes, "ALTER TABLE notes ALTER COLUMN pages TYPE bigint, ALTER pages SET NOT NULL");
 * console.log(after.columns[0]); // { name: "pages", type: "bigint", notNull: true }
 * ```
 */
export function applyAlterToSchema(schema: TableSchema, stmt: string): TableSchema {
  return applyAlter(schema, stmt, false);
}

/**
 * Returns the table after ALTER TABLE, like {@link applyAlterToSchema}.
 *
 * @param schema The table before.
 * @param stmt One or more ALTER TABLE statements for the table.
 * @param convertsAlways True to apply USING even if the column already has the type, as in
 * PostgreSQL; for callers that know that the statement was not run before.
 * @returns The table after.
 */
export function applyAlter(
  schema: TableSchema,
  stmt: string,
  convertsAlways: boolean,
): TableSchema {
  let result = structuredClone(schema);
  const statements = splitStatements(stmt);
  if (statements.length === 0) {
    throw createStatementError(schema, "there is no statement: give an ALTER TABLE");
  }
  for (const { tokens } of statements) {
    result = applyStatement(result, new StatementReader(tokens), convertsAlways);
  }
  return result;
}

function applyStatement(
  schema: TableSchema,
  reader: StatementReader,
  convertsAlways: boolean,
): TableSchema {
  if (!reader.is(0, "ALTER", "TABLE")) {
    throw createStatementError(
      schema,
      `${reader.key(0)} ${reader.key(1)} is not an ALTER TABLE, and only ` +
        "that can recreate a table",
    );
  }
  const nameAt = Math.max(asyncTableAt(reader), reader.alteredTableAt());
  const name = readName(reader, nameAt);
  if (name.name !== schema.name) {
    throw createStatementError(schema, `the statement is for table ${JSON.stringify(name.path)}`);
  }
  const actions = readAlterActions(reader, nameAt);
  if (actions.length === 0) throw createStatementError(schema, "the statement has no action");
  const table = { schema, reader, convertsAlways };
  for (const action of inRunOrder(actions)) applyAction(table, action);
  return schema;
}

function applyAction(table: TableChange, action: AlterAction): void {
  const { schema, reader } = table;
  switch (action.kind) {
    case "add_column":
      return addColumn(table, action);
    case "add_constraint":
      return addConstraint(table, action.constraint);
    case "drop_column":
      return dropColumn(schema, action);
    case "drop_constraint":
      return dropConstraint(schema, action);
    case "alter_column":
      return alterColumn(table, action);
    case "rename_column":
      return renameColumn(schema, action.name, action.newName);
    case "rename_constraint":
      findConstraint(schema, action.name).name = action.newName;
      return;
    case "validate":
      findConstraint(schema, action.constraint.name).validated = true;
      return;
    case "other":
      if (reader.is(action.from, "OWNER", "TO")) {
        const owner = readName(reader, action.from + 2).name;
        if (SESSION_ROLES.has(owner)) break;
        for (const grant of schema.grants ?? []) {
          if (grant.grantee === schema.owner) grant.grantee = owner;
        }
        schema.owner = owner;
        return;
      }
  }
  refuseAction(schema, reader, action.from, "the action ");
}

const SESSION_ROLES: ReadonlySet<string> = new Set([
  "current_user",
  "session_user",
  "current_role",
]);
