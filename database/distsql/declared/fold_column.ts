import { readColumn } from "../rules/column_definition.ts";
import { SERIAL } from "../rules/column_type.ts";
import type { StatementReader } from "../statement_reader.ts";
import {
  type DeclaredColumn,
  type DeclaredSchema,
  type DeclaredSequence,
  type DeclaredTable,
  findObject,
  getKey,
  withEntry,
} from "./declared_schema.ts";
import { chooseRelationName } from "./names.ts";
import { type PendingConstraint, readColumnPending } from "./pending_constraint.ts";
import { readNextval, readObject, readPart, toObjectName } from "./read_object.ts";

/** Type of a column, as written and as a declared type. */
export type ColumnTypeFacts = Pick<DeclaredColumn, "type" | "isArray" | "enum" | "domain">;

/** Parses a type. */
export function readType(
  state: DeclaredSchema,
  reader: StatementReader,
  from: number,
  to: number,
): ColumnTypeFacts {
  const written = readObject(reader, from);
  let isArray = false;
  for (let at = from; at < to; at++) {
    isArray ||= reader.key(at) === "[" || (at > from && reader.key(at) === "ARRAY");
  }
  const declared = findObject(state.enums, written);
  const domain = declared ? undefined : findObject(state.domains, written);
  return {
    type: reader.text(from, to),
    isArray,
    enum: declared && getKey(declared),
    domain: domain && getKey(domain),
  };
}

function isSerial(reader: StatementReader, from: number): boolean {
  const { schema, name } = readObject(reader, from);
  return (schema === undefined || schema === "pg_catalog") && SERIAL.has(name);
}

/**
 * Adds the sequence of a serial or identity column, with the name in its options or a generated
 * one.
 */
function addSequence(
  state: DeclaredSchema,
  table: DeclaredTable,
  column: string,
  origin: DeclaredSequence["origin"],
  given: ReturnType<typeof readObject> | undefined,
): [DeclaredSchema, string] {
  const parts = { schema: table.schema, table: table.name, columns: [column], label: "seq" };
  const name = given === undefined
    ? { schema: table.schema, name: chooseRelationName(state, parts) }
    : toObjectName(given, table.schema);
  const sequence = { ...name, ownedBy: { table: getKey(table), column }, origin };
  return [{ ...state, sequences: withEntry(state.sequences, sequence) }, getKey(sequence)];
}

/** Adds the sequence of `GENERATED … AS IDENTITY (SEQUENCE NAME …)` between two positions. */
export function addIdentity(
  state: DeclaredSchema,
  table: DeclaredTable,
  column: string,
  reader: StatementReader,
  from: number,
  to: number,
): [DeclaredSchema, string] {
  const open = reader.find("(", from, to);
  const at = open < 0 ? -1 : reader.find("SEQUENCE", open + 1, reader.closing(open));
  const given = at >= 0 && reader.key(at + 1) === "NAME" ? readObject(reader, at + 2) : undefined;
  return addSequence(state, table, column, "identity", given);
}

/** Added column, with the constraints of its clauses. */
export interface AddedColumn {
  readonly state: DeclaredSchema;
  readonly pending: readonly PendingConstraint[];
}

/**
 * Adds a column to a declared table. Its constraints are returned, because PostgreSQL names them
 * after others in the statement.
 */
export function addColumn(
  state: DeclaredSchema,
  key: string,
  reader: StatementReader,
  from: number,
  to: number,
): AddedColumn {
  const table = state.tables.get(key)!;
  const definition = readColumn(reader, from, to);
  const name = readPart(reader, definition.name.end - 1);
  const serial = isSerial(reader, definition.typeFrom);
  let column: DeclaredColumn = {
    name,
    ...readType(state, reader, definition.typeFrom, definition.typeTo),
    notNull: serial,
    numbering: serial ? "serial" : undefined,
  };
  if (serial) {
    const [after, sequence] = addSequence(state, table, name, "serial", undefined);
    state = after;
    column = { ...column, sequence };
  }
  for (const clause of definition.clauses) {
    if (clause.kind === "not_null" || clause.kind === "primary_key") {
      column = { ...column, notNull: true };
    } else if (clause.kind === "default") {
      column = {
        ...column,
        ...readDefault(state, reader, clause.bodyFrom + 1, clause.to, column.enum),
      };
    } else if (clause.kind === "generated") {
      column = { ...column, generated: reader.text(clause.bodyFrom, clause.to) };
    } else if (clause.kind === "identity") {
      const [after, sequence] = addIdentity(state, table, name, reader, clause.bodyFrom, clause.to);
      state = after;
      column = { ...column, notNull: true, numbering: "identity", sequence };
    }
  }
  const after = { ...table, columns: [...table.columns, column] };
  return {
    state: { ...state, tables: withEntry(state.tables, after) },
    pending: readColumnPending(state, reader, definition, table),
  };
}

/** Parses a default: an expression with its enums, or the sequence of its `nextval`. */
export function readDefault(
  state: DeclaredSchema,
  reader: StatementReader,
  from: number,
  to: number,
  type: string | undefined,
): Pick<DeclaredColumn, "default" | "sequence" | "defaultEnums"> {
  const written = readNextval(reader, from, to);
  const sequence = written && findObject(state.sequences, written);
  const enums = new Set(type === undefined ? [] : [type]);
  for (let at = from; at < to; at = Math.max(reader.nameEnd(at), at + 1)) {
    const found = reader.isName(at) ? findObject(state.enums, readObject(reader, at)) : undefined;
    if (found) enums.add(getKey(found));
  }
  return {
    default: reader.text(from, to),
    sequence: sequence && getKey(sequence),
    defaultEnums: [...enums],
  };
}
