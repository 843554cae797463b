import { type DeclaredSchema, findObject, getKey } from "../declared/declared_schema.ts";
import { readLiteral } from "../declared/literals.ts";
import { readObject, toObjectName } from "../declared/read_object.ts";
import { writeName } from "../sql_name.ts";
import { parseStatement, type StatementReader } from "../statement_reader.ts";
import type { StatementTranslation } from "../translation.ts";
import { type EnumChange, keepsOrder } from "./enum_order_kept.ts";
import { lowerRenameValue } from "./enum_rename.ts";
import type { Lowered } from "./lowered.ts";
import { columnsOfEnum, type EnumColumn, writeLabelCheck, writeObject } from "./sql_text.ts";

const MAX_LABEL_BYTES = 63;

/**
 * Translates CREATE TYPE … AS ENUM, which needs no statement: columns of the type become text with
 * a CHECK.
 */
export function lowerCreateEnum(
  reader: StatementReader,
  before: DeclaredSchema,
  t: StatementTranslation,
): void {
  const written = readObject(reader, 2);
  const open = written.end + 2;
  t.apply("type-enum-check");
  if (before.enums.has(getKey(toObjectName(written)))) {
    if (!t.isGuarded) {
      t.refuse(
        "type-enum-change",
        `creating the enum ${written.name}, which exists already`,
        written.name,
      );
    }
    return;
  }
  const labels = reader.list(open + 1, reader.closing(open)).map(([at]) =>
    readLiteral(reader.token(at))
  );
  const isPlain = labels.every((label) =>
    label !== undefined && new TextEncoder().encode(label).length <= MAX_LABEL_BYTES
  );
  if (!isPlain || new Set(labels).size < labels.length) {
    t.refuse(
      "type-enum-change",
      `labels of the enum ${written.name} that are not plain, distinct strings`,
      written.name,
    );
  }
}

/** Replaces the CHECK of a column by one with other labels. */
function replaceCheck({ table, column }: EnumColumn, labels: readonly string[]): StatementReader {
  const name = writeName(column.labelCheck ?? "", true);
  const check = writeLabelCheck(writeName(column.name, true), labels);
  return parseStatement(
    `ALTER TABLE ${table} DROP CONSTRAINT ${name}, ADD CONSTRAINT ${name} ${check};`,
  );
}

function lowerAddValue(reader: StatementReader, at: number, change: EnumChange): Lowered[] {
  const { found, before, after, t } = change;
  const isOptional = reader.is(at, "IF", "NOT", "EXISTS");
  const labelAt = reader.skip(at, "IF", "NOT", "EXISTS");
  const label = readLiteral(reader.token(labelAt));
  const neighbour = labelAt + 2 < reader.size ? readLiteral(reader.token(labelAt + 2)) : undefined;
  if (label === undefined) {
    t.refuse(
      "type-enum-change",
      `a label of the enum ${found.name} that is not a plain string`,
      found.name,
    );
  } else if (found.labels.includes(label)) {
    if (!isOptional && !t.isGuarded) {
      t.refuse(
        "type-enum-change",
        `adding a label that the enum ${found.name} already has`,
        found.name,
      );
    }
  } else if (neighbour !== undefined && !found.labels.includes(neighbour)) {
    t.refuse(
      "type-enum-label",
      `a value that is not a label of the enum ${found.name}`,
      found.name,
    );
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
export function lowerAlterEnum(
  reader: StatementReader,
  before: DeclaredSchema,
  after: DeclaredSchema,
  t: StatementTranslation,
): Lowered[] | undefined {
  const written = readObject(reader, 2);
  const found = findObject(before.enums, written);
  if (found === undefined) return undefined;
  t.apply("type-enum-check");
  const at = written.end;
  const change: EnumChange = { found, before, after, t };
  if (reader.is(at, "ADD", "VALUE")) return lowerAddValue(reader, at + 2, change);
  if (reader.is(at, "RENAME", "VALUE")) return lowerRenameValue(reader, at + 2, change);
  if (reader.is(at, "RENAME", "TO") || reader.is(at, "SET", "SCHEMA")) {
    if (before.enums.size !== after.enums.size || findObject(after.enums, written) !== undefined) {
      t.refuse(
        "type-enum-change",
        `renaming the enum ${found.name} to a name that is taken`,
        found.name,
      );
    }
    return [];
  }
  if (reader.is(at, "OWNER")) return [];
  return undefined;
}

/** Translates DROP TYPE; with CASCADE drops the columns of the type. */
export function lowerDropEnum(
  reader: StatementReader,
  before: DeclaredSchema,
  t: StatementTranslation,
): Lowered[] | undefined {
  const cascades = reader.is(reader.size - 1, "CASCADE");
  const end = cascades || reader.is(reader.size - 1, "RESTRICT") ? reader.size - 1 : reader.size;
  const written = reader.list(reader.skip(2, "IF", "EXISTS"), end).map(([at]) =>
    readObject(reader, at)
  );
  const found = written.map((name) => findObject(before.enums, name)).filter((one) =>
    one !== undefined
  );
  if (found.length < written.length) return undefined;
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
  const alter = (table: string, action: string): Lowered =>
    parseStatement(`ALTER TABLE ${table} ${action};`);
  return [
    ...defaults.map(({ table, column }) =>
      alter(table, `ALTER COLUMN ${writeName(column.name, true)} DROP DEFAULT`)
    ),
    ...columns.map(({ table, column }) =>
      alter(table, `DROP COLUMN ${writeName(column.name, true)} CASCADE`)
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
