import { deriveName, getName, readName } from "../../sql/sql_name.ts";
import { splitStatements } from "../../sql/statement.ts";
import { parseStatement, StatementReader } from "../../sql/statement_reader.ts";
import {
  addConstraint,
  changeColumn,
  keysFirst,
  ownTargets,
  type PendingConstraint,
  readColumnConstraints,
  readConstraint,
  readNewColumn,
  removeColumn,
  renameColumn,
  renameIn,
  takeOverIndex,
} from "../schema/change_table.ts";
import { isSameSet } from "../schema/foreign_key.ts";
import { chooseName } from "../schema/names.ts";
import { normalizeType } from "../schema/normalize_type.ts";
import type {
  IncomingForeignKey,
  TableColumn,
  TableConstraint,
  TableSchema,
} from "../schema/table_schema.ts";
import {
  type ActionOf,
  type AlterAction,
  inRunOrder,
  readAlterActions,
} from "../syntax/alter_action.ts";
import { type ColumnDefinition, SERIAL } from "../syntax/column_definition.ts";
import { readNotNullCheck } from "../syntax/not_null_check.ts";
import { asyncTableAt } from "../syntax/statement_table.ts";
import { createStatementError } from "./recreation_error.ts";

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
  const change: TableChange = { schema, reader, convertsAlways, pending: [] };
  for (const action of inRunOrder(actions)) applyAction(change, action);
  addPending(change);
  return schema;
}

/** Table that an ALTER TABLE changes. */
interface TableChange {
  /** The table; changed in place. */
  readonly schema: TableSchema;
  /** The statement. */
  readonly reader: StatementReader;
  /** True if USING also converts values whose type stays the same. */
  readonly convertsAlways: boolean;
  /** Constraints that are added after the columns. */
  readonly pending: PendingConstraint[];
}

