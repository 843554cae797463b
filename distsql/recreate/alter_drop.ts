import { getName } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import type { ActionOf } from "../syntax/alter_action.ts";
import { findColumn, findConstraint } from "./alter_constraint.ts";
import { isSameSet, parseForeignKey, referencesItself } from "../schema/foreign_key.ts";
import { createStatementError } from "./recreation_error.ts";
import type { IncomingForeignKey, TableConstraint, TableSchema } from "../schema/table_schema.ts";

/**
 * Applies DROP COLUMN. Indexes and constraints of the column are dropped with it, other dependent
 * objects only with CASCADE.
 */
export function dropColumn(
  schema: TableSchema,
  { name, isGuarded, cascades }: ActionOf<"drop_column">,
): void {
  if (isGuarded && !schema.columns.some((column) => column.name === name)) return;
  removeColumn(schema, name, cascades);
}

function removeColumn(schema: TableSchema, name: string, cascades: boolean): void {
  const column = findColumn(schema, name);
  const users = schema.columns.filter((one) =>
    one !== column && one.generated !== undefined && usesName(one.generated.expression, name)
  );
  if (users.length > 0 && !cascades) {
    throw createStatementError(
      schema,
      `column ${JSON.stringify(users[0].name)} is generated from ` +
        `${JSON.stringify(name)}: drop it first`,
    );
  }
  for (const user of users) removeColumn(schema, user.name, true);
  const foreign = (schema.referencedBy ?? []).filter((one) =>
    one.references?.columns.includes(column.source ?? name)
  );
  if (foreign.length > 0 && !cascades) {
    throw createStatementError(
      schema,
      `${foreign[0].from.table} references ${JSON.stringify(name)} ` +
        `(${foreign[0].name}): drop that constraint first`,
    );
  }
  removeIncoming(schema, foreign);
  const own = schema.constraints.find((one) =>
    !one.columns.includes(name) && ownTargets(schema, one).includes(name)
  );
  if (own !== undefined && !cascades) {
    throw createStatementError(
      schema,
      `${own.name} of the same table references ${JSON.stringify(name)}: drop that constraint ` +
        "first",
    );
  }
  schema.columns.splice(schema.columns.indexOf(column), 1);
  schema.constraints = schema.constraints.filter((one) =>
    !one.columns.includes(name) && !ownTargets(schema, one).includes(name)
  );
  schema.indexes = schema.indexes.filter((one) => !one.columns.includes(name));
  schema.sequences = schema.sequences?.filter((one) => one.column !== name);
  schema.grants = schema.grants?.filter((one) => one.column !== name);
}

function removeIncoming(schema: TableSchema, gone: readonly IncomingForeignKey[]): void {
  if (gone.length > 0) {
    schema.referencedBy = schema.referencedBy?.filter((one) => !gone.includes(one));
  }
}

/** Returns the columns that a foreign key within the table references. */
function ownTargets(schema: TableSchema, { type, definition }: TableConstraint): string[] {
  if (type !== "foreign_key") return [];
  const parts = parseForeignKey(definition);
  return referencesItself(parts, schema) ? parts.targets : [];
}

function usesName(text: string, name: string): boolean {
  const reader = parseStatement(text);
  for (let at = 0; at < reader.size; at++) {
    if (reader.isName(at) && getName(reader.token(at)!) === name) return true;
  }
  return false;
}

/** Applies DROP CONSTRAINT. Foreign keys that depend on a key are dropped only with CASCADE. */
export function dropConstraint(
  schema: TableSchema,
  { name, isGuarded, cascades }: ActionOf<"drop_constraint">,
): void {
  const found = schema.constraints.find((one) => one.name === name);
  if (found === undefined) {
    const column = schema.columns.find((one) => one.notNullName === name);
    if (column !== undefined) {
      column.notNull = false;
      delete column.notNullName;
    } else if (!isGuarded) findConstraint(schema, name);
    return;
  }
  schema.constraints.splice(schema.constraints.indexOf(found), 1);
  const isKey = found.type === "primary_key" || found.type === "unique";
  if (isKey && cascades) removeDependents(schema, found);
}

/** Removes the foreign keys that reference a dropped key. */
function removeDependents(schema: TableSchema, key: TableConstraint): void {
  const sources = key.columns.map((name) =>
    schema.columns.find((one) => one.name === name)?.source ?? name
  );
  const dependsOn = (
    targets: readonly string[],
    columns: readonly string[],
    index: string | undefined,
  ): boolean => index === undefined ? isSameSet(targets, columns) : index === key.name;
  removeIncoming(
    schema,
    (schema.referencedBy ?? []).filter(({ references: to }) =>
      dependsOn(to?.columns ?? [], sources, to?.index)
    ),
  );
  schema.constraints = schema.constraints.filter((one) => {
    const targets = ownTargets(schema, one);
    return targets.length === 0 || !dependsOn(targets, key.columns, one.references?.index);
  });
}
