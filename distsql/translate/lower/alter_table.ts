import { findTypeChange } from "../../syntax/alter_pass.ts";
import { type DeclaredColumn, findObject, getKey } from "../../schema/declared_schema.ts";
import { readNextval, readObject, readPart } from "../../schema/read_object.ts";
import { isTableConstraint } from "../../syntax/table_constraint.ts";
import { asyncTableAt } from "../../syntax/statement_table.ts";
import { parseStatement } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import { checkDefault, lowerColumn } from "./enum_column.ts";
import type { Alteration, Lowered, Lowering } from "./lowered.ts";
import { dropSerialDefault } from "./serial_column.ts";
import { lowerType } from "./alter_type.ts";
import { keywordSet } from "../../../sql/list_words.ts";

const INTEGERS: ReadonlySet<string> = keywordSet("bigint int8 integer int int4 smallint int2");

/** Checks whether another action of the statement uses or changes the default of a column. */
function changesDefault({ reader, ranges }: Alteration, name: string): boolean {
  return ranges.some(([from]) => {
    const at = reader.skip(from + 1, "COLUMN");
    const end = reader.nameEnd(at);
    return reader.is(from, "ALTER") && readPart(reader, at) === name &&
      (reader.is(end, "DROP", "DEFAULT") || reader.is(end, "SET", "DEFAULT"));
  });
}

/**
 * Translates ALTER COLUMN of a serial column, which is an identity on the provider.
 *
 * @param alteration The statement.
 * @param column The column.
 * @param at Position after its name.
 * @param to End of the action.
 */
function lowerSerial(
  alteration: Alteration,
  column: DeclaredColumn,
  at: number,
  to: number,
): "done" | "keep" {
  const { reader, before, t, lead } = alteration;
  const release = (): void => void lead.push(...dropSerialDefault(alteration, column));
  if (reader.is(at, "DROP", "DEFAULT")) {
    release();
    return "done";
  }
  if (reader.is(at, "SET", "DEFAULT")) {
    const written = readNextval(reader, at + 2, to);
    const sequence = written && findObject(before.sequences, written);
    const own = column.sequence === undefined ? undefined : before.sequences.get(column.sequence);
    if (sequence !== undefined && sequence === own) {
      t.apply("serial-default");
      return "done";
    }
    release();
    return "keep";
  }
  if (reader.is(at, "DROP", "IDENTITY")) {
    t.apply("serial-default");
    return "done"; // in PostgreSQL the column is not an identity
  }
  if (reader.is(at, "DROP", "NOT", "NULL")) {
    t.refuse("serial-sequence", `DROP NOT NULL of the serial column ${column.name}`);
    return "done";
  }
  const typeAt = findTypeChange(reader, at);
  if (typeAt < 0 || changesDefault(alteration, column.name)) return "keep";
  const { name } = readObject(reader, typeAt);
  if (!INTEGERS.has(name)) {
    t.refuse(
      "serial-sequence",
      `changing the serial column ${column.name} to a type that is not an integer`,
    );
  } else if (name === "bigint" || name === "int8") t.apply("type-identity-bigint");
  else t.warn("type-identity-bigint");
  return "done";
}

function lowerAlterColumn(alteration: Alteration, from: number, to: number): void {
  const { reader, before, table, t } = alteration;
  const nameAt = reader.skip(from + 1, "COLUMN");
  const name = readPart(reader, nameAt);
  const at = reader.nameEnd(nameAt);
  const column = table?.columns.find((one) => one.name === name);
  const text = reader.text(from, to);
  if (column?.numbering === "serial" && lowerSerial(alteration, column, at, to) === "done") return;
  const typeAt = findTypeChange(reader, at);
  if (typeAt > 0 && t.options.enums === "check") {
    return lowerType(alteration, column, nameAt, typeAt, to, text);
  }
  const labels = column?.enum === undefined ? undefined : before.enums.get(column.enum)?.labels;
  if (labels && reader.is(at, "SET", "DEFAULT")) checkDefault(reader, at + 2, to, labels, name, t);
  alteration.actions.push(text);
}

function lowerAction(alteration: Alteration, from: number, to: number): void {
  const { reader, after, table, t, actions } = alteration;
  if (reader.is(from, "ALTER") && !reader.is(from + 1, "CONSTRAINT")) {
    return lowerAlterColumn(alteration, from, to);
  }
  const edits = new TokenEdits(reader);
  const addsColumn = reader.is(from, "ADD") && !isTableConstraint(reader, from + 1);
  if (addsColumn && t.options.enums === "check") {
    const at = reader.skip(reader.skip(from + 1, "COLUMN"), "IF", "NOT", "EXISTS");
    const isQuoted = alteration.tableText.includes('"');
    const changed = table && after.tables.get(getKey(table));
    lowerColumn(at, to, { ...alteration, edits, table: changed, isQuoted });
  }
  actions.push(edits.isEmpty ? reader.text(from, to) : edits.apply(from, to));
}

/** Rejects a constraint with the name of the CHECK that replaces an enum. */
function checkNames({ reader, table, t, ranges }: Alteration): void {
  const own = new Set(table?.columns.flatMap((column) => column.labelCheck ?? []));
  for (const [from] of ranges) {
    const name = reader.is(from, "ADD", "CONSTRAINT") ? readPart(reader, from + 2) : "";
    if (own.has(name)) {
      t.refuse(
        "type-enum-change",
        `a constraint named ${name}, which is the name of an enum column's CHECK`,
      );
    }
  }
}

/**
 * Translates ALTER TABLE: enum columns become text with a CHECK, and `serial` columns are
 * identities.
 *
 * @param lowering The statement; receives rules and refusals.
 * @returns The statements and steps, in order.
 */
export function lowerAlterTable(lowering: Lowering): Lowered[] {
  const { reader, before } = lowering;
  if (asyncTableAt(reader) >= 0) return [reader];
  const nameAt = reader.alteredTableAt();
  const written = readObject(reader, nameAt);
  const alteration: Alteration = {
    ...lowering,
    table: findObject(before.tables, written),
    head: reader.text(0, written.end),
    tableText: reader.text(nameAt, written.end),
    tableName: written.name,
    ranges: reader.alterActions(),
    lead: [],
    actions: [],
    tail: [],
  };
  const { head, ranges, lead, actions, tail } = alteration;
  checkNames(alteration);
  for (const [from, to] of ranges) lowerAction(alteration, from, to);
  const isSame = lead.length === 0 && tail.length === 0 && actions.length === ranges.length &&
    actions.every((action, index) => action === reader.text(...ranges[index]));
  if (isSame) return [reader];
  const main = actions.length === 0 ? [] : [parseStatement(`${head} ${actions.join(", ")};`)];
  return [...lead, ...main, ...tail];
}