function applyAction(change: TableChange, action: AlterAction): void {
  const { schema, reader } = change;
  switch (action.kind) {
    case "add_column":
      return addColumn(change, action);
    case "add_constraint":
      return readAddedConstraint(change, action);
    case "drop_column":
      return dropColumn(schema, action);
    case "drop_constraint":
      return dropConstraint(schema, action);
    case "alter_column":
      return alterColumn(change, action);
    case "rename_column": {
      const column = findColumn(schema, action.name);
      assertNewColumn(schema, action.newName);
      if (column.added !== true) column.source ??= action.name;
      return renameColumn(schema, action.name, action.newName);
    }
    case "rename_constraint":
      findConstraint(schema, action.name).name = action.newName;
      return;
    case "validate":
      addPending(change);
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

function findColumn(schema: TableSchema, name: string): TableColumn {
  const column = schema.columns.find((one) => one.name === name);
  if (column === undefined) {
    const names = schema.columns.map((one) => one.name).join(", ");
    throw createStatementError(
      schema,
      `column ${JSON.stringify(name)} does not exist; the table has ${names}`,
    );
  }
  return column;
}

function assertNewColumn(schema: TableSchema, name: string): void {
  if (!schema.columns.some((column) => column.name === name)) return;
  throw createStatementError(schema, `column ${JSON.stringify(name)} already exists`);
}

function findConstraint(schema: TableSchema, name: string): TableConstraint {
  const constraint = schema.constraints.find((one) => one.name === name);
  if (constraint === undefined) {
    const names = schema.constraints.map((one) => one.name).join(", ") || "none";
    throw createStatementError(
      schema,
      `constraint ${JSON.stringify(name)} does not exist; the table has ${names}`,
    );
  }
  return constraint;
}

function addPending({ schema, reader, pending }: TableChange): void {
  for (const one of keysFirst(pending.splice(0))) {
    const { type, columns, name } = one;
    if (type === "primary_key" && schema.constraints.some((other) => other.type === type)) {
      throw createStatementError(
        schema,
        "the table already has a primary key: drop it in the same statement",
      );
    }
    for (const column of columns) findColumn(schema, column);
    const taken = new Set([...schema.constraints, ...schema.indexes].map((other) => other.name));
    if (name !== undefined && taken.has(name)) {
      throw createStatementError(
        schema,
        `a constraint or index ${JSON.stringify(name)} already exists`,
      );
    }
    addConstraint(schema, reader, one, (parts) => chooseName(parts, (name) => taken.has(name)));
  }
}

function readAddedConstraint(
  { schema, reader, pending }: TableChange,
  { constraint }: ActionOf<"add_constraint">,
): void {
  if (constraint.kind === "not_null") {
    const column = findColumn(schema, constraint.columns[0].name);
    column.notNull = true;
    if (constraint.name !== undefined) column.notNullName = constraint.name.name;
    return;
  }
  const one = constraint.usesIndex
    ? takeOverIndex(schema, reader, constraint)
    : readConstraint(reader, constraint);
  if (one !== undefined) return void pending.push(one);
  const { usesIndex, bodyFrom, to } = constraint;
  const index = readName(reader, reader.find("INDEX", bodyFrom, to) + 1).name;
  throw createStatementError(
    schema,
    usesIndex
      ? `${JSON.stringify(index)} is not a unique index over plain columns and all rows`
      : "the constraint to add cannot be parsed",
  );
}

function addColumn(
  { schema, reader, pending }: TableChange,
  { column: definition, isGuarded }: ActionOf<"add_column">,
): void {
  const { name } = definition.name;
  if (isGuarded && schema.columns.some((column) => column.name === name)) return;
  assertNewColumn(schema, name);
  assertParsed(schema, reader, definition);
  const column: TableColumn = { ...readNewColumn(reader, definition), added: true };
  column.type = normalizeType(column.type);
  if (schema.dialect === "distsql" && SERIAL.has(column.type)) {
    column.type = "bigint";
    column.notNull = true;
    column.identity = { always: false, options: "" };
  }
  nameSequence(schema, column);
  schema.columns.push(column);
  pending.push(...readColumnConstraints(reader, definition));
}

/** Names the sequence of a new identity, which is created under the name of the work table. */
function nameSequence(schema: TableSchema, { name, identity }: TableColumn): void {
  if (identity === undefined || /\bSEQUENCE\s+NAME\b/i.test(identity.options)) return;
  identity.name = deriveName(schema.name, name, "seq");
}

function assertParsed(
  schema: TableSchema,
  reader: StatementReader,
  { name: { name }, clauses }: ColumnDefinition,
): void {
  for (const { kind, bodyFrom } of clauses) {
    if (kind === "attribute" || kind === "not_enforced") {
      throw createStatementError(
        schema,
        `${reader.key(bodyFrom)} of column ${JSON.stringify(name)}: write it as a table constraint`,
      );
    }
    const isCollation = reader.is(bodyFrom, "COLLATE") || reader.is(bodyFrom - 1, "COLLATE") ||
      reader.is(bodyFrom, ".") || reader.is(bodyFrom - 1, ".");
    if (kind === "unknown" && !isCollation) {
      throw createStatementError(
        schema,
        `the definition of column ${JSON.stringify(name)} cannot be parsed`,
      );
    }
  }
}

function alterColumn(table: TableChange, action: ActionOf<"alter_column">): void {
  const { schema, reader } = table;
  const { column: { name, end }, change, to } = action;
  const column = findColumn(schema, name);
  if (change === "type") return changeType(column, table, action);
  if (change === "drop_not_null") dropNotNullCheck(schema, column);
  if (change === "add_identity" && (column.identity ?? column.default) !== undefined) {
    throw createStatementError(
      schema,
      `${JSON.stringify(name)} already has a default or is an identity: drop that first`,
    );
  }
  const isKnown = change !== "other" &&
    (change !== "set_expression" || column.generated !== undefined);
  if (isKnown) {
    changeColumn(column, reader, action);
    if (change === "add_identity") nameSequence(schema, column);
    return;
  }
  if (
    reader.is(end, "SET", "GENERATED") && column.identity !== undefined &&
    to === end + (reader.is(end + 2, "BY") ? 4 : 3)
  ) {
    column.identity.always = reader.is(end + 2, "ALWAYS");
  } else if (
    ["STORAGE", "STATISTICS", "COMPRESSION", "("].includes(reader.key(end + 1)) &&
    reader.is(end, "SET")
  ) {
    (column.settings ??= []).push(reader.text(end, to));
  } else refuseAction(schema, reader, end, "ALTER COLUMN ");
}

function refuseAction(
  schema: TableSchema,
  reader: StatementReader,
  at: number,
  lead: "the action " | "ALTER COLUMN ",
): never {
  const words = [reader.key(at), reader.key(at + 1)].filter((word) => /^[A-Z]+$/.test(word));
  throw createStatementError(
    schema,
    `${lead}${
      words.join(" ")
    } cannot be part of a table recreation: run it as a separate statement`,
  );
}

/** Removes the CHECK that the runner has written instead of NOT NULL. */
function dropNotNullCheck(schema: TableSchema, { name }: TableColumn): void {
  const key = schema.constraints.find((one) => one.type === "primary_key");
  if (key?.columns.includes(name)) {
    throw createStatementError(schema, `${JSON.stringify(name)} is part of the primary key`);
  }
  schema.constraints = schema.constraints.filter(({ type, definition }) => {
    const check = type === "check" ? readNotNullCheck(definition) : undefined;
    return check?.column !== name || !check.isOwn;
  });
}

function changeType(
  column: TableColumn,
  { schema, reader, convertsAlways }: TableChange,
  { valueAt: typeAt, to }: ActionOf<"alter_column">,
): void {
  const usingAt = reader.find("USING", typeAt, to);
  const collateAt = reader.find("COLLATE", typeAt, to);
  const typeTo = Math.min(...[usingAt, collateAt, to].filter((at) => at >= 0));
  const type = normalizeType(reader.text(typeAt, typeTo));
  if (type === "") {
    throw createStatementError(
      schema,
      `ALTER COLUMN ${JSON.stringify(column.name)} TYPE names no type`,
    );
  }
  if (column.generated !== undefined && usingAt >= 0) {
    throw createStatementError(
      schema,
      `${JSON.stringify(column.name)} is a generated column: its type change takes no USING`,
    );
  }
  const isSame = type === normalizeType(column.type);
  if (collateAt >= 0) column.collation = readName(reader, collateAt + 1).text;
  else if (!isSame) delete column.collation;
  if (isSame && (usingAt < 0 || !convertsAlways)) return;
  if (usingAt >= 0) {
    if (column.using !== undefined) {
      throw createStatementError(
        schema,
        `the type of ${JSON.stringify(column.name)} changes twice: write it as one change`,
      );
    }
    column.using = onSources(schema, reader.text(usingAt + 1, to));
  } else if (column.using !== undefined) column.using = `(${column.using})::${column.type}`;
  column.type = type;
}

/** Rewrites an expression over the new column names to the table's current names. */
function onSources(schema: TableSchema, expression: string): string {
  let text = expression;
  for (const { name, source } of schema.columns) {
    if (source !== undefined) text = renameIn(text, name, source);
  }
  return text;
}

/**
 * Applies DROP COLUMN. Indexes and constraints of the column are dropped with it, other dependent
 * objects only with CASCADE.
 */
function dropColumn(
  schema: TableSchema,
  { name, isGuarded, cascades }: ActionOf<"drop_column">,
): void {
  if (isGuarded && !schema.columns.some((column) => column.name === name)) return;
  dropWithUsers(schema, name, cascades);
}

function dropWithUsers(schema: TableSchema, name: string, cascades: boolean): void {
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
  for (const user of users) dropWithUsers(schema, user.name, true);
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
  removeColumn(schema, name);
}

function removeIncoming(schema: TableSchema, gone: readonly IncomingForeignKey[]): void {
  if (gone.length > 0) {
    schema.referencedBy = schema.referencedBy?.filter((one) => !gone.includes(one));
  }
}

function usesName(text: string, name: string): boolean {
  const reader = parseStatement(text);
  for (let at = 0; at < reader.size; at++) {
    if (reader.isName(at) && getName(reader.token(at)!) === name) return true;
  }
  return false;
}

/** Applies DROP CONSTRAINT. Foreign keys that depend on a key are dropped only with CASCADE. */
function dropConstraint(
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
