import { readName } from "../../sql/sql_name.ts";
import { type ColumnDefinition, SERIAL } from "../syntax/column_definition.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import {
  type DeclaredColumn,
  type DeclaredSchema,
  type DeclaredSequence,
  findObject,
  getKey,
  withEntry,
} from "./declared_schema.ts";
import { readColumnConstraints, readNewColumn } from "./change_table.ts";
import { chooseRelationName } from "./names.ts";
import { readNextval, toObjectName, type WrittenName } from "./read_object.ts";
import { changeTable } from "./schema_draft.ts";
import { getTable, type TableFold } from "./table_fold.ts";

/** Type of a column, as written and as a declared type. */
export type ColumnTypeFacts = Pick<DeclaredColumn, "type" | "enum" | "domain">;

/** Parses a type. */
export function readType(
  schema: DeclaredSchema,
  reader: StatementReader,
  from: number,
  to: number,
): ColumnTypeFacts {
  const written = readName(reader, from);
  const declared = findObject(schema.enums, written);
  const domain = declared ? undefined : findObject(schema.domains, written);
  return {
    type: reader.text(from, to),
    enum: declared && getKey(declared),
    domain: domain && getKey(domain),
  };
}

function isSerial(reader: StatementReader, from: number): boolean {
  const { schema, name } = readName(reader, from);
  return (schema === undefined || schema === "pg_catalog") && SERIAL.has(name);
}

/**
 * Adds the sequence of a serial or identity column, with the name in its options or a generated
 * one.
 *
 * @returns Key of the sequence.
 */
function addSequence(
  fold: TableFold,
  column: string,
  origin: DeclaredSequence["origin"],
  given?: WrittenName,
): string {
  const { schema } = fold;
  const table = getTable(fold);
  const parts = { schema: table.schema, table: table.name, columns: [column], label: "seq" };
  const name = given === undefined
    ? { schema: table.schema, name: chooseRelationName(schema, parts) }
    : toObjectName(given, table.schema);
  const sequence = { ...name, ownedBy: { table: getKey(table), column }, origin };
  schema.sequences = withEntry(schema.sequences, sequence);
  return getKey(sequence);
}

/** Adds the sequence of `GENERATED … AS IDENTITY (SEQUENCE NAME …)` and returns its key. */
export function addIdentity(fold: TableFold, column: string, from: number, to: number): string {
  const { reader } = fold;
  const open = reader.find("(", from, to);
  const at = open < 0 ? -1 : reader.find("SEQUENCE", open + 1, reader.closing(open));
  const given = at >= 0 && reader.key(at + 1) === "NAME" ? readName(reader, at + 2) : undefined;
  return addSequence(fold, column, "identity", given);
}

/** Adds a column to a table, and the constraints of its clauses to the pending ones. */
export function addColumn(fold: TableFold, definition: ColumnDefinition): void {
  const { schema, reader, key, pending } = fold;
  const { name } = definition.name;
  const serial = isSerial(reader, definition.typeFrom);
  const column: DeclaredColumn = {
    ...readNewColumn(reader, definition),
    ...readType(schema, reader, definition.typeFrom, definition.typeTo),
  };
  if (serial) {
    column.notNull = true;
    column.numbering = "serial";
    column.sequence = addSequence(fold, name, "serial");
  }
  for (const { kind, bodyFrom, to } of definition.clauses) {
    if (kind === "default") {
      Object.assign(column, readDefault(schema, reader, bodyFrom + 1, to, column.enum));
    } else if (kind === "identity") {
      column.numbering = "identity";
      column.sequence = addIdentity(fold, name, bodyFrom, to);
    }
  }
  pending.push(...readColumnConstraints(reader, definition));
  changeTable(schema, key, ({ columns }) => ({ columns: [...columns, column] }));
}

/** Parses a default: an expression with its enums, or the sequence of its `nextval`. */
export function readDefault(
  schema: DeclaredSchema,
  reader: StatementReader,
  from: number,
  to: number,
  type: string | undefined,
): Pick<DeclaredColumn, "default" | "sequence" | "defaultEnums"> {
  const written = readNextval(reader, from, to);
  const sequence = written && findObject(schema.sequences, written);
  const enums = new Set(type === undefined ? [] : [type]);
  for (let at = from; at < to; at = Math.max(reader.nameEnd(at), at + 1)) {
    const found = reader.isName(at) ? findObject(schema.enums, readName(reader, at)) : undefined;
    if (found) enums.add(getKey(found));
  }
  return {
    default: reader.text(from, to),
    sequence: sequence && getKey(sequence),
    defaultEnums: [...enums],
  };
}
