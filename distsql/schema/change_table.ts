import { quoteName } from "../../sql/quote.ts";
import { getName, readName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { TokenEdits } from "../../sql/token_edits.ts";
import type { ActionOf } from "../syntax/alter_action.ts";
import type { ColumnClauseKind, ColumnDefinition } from "../syntax/column_definition.ts";
import { isNotValid, type TableConstraint as Constraint } from "../syntax/table_constraint.ts";
import { hasIndex } from "./declared_schema.ts";
import { columnsNamed } from "./expression_columns.ts";
import {
  formatForeignKey,
  parseForeignKey,
  referencesItself,
  stripNotValid,
} from "./foreign_key.ts";
import { CONSTRAINT_LABELS, type NameParts } from "./names.ts";
import { readPart } from "./read_object.ts";
import type {
  TableColumn,
  TableConstraint,
  TableConstraintType,
  TableIdentity,
  TableSchema,
} from "./table_schema.ts";

/** Constraint of a statement, before it is added to its table. */
export interface PendingConstraint extends Omit<TableConstraint, "name" | "included"> {
  /** Its name, if the statement has one. */
  readonly name?: string;
  /** Columns of INCLUDE. */
  readonly included: readonly string[];
  /** Start of its definition, where `CONSTRAINT name` would be written. */
  readonly at: number;
  /** Start of the definition without its name. */
  readonly from: number;
  /** End of the definition. */
  readonly to: number;
}

/**
 * Parses a table constraint; `undefined` for NOT NULL and for other elements. A foreign key without
 * referenced columns has an empty list. The columns of a CHECK are read when it is added.
 */
export function readConstraint(
  reader: StatementReader,
  constraint: Constraint,
): PendingConstraint | undefined {
  const { kind: type, name, from, bodyFrom, to } = constraint;
  if (type === "not_null" || type === "unknown") return undefined;
  const include = reader.find("INCLUDE", bodyFrom, to);
  return {
    at: from,
    from: bodyFrom,
    to,
    type,
    name: name?.name,
    columns: constraint.columns.map((column) => column.name),
    included: include < 0 ? [] : reader.listIn(include + 1).map(([at]) => readPart(reader, at)),
    validated: !isNotValid(reader, constraint),
    ...define(type, stripNotValid(reader.text(bodyFrom, to))),
  };
}

function define(
  type: TableConstraintType,
  text: string,
  column?: string,
): Pick<TableConstraint, "definition" | "references"> {
  if (type !== "foreign_key") return { definition: text };
  const parts = parseForeignKey(text, column);
  const { schema, table, targets } = parts;
  return { definition: formatForeignKey(parts), references: { schema, table, columns: targets } };
}

const CLAUSE_TYPES: Readonly<Partial<Record<ColumnClauseKind, TableConstraintType>>> = {
  check: "check",
  unique: "unique",
  primary_key: "primary_key",
  references: "foreign_key",
};

/** Parses the constraints in the clauses of a column. */
export function readColumnConstraints(
  reader: StatementReader,
  { name: { name: column }, clauses }: ColumnDefinition,
): PendingConstraint[] {
  return clauses.flatMap(({ kind, name, from, bodyFrom, to }) => {
    const type = CLAUSE_TYPES[kind];
    return type === undefined ? [] : {
      at: from,
      from: bodyFrom,
      to,
      type,
      name: name?.name,
      columns: type === "check" ? [] : [column],
      included: [],
      validated: true,
      ...define(type, writeAsTableConstraint(reader, type, column, [bodyFrom, to]), column),
    };
  });
}

function writeAsTableConstraint(
  reader: StatementReader,
  type: TableConstraintType,
  column: string,
  [from, to]: readonly [number, number],
): string {
  if (!hasIndex(type)) return reader.text(from, to);
  const isPrimary = type === "primary_key";
  const attributes = reader.text(from + (isPrimary ? 2 : 1), to);
  const key = `(${quoteName(column)})`;
  if (isPrimary) return `PRIMARY KEY ${key} ${attributes}`.trim();
  const isDistinctness = /^NULLS\b/i.test(attributes);
  return isDistinctness ? `UNIQUE ${attributes} ${key}` : `UNIQUE ${key} ${attributes}`.trim();
}

/**
 * Adds a constraint to a table, and NOT NULL to the columns of a primary key.
 *
 * @param table Table, which is changed.
 * @param reader Statement of the constraint.
 * @param one The constraint.
 * @param chooseName Returns the name of a constraint that has none.
 * @returns Name of the constraint.
 */
export function addConstraint(
  table: TableSchema,
  reader: StatementReader,
  one: PendingConstraint,
  chooseName: (parts: Omit<NameParts, "schema">) => string,
): string {
  const { type, included, definition, validated, references, from, to } = one;
  const known = new Set(table.columns.map((column) => column.name));
  const columns = type === "check" ? columnsNamed(reader, from + 1, to, known) : one.columns;
  const name = one.name ?? chooseName({
    table: table.name,
    columns: getNameColumns(type, columns, included),
    label: CONSTRAINT_LABELS[type],
  });
  table.constraints.push({
    name,
    type,
    columns,
    definition,
    validated,
    ...included.length === 0 ? {} : { included: [...included] },
    ...references === undefined ? {} : { references },
  });
  if (type === "primary_key") {
    for (const column of table.columns) column.notNull ||= columns.includes(column.name);
  }
  return name;
}

function getNameColumns(
  type: TableConstraintType,
  columns: readonly string[],
  included: readonly string[],
): readonly string[] {
  if (type === "primary_key" || (type === "check" && columns.length > 1)) return [];
  return [...columns, ...included];
}

/** Orders the constraints of an ALTER TABLE as PostgreSQL adds them: those with an index first. */
export function keysFirst(pending: readonly PendingConstraint[]): PendingConstraint[] {
  return pending.toSorted((a, b) => Number(hasIndex(b.type)) - Number(hasIndex(a.type)));
}

/**
 * Removes the index of ADD UNIQUE or PRIMARY KEY USING INDEX from its table.
 *
 * @returns The constraint that replaces it; `undefined` if the table has no unique index of that
 * name over plain columns and all rows.
 */
export function takeOverIndex(
  table: TableSchema,
  reader: StatementReader,
  { kind, name, from, bodyFrom, to }: Constraint,
): PendingConstraint | undefined {
  const written = readName(reader, reader.find("INDEX", bodyFrom, to) + 1);
  const index = table.indexes.find((one) => one.name === written.name);
  if (index === undefined || !index.unique || index.keys === undefined) return undefined;
  table.indexes = table.indexes.filter((one) => one !== index);
  const list = index.definition.slice(index.definition.indexOf("("));
  const [type, words] = kind === "primary_key"
    ? ["primary_key", "PRIMARY KEY"] as const
    : ["unique", "UNIQUE"] as const;
  return {
    at: from,
    from: bodyFrom,
    to,
    type,
    name: name?.name ?? index.name,
    columns: index.keys,
    included: [],
    definition: `${words} ${list} ${reader.text(written.end, to)}`.trim(),
    validated: true,
  };
}

/** Parses the definition of a column, without its constraints. Its type is as written. */
export function readNewColumn(
  reader: StatementReader,
  { name, typeFrom, typeTo, clauses }: ColumnDefinition,
): TableColumn {
  const column: TableColumn = {
    name: name.name,
    type: reader.text(typeFrom, typeTo),
    notNull: false,
  };
  for (const { kind, name, bodyFrom, to } of clauses) {
    switch (kind) {
      case "not_null":
        column.notNull = true;
        if (name !== undefined) column.notNullName = name.name;
        break;
      case "default":
        column.default = reader.text(bodyFrom + 1, to);
        break;
      case "generated": {
        const open = reader.find("(", bodyFrom, to);
        column.generated = {
          expression: reader.text(open + 1, reader.closing(open)),
          stored: reader.key(to - 1) !== "VIRTUAL",
        };
        break;
      }
      case "identity":
        column.identity = readIdentity(reader, bodyFrom, to);
        column.notNull = true;
        break;
      case "storage":
      case "compression":
        (column.settings ??= []).push(`SET ${reader.text(bodyFrom, to)}`);
        break;
      case "unknown":
        if (reader.is(bodyFrom, "COLLATE")) {
          column.collation = readName(reader, bodyFrom + 1).text;
        }
    }
  }
  return column;
}

/** Parses `GENERATED ALWAYS AS IDENTITY (…)`. */
function readIdentity(reader: StatementReader, from: number, to: number): TableIdentity {
  const open = reader.find("(", from, to);
  return {
    always: reader.is(from + 1, "ALWAYS"),
    options: open < 0 ? "" : reader.text(open + 1, reader.closing(open)),
  };
}

/** Applies a change of ALTER COLUMN; ignores a change of the type and of settings. */
export function changeColumn(
  column: TableColumn,
  reader: StatementReader,
  { column: { end }, change, valueAt, to }: ActionOf<"alter_column">,
): void {
  switch (change) {
    case "set_not_null":
      column.notNull = true;
      return;
    case "drop_not_null":
      column.notNull = false;
      delete column.notNullName;
      return;
    case "set_default":
      column.default = reader.text(valueAt, to);
      return;
    case "drop_default":
      delete column.default;
      return;
    case "add_identity":
      column.identity = readIdentity(reader, end + 1, to);
      column.notNull = true;
      return;
    case "drop_identity":
      delete column.identity;
      return;
    case "drop_expression":
      delete column.generated;
      return;
    case "set_expression":
      if (column.generated === undefined) return;
      column.generated.expression = reader.text(valueAt + 2, reader.closing(valueAt + 1));
  }
}

/** Removes a column with its constraints, indexes, sequences and privileges. */
export function removeColumn(table: TableSchema, name: string): void {
  table.columns = table.columns.filter((one) => one.name !== name);
  table.constraints = table.constraints.filter((one) =>
    ![...one.columns, ...one.included ?? [], ...ownTargets(table, one)].includes(name)
  );
  table.indexes = table.indexes.filter((one) => !one.columns.includes(name));
  table.sequences = table.sequences?.filter((one) => one.column !== name);
  table.grants = table.grants?.filter((one) => one.column !== name);
}

/** Returns the columns that a foreign key within the table references. */
export function ownTargets(table: TableSchema, { type, definition }: TableConstraint): string[] {
  if (type !== "foreign_key") return [];
  const parts = parseForeignKey(definition);
  return referencesItself(parts, table) ? parts.targets : [];
}

/** Renames a column of a table, also in all definitions that name it. */
export function renameColumn(table: TableSchema, old: string, name: string): void {
  const rename = (names: readonly string[]): string[] =>
    names.map((one) => one === old ? name : one);
  for (const one of table.columns) {
    if (one.name === old) one.name = name;
    if (one.generated !== undefined) {
      one.generated.expression = renameIn(one.generated.expression, old, name);
    }
  }
  for (const one of table.constraints) {
    if (one.type === "foreign_key") renameForeignKey(table, one, rename);
    else one.definition = renameIn(one.definition, old, name);
    one.columns = rename(one.columns);
    if (one.included !== undefined) one.included = rename(one.included);
  }
  for (const one of table.indexes) {
    one.definition = renameIn(one.definition, old, name);
    one.columns = rename(one.columns);
    if (one.keys !== undefined) one.keys = rename(one.keys);
  }
  for (const one of table.referencedBy ?? []) {
    const parts = parseForeignKey(one.definition);
    one.definition = formatForeignKey({ ...parts, targets: rename(parts.targets) });
    if (one.references !== undefined) one.references.columns = rename(one.references.columns);
  }
  for (const one of table.sequences ?? []) if (one.column === old) one.column = name;
  for (const one of table.grants ?? []) if (one.column === old) one.column = name;
}

function renameForeignKey(
  table: TableSchema,
  one: TableConstraint,
  rename: (names: readonly string[]) => string[],
): void {
  const parts = parseForeignKey(one.definition);
  const targets = referencesItself(parts, table) ? rename(parts.targets) : parts.targets;
  one.definition = formatForeignKey({ ...parts, columns: rename(parts.columns), targets });
  if (one.references !== undefined) one.references.columns = targets;
}

/**
 * Replaces a column's name in an expression. A name before `(` or `.` or after `::` refers to
 * another object.
 */
export function renameIn(text: string, from: string, to: string): string {
  const reader = parseStatement(text);
  const edits = new TokenEdits(reader);
  for (let at = 0; at < reader.size; at++) {
    if (!reader.isName(at) || getName(reader.token(at)!) !== from) continue;
    if (reader.key(at + 1) === "(" || reader.key(at + 1) === "." || reader.key(at - 1) === "::") {
      continue;
    }
    edits.replace(at, at + 1, quoteName(to));
  }
  return edits.isEmpty ? text : edits.apply();
}
