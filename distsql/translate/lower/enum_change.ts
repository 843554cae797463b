import { type DeclaredSchema, findObject, getKey } from "../../schema/declared_schema.ts";
import { readLiteral } from "../../schema/literals.ts";
import { readObject, toObjectName } from "../../schema/read_object.ts";
import { writeName } from "../../../sql/sql_name.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { type EnumChange, keepsOrder, refuseChange } from "./enum_order.ts";
import { lowerRenameValue } from "./enum_rename.ts";
import type { Lowered, Lowering } from "./lowered.ts";
import {
  columnsOfEnum,
  type EnumColumn,
  writeAlterTable,
  writeLabelCheck,
  writeObject,
} from "./sql_text.ts";

const MAX_LABEL_BYTES = 63;

/**
 * Translates CREATE TYPE … AS ENUM, which needs no statement: columns of the type become text with
 * a CHECK.
 */
export function lowerCreateEnum({ reader, before, t }: Lowering): void {
  const written = readObject(reader, 2);
  const { name } = written;
  const open = written.end + 2;
  t.apply("type-enum-check");
  if (before.enums.has(getKey(toObjectName(written)))) {
    if (t.isGuarded) return;
    return t.refuse("type-enum-change", `creating the enum ${name}, which exists already`, name);
  }
  const labels = reader.listIn(open).map(([at]) => readLiteral(reader.token(at)));
  const isPlain = labels.every((label) =>
    label !== undefined && new TextEncoder().encode(label).length <= MAX_LABEL_BYTES
  );
  if (!isPlain || new Set(labels).size < labels.length) {
    const what = `labels of the enum ${name} that are not plain, distinct strings`;
    t.refuse("type-enum-change", what, name);
  }
}

/** Replaces the CHECK of a column by one with other labels. */
function replaceCheck({ table, column }: EnumColumn, labels: readonly string[]): StatementReader {
  const name = writeName(column.labelCheck ?? "", true);
  const check = writeLabelCheck(writeName(column.name, true), labels);
  return writeAlterTable(table, `DROP CONSTRAINT ${name}, ADD CONSTRAINT ${name} ${check}`);
}

function lowerAddValue(change: EnumChange, at: number): Lowered[] {
  const { reader, found, before, after, t } = change;
  const isOptional = reader.is(at, "IF", "NOT", "EXISTS");
  const labelAt = reader.skip(at, "IF", "NOT", "EXISTS");
  const label = readLiteral(reader.token(labelAt));
  const neighbour = labelAt + 2 < reader.size ? readLiteral(reader.token(labelAt + 2)) : undefined;
  if (label === undefined) {
    refuseChange(change, `a label of the enum ${found.name} that is not a plain string`);
  } else if (found.labels.includes(label)) {
    if (!isOptional && !t.isGuarded) {
      refuseChange(change, `adding a label that the enum ${found.name} already has`);
    }
  } else if (neighbour !== undefined && !found.labels.includes(neighbour)) {
    const what = `a value that is not a label of the enum ${found.name}`;
    refuseChange(change, what, "type-enum-label");
  } else if (keepsOrder(change)) {
    const { labels } = after.enums.get(getKey(found))!;
    return columnsOfEnum(before, found).filter(({ column }) => !column.isArray)
      .map((column) => replaceCheck(column, labels));
  }
  return [];
}

/**
 * Translates ALTER TYPE of an enum: updates the CHECKs of its columns, and with RENAME VALUE their
 * rows.
 */
export function lowerAlterEnum(lowering: Lowering): Lowered[] | undefined {
  const { reader, before, after, t } = lowering;
  const written = readObject(reader, 2);
  const found = findObject(before.enums, written);
  if (found === undefined) return undefined;
  t.apply("type-enum-check");
  const at = written.end;
  const change: EnumChange = { ...lowering, found };
  if (reader.is(at, "ADD", "VALUE")) return lowerAddValue(change, at + 2);
  if (reader.is(at, "RENAME", "VALUE")) return lowerRenameValue(change, at + 2);
  if (reader.is(at, "RENAME", "TO") || reader.is(at, "SET", "SCHEMA")) {
    if (before.enums.size !== after.enums.size || findObject(after.enums, written) !== undefined) {
      refuseChange(change, `renaming the enum ${found.name} to a name that is taken`);
    }
    return [];
  }
  if (reader.is(at, "OWNER")) return [];
  return undefined;
}

/** Translates DROP TYPE; with CASCADE drops the columns of the type. */
export function lowerDropEnum({ reader, before, t }: Lowering): Lowered[] | undefined {
  const cascades = reader.is(reader.size - 1, "CASCADE");
  const end = cascades || reader.is(reader.size - 1, "RESTRICT") ? reader.size - 1 : reader.size;
  const names = reader.list(reader.skip(2, "IF", "EXISTS"), end);
  const found = names.flatMap(([at]) => findObject(before.enums, readObject(reader, at)) ?? []);
  if (found.length < names.length) return undefined;
  t.apply("type-enum-check");
  const columns = found.flatMap((one) => columnsOfEnum(before, one));
  const defaults = defaultsOfEnums(before, found.map(getKey))
    .filter(({ table, column }) =>
      !columns.some((one) => one.table === table && one.column.name === column.name)
    );
  const uses = [
    ...columns.map(({ table, column }) => `${table}.${column.name}`),
    ...defaults.map(({ table, column }) => `the default of ${table}.${column.name}`),
  ];
  if (!cascades && uses.length > 0) {
    t.refuse("type-enum-change", `dropping an enum that is in use: ${uses.join(", ")}`);
    return [];
  }
  return [
    ...defaults.map(({ table, column }) =>
      writeAlterTable(table, `ALTER COLUMN ${writeName(column.name, true)} DROP DEFAULT`)
    ),
    ...columns.map(({ table, column }) =>
      writeAlterTable(table, `DROP COLUMN ${writeName(column.name, true)} CASCADE`)
    ),
  ];
}

/** Returns the columns whose defaults contain enums, by the enums' keys. */
function defaultsOfEnums(schema: DeclaredSchema, keys: readonly string[]): EnumColumn[] {
  return [...schema.tables].flatMap(([key, table]) =>
    table.columns
      .filter((column) =>
        column.default !== undefined && column.defaultEnums?.some((key) => keys.includes(key))
      )
      .map((column) => ({ key, table: writeObject(table), column }))
  );
}
