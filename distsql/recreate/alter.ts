import { readName } from "../../sql/sql_name.ts";
import { splitStatements } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { alterPass } from "../syntax/alter_pass.ts";
import { isTableConstraint } from "../syntax/table_constraint.ts";
import { addColumn, alterColumn } from "./alter_column.ts";
import { renameColumn } from "./rename_column.ts";
import { addConstraint, findConstraint, type TableAction } from "./alter_constraint.ts";
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
  const isAsync = reader.is(2, "ASYNC") && reader.isName(3);
  const nameAt = reader.skip(reader.skip(isAsync ? 3 : 2, "IF", "EXISTS"), "ONLY");
  const name = readName(reader, nameAt);
  if (name.name !== schema.name) {
    throw createStatementError(schema, `the statement is for table ${JSON.stringify(name.path)}`);
  }
  const start = reader.skip(name.end, "*");
  const actions = reader.list(start, reader.size);
  if (actions.length === 0) throw createStatementError(schema, "the statement has no action");
  const ordered = actions
    .map(([from, to], place) => ({ from, to, place, pass: alterPass(reader, from) }))
    .sort((a, b) => a.pass - b.pass || a.place - b.place);
  for (const { from, to } of ordered) applyAction({ schema, reader, from, to, convertsAlways });
  return schema;
}

function applyAction(action: TableAction): void {
  const { schema, reader, from } = action;
  const second = reader.key(from + 1);
  switch (reader.key(from)) {
    case "ADD":
      return isTableConstraint(reader, from + 1) ? addConstraint(action) : addColumn(action);
    case "DROP":
      return second === "CONSTRAINT" ? dropConstraint(action) : dropColumn(action);
    case "ALTER":
      if (second !== "CONSTRAINT") return alterColumn(action);
      break;
    case "RENAME":
      if (second === "CONSTRAINT") {
        const old = readName(reader, from + 2);
        findConstraint(schema, old.name).name = readName(reader, old.end + 1).name;
        return;
      }
      if (second !== "TO") return renameColumn(schema, reader, from);
      break;
    case "VALIDATE":
      findConstraint(schema, readName(reader, from + 2).name).validated = true;
      return;
    case "OWNER": {
      const owner = readName(reader, from + 2).name;
      if (["current_user", "session_user", "current_role"].includes(owner)) break;
      for (const grant of schema.grants ?? []) {
        if (grant.grantee === schema.owner) grant.grantee = owner;
      }
      schema.owner = owner;
      return;
    }
  }
  const words = [reader.key(from), reader.key(from + 1)].filter((word) => /^[A-Z]+$/.test(word))
    .join(" ");
  throw createStatementError(
    schema,
    `the action ${words} cannot be part of a table recreation: run it as a separate statement`,
  );
}
