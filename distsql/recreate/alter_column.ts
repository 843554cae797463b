import type { ActionOf } from "../syntax/alter_action.ts";
import { type ColumnClause, SERIAL } from "../syntax/column_definition.ts";
import { readNotNullCheck } from "../syntax/not_null_check.ts";
import { deriveName, readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import {
  columnsIn,
  findColumn,
  pushConstraint,
  pushForeignKey,
  type TableChange,
} from "./alter_constraint.ts";
import { createStatementError } from "./recreation_error.ts";
import { normalizeType } from "../schema/normalize_type.ts";
import type { TableColumn, TableIdentity, TableSchema } from "../schema/table_schema.ts";
import { quoteName } from "../../sql/quote.ts";
import { renameIn } from "./rename_column.ts";

/** Applies ADD COLUMN. */
export function addColumn(
  { schema, reader }: TableChange,
  { column: { name, typeFrom, typeTo, clauses }, isGuarded }: ActionOf<"add_column">,
): void {
  if (schema.columns.some((column) => column.name === name.name)) {
    if (isGuarded) return;
    throw createStatementError(schema, `column ${JSON.stringify(name.name)} already exists`);
  }
  const column: TableColumn = {
    name: name.name,
    type: normalizeType(reader.text(typeFrom, typeTo)),
    notNull: false,
    added: true,
  };
  schema.columns.push(column);
  for (const clause of clauses) applyClause(schema, column, reader, clause);
  const isSerial = schema.dialect === "distsql" && SERIAL.has(column.type);
  if (isSerial) {
    column.type = "bigint";
    column.notNull = true;
    column.identity = { always: false, options: "" };
  }
  // the sequence is created under the name of the work table
  const { identity } = column;
  const isNamed = identity !== undefined && /\bSEQUENCE\s+NAME\b/i.test(identity.options);
  if (identity !== undefined && !isNamed) {
    identity.name = deriveName(schema.name, column.name, "seq");
  }
}

function writeUnique(column: string, attributes: string): string {
  const isDistinctness = /^NULLS\b/i.test(attributes);
  return isDistinctness
    ? `UNIQUE ${attributes} (${quoteName(column)})`
    : `UNIQUE (${quoteName(column)}) ${attributes}`.trim();
}

function applyClause(
  schema: TableSchema,
  column: TableColumn,
  reader: StatementReader,
  clause: ColumnClause,
): void {
  const { kind, bodyFrom, to } = clause;
  const text = reader.text(bodyFrom, to);
  const name = clause.name?.name;
  const base = { name, columns: [column.name], definition: text, validated: true };
  switch (kind) {
    case "not_null":
      column.notNull = true;
      if (name !== undefined) column.notNullName = name;
      return;
    case "default":
      column.default = reader.text(bodyFrom + 1, to);
      return;
    case "check":
      return pushConstraint(schema, { ...base, type: "check", columns: columnsIn(schema, text) });
    case "unique": {
      const definition = writeUnique(column.name, reader.text(bodyFrom + 1, to));
      return pushConstraint(schema, { ...base, type: "unique", definition });
    }
    case "primary_key": {
      const definition = `PRIMARY KEY (${quoteName(column.name)}) ${reader.text(bodyFrom + 2, to)}`
        .trim();
      return pushConstraint(schema, { ...base, type: "primary_key", definition });
    }
    case "references":
      return pushForeignKey(schema, text, { name, validated: true }, column.name);
    case "generated": {
      const open = reader.find("(", bodyFrom, to);
      column.generated = {
        expression: reader.text(open + 1, reader.closing(open)),
        stored: reader.key(to - 1) !== "VIRTUAL",
      };
      return;
    }
    case "identity":
      column.identity = readIdentity(reader, bodyFrom, to);
      column.notNull = true;
      return;
    case "storage":
    case "compression":
      (column.settings ??= []).push(`SET ${text}`);
      return;
    case "unknown":
      if (reader.key(bodyFrom) === "COLLATE") {
        column.collation = readName(reader, bodyFrom + 1).text;
      } else if (
        reader.key(bodyFrom - 1) !== "COLLATE" && reader.key(bodyFrom) !== "." &&
        reader.key(bodyFrom - 1) !== "."
      ) {
        throw createStatementError(
          schema,
          `the definition of column ${JSON.stringify(column.name)} cannot be parsed`,
        );
      }
      return;
    case "null":
      return;
    default:
      throw createStatementError(
        schema,
        `${reader.key(bodyFrom)} of column ` +
          `${JSON.stringify(column.name)}: write it as a table constraint`,
      );
  }
}

/** Parses `GENERATED ALWAYS AS IDENTITY (…)`. */
function readIdentity(reader: StatementReader, from: number, to: number): TableIdentity {
  const open = reader.find("(", from, to);
  return {
    always: reader.is(from + 1, "ALWAYS"),
    options: open < 0 ? "" : reader.text(open + 1, reader.closing(open)),
  };
}

/** Applies ALTER COLUMN. */
export function alterColumn(table: TableChange, action: ActionOf<"alter_column">): void {
  const { schema, reader } = table;
  const { column: { name, end }, change, valueAt, to } = action;
  const column = findColumn(schema, name);
  switch (change) {
    case "type":
      return changeType(column, table, action);
    case "set_not_null":
      column.notNull = true;
      return;
    case "drop_not_null":
      return dropNotNull(schema, column);
    case "set_default":
      column.default = reader.text(valueAt, to);
      return;
    case "drop_default":
      delete column.default;
      return;
    case "add_identity":
      if (column.identity !== undefined || column.default !== undefined) {
        throw createStatementError(
          schema,
          `${JSON.stringify(name)} already has a default or is an identity: drop that first`,
        );
      }
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
      if (column.generated === undefined) break;
      column.generated.expression = reader.text(valueAt + 2, reader.closing(valueAt + 1));
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

/** Rejects what a recreation cannot do. */
export function refuseAction(
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

function dropNotNull(schema: TableSchema, column: TableColumn): void {
  const key = schema.constraints.find((one) => one.type === "primary_key");
  if (key?.columns.includes(column.name)) {
    throw createStatementError(
      schema,
      `${JSON.stringify(column.name)} is part of the primary key`,
    );
  }
  column.notNull = false;
  delete column.notNullName;
  schema.constraints = schema.constraints.filter(({ type, definition }) => {
    const check = type === "check" ? readNotNullCheck(definition) : undefined;
    return check?.column !== column.name || !check.isOwn;
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
