import { readName } from "../../sql/sql_name.ts";
import { quoteLiteral, readLiteral } from "../../sql/quote.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import {
  type DeclaredColumn,
  type DeclaredEnum,
  findObject,
  getKey,
  type ObjectName,
  withEntry,
  withoutEntries,
} from "./declared_schema.ts";
import { readLabel, readPart, toObjectName } from "./read_object.ts";
import { changeAllColumns, type SchemaDraft } from "./schema_draft.ts";
import { keywordSet } from "../../sql/list_words.ts";

const DOMAIN_CLAUSES: ReadonlySet<string> = keywordSet("CONSTRAINT NOT NULL CHECK DEFAULT COLLATE");

/**
 * Applies CREATE TYPE … AS ENUM and CREATE DOMAIN; ignores other types and types that exist
 * already.
 */
export function foldCreateType(schema: SchemaDraft, reader: StatementReader): void {
  const written = readName(reader, 2);
  const name = toObjectName(written);
  if (!reader.is(written.end, "AS", "ENUM", "(") || schema.enums.has(getKey(name))) return;
  const open = written.end + 2;
  const labels = reader.listIn(open)
    .map(([from, to]) => readLiteral(reader.token(from)) ?? reader.text(from, to));
  schema.enums = withEntry(schema.enums, { ...name, labels });
}

/** Applies CREATE DOMAIN. */
export function foldCreateDomain(schema: SchemaDraft, reader: StatementReader): void {
  const written = readName(reader, 2);
  const typeAt = reader.skip(written.end, "AS");
  const typeEnd = reader.findEnd(DOMAIN_CLAUSES, typeAt);
  const baseName = readName(reader, typeAt);
  schema.domains = withEntry(schema.domains, {
    ...toObjectName(written),
    type: reader.text(typeAt, typeEnd),
    hasDefault: reader.find("DEFAULT", typeAt) >= 0 ||
      findObject(schema.domains, baseName)?.hasDefault === true,
  });
}

/** Applies ALTER DOMAIN: SET DEFAULT, DROP DEFAULT, RENAME TO, SET SCHEMA. */
export function foldAlterDomain(schema: SchemaDraft, reader: StatementReader): void {
  const written = readName(reader, 2);
  const found = findObject(schema.domains, written);
  if (found === undefined) return;
  const at = written.end;
  const hasDefault = reader.is(at, "SET", "DEFAULT");
  if (hasDefault || reader.is(at, "DROP", "DEFAULT")) {
    schema.domains = withEntry(schema.domains, { ...found, hasDefault });
  }
  const name = readNewName(reader, at, found);
  if (name === undefined || schema.domains.has(getKey(name))) return;
  const [old, domain] = [getKey(found), getKey(name)];
  schema.domains = withEntry(withoutEntries(schema.domains, [old]), { ...found, ...name });
  changeAllColumns(schema, (column) => column.domain === old ? { ...column, domain } : column);
}

/** Parses RENAME TO and SET SCHEMA; `undefined` for another action. */
function readNewName(
  reader: StatementReader,
  at: number,
  { schema, name }: ObjectName,
): ObjectName | undefined {
  if (reader.is(at, "RENAME", "TO")) return { schema, name: readPart(reader, at + 2) };
  return reader.is(at, "SET", "SCHEMA") ? { schema: readPart(reader, at + 2), name } : undefined;
}

/** Applies ALTER TYPE of an enum: ADD VALUE, RENAME VALUE, RENAME TO, SET SCHEMA. */
export function foldAlterType(schema: SchemaDraft, reader: StatementReader): void {
  const written = readName(reader, 2);
  const found = findObject(schema.enums, written);
  if (found === undefined) return;
  const at = written.end;
  if (reader.is(at, "ADD", "VALUE")) addValue(schema, found, reader, at + 2);
  else if (reader.is(at, "RENAME", "VALUE")) renameValue(schema, found, reader, at + 2);
  else {
    const name = readNewName(reader, at, found);
    if (name !== undefined) rekeyEnum(schema, found, name);
  }
}

/** Renames a label, also in the defaults that are this label. */
function renameValue(
  schema: SchemaDraft,
  found: DeclaredEnum,
  reader: StatementReader,
  at: number,
): void {
  const [old, label] = [readLiteral(reader.token(at)), readLiteral(reader.token(at + 2))];
  if (old === undefined || label === undefined || found.labels.includes(label)) return;
  const labels = found.labels.map((one) => one === old ? label : one);
  schema.enums = withEntry(schema.enums, { ...found, labels });
  changeAllColumns(
    schema,
    (column) =>
      column.defaultEnums?.includes(getKey(found)) && readLabel(column.default) === old
        ? { ...column, default: quoteLiteral(label) }
        : column,
  );
}

function addValue(
  schema: SchemaDraft,
  found: DeclaredEnum,
  reader: StatementReader,
  from: number,
): void {
  const at = reader.skip(from, "IF", "NOT", "EXISTS");
  const label = readLiteral(reader.token(at));
  if (label === undefined || found.labels.includes(label)) return;
  const neighbour = readLiteral(reader.token(at + 2));
  const place = neighbour === undefined ? -1 : found.labels.indexOf(neighbour);
  const afterPlace = reader.is(at + 1, "BEFORE") ? place : place + 1;
  const index = place < 0 ? found.labels.length : afterPlace;
  const labels = found.labels.toSpliced(index, 0, label);
  schema.enums = withEntry(schema.enums, { ...found, labels });
}

function rekeyEnum(schema: SchemaDraft, found: DeclaredEnum, name: ObjectName): void {
  const [old, key] = [getKey(found), getKey(name)];
  if (schema.enums.has(key)) return;
  const one = (candidate: string): string => candidate === old ? key : candidate;
  const rename = (column: DeclaredColumn): DeclaredColumn => ({
    ...column,
    enum: column.enum && one(column.enum),
    defaultEnums: column.defaultEnums?.map(one),
  });
  schema.enums = withEntry(withoutEntries(schema.enums, [old]), { ...found, ...name });
  changeAllColumns(schema, rename);
}
