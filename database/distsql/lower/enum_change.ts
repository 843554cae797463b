import {
  type DeclaredEnum,
  type DeclaredSchema,
  findObject,
  getKey,
  type StoredOrder,
} from "../declared/declared_schema.ts";
import { hasTextOrder } from "../enum_order/enum_class.ts";
import { warnOfOrder } from "./enum_order.ts";
import { readLabel, readLiteral, writeLiteral } from "../declared/literals.ts";
import { readObject, toObjectName } from "../declared/read_object.ts";
import { writeName } from "../sql_name.ts";
import { StatementReader } from "../statement_reader.ts";
import { tokenize } from "../tokenize.ts";
import type { StatementTranslation } from "../translation.ts";
import type { Lowered } from "./lowered.ts";
import { columnsOfEnum, type EnumColumn, writeLabelCheck, writeObject } from "./sql_text.ts";

const MAX_LABEL_BYTES = 63;

function parse(sql: string): StatementReader {
  return new StatementReader(tokenize(sql));
}

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
  return parse(`ALTER TABLE ${table} DROP CONSTRAINT ${name}, ADD CONSTRAINT ${name} ${check};`);
}

/**
 * Returns the views, CHECKs, indexes and generated columns that use the order of an enum's labels.
 */
function findStoredOrders(before: DeclaredSchema, changed: DeclaredEnum): string[] {
  const key = getKey(changed);
  const holds = ({ ordersBy }: { ordersBy?: readonly StoredOrder[] }): boolean =>
    ordersBy?.some((order) => order.enum === key && !(order.isText && hasTextOrder(changed))) ??
      false;
  return [
    ...[...before.views.values()].filter(holds),
    ...[...before.tables.values()].flatMap(({ constraints, indexes, columns }) =>
      [...constraints, ...indexes, ...columns].filter(holds)
    ),
  ].map(({ name }) => name);
}

/**
 * Checks whether stored expressions stay correct with other labels; otherwise rejects the change.
 * Warns about columns.
 */
function keepsOrder(
  found: DeclaredEnum,
  before: DeclaredSchema,
  after: DeclaredSchema,
  t: StatementTranslation,
): boolean {
  const changed = after.enums.get(getKey(found))!;
  const stored = findStoredOrders(before, changed);
  if (stored.length > 0) {
    t.refuse(
      "type-enum-change",
      `a change of the enum ${found.name}, whose order is used by ${stored.join(", ")}`,
      found.name,
    );
    return false;
  }
  if (!hasTextOrder(found)) return true;
  for (const { table, column } of columnsOfEnum(before, found)) {
    warnOfOrder(`${table}.${column.name}`, changed, t);
  }
  return true;
}

function lowerAddValue(
  reader: StatementReader,
  at: number,
  found: DeclaredEnum,
  before: DeclaredSchema,
  after: DeclaredSchema,
  t: StatementTranslation,
): Lowered[] {
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
  } else if (keepsOrder(found, before, after, t)) {
    const { labels } = after.enums.get(getKey(found))!;
    return columnsOfEnum(before, found).filter(({ column }) => !column.isArray)
      .map((column) => replaceCheck(column, labels));
  }
  return [];
}

/** Checks for a string literal with this text. */
function hasLiteral(text: string, label: string): boolean {
  return tokenize(text).some((token) => readLiteral(token) === label);
}

/**
 * Returns an object that stores a label in its definition, so that renaming it in the rows is not
 * enough; described for the refusal.
 */
function findStored(
  before: DeclaredSchema,
  { key, column }: EnumColumn,
  label: string,
): string | undefined {
  const table = before.tables.get(key)!;
  const { name } = column;
  const isKey = table.constraints.some((one) =>
    one.kind === "foreign_key" && one.columns.includes(name) ||
    one.kind === "primary_key" && one.columns.includes(name)
  );
  if (isKey) return "a key";
  for (const other of before.tables.values()) {
    const isTarget = other.constraints.some(({ references }) =>
      references?.table === key && references.columns.includes(name)
    );
    if (isTarget) return "a foreign key";
  }
  const holds = ({ text }: { text: string }): boolean => hasLiteral(text, label);
  if (table.constraints.some((one) => one.kind === "check" && holds(one))) return "a CHECK";
  if (table.indexes.some(holds)) return "an index";
  if (
    table.columns.some((one) => one.generated !== undefined && hasLiteral(one.generated, label))
  ) {
    return "a generated column";
  }
  return undefined;
}

function lowerRenameValue(
  reader: StatementReader,
  at: number,
  found: DeclaredEnum,
  before: DeclaredSchema,
  after: DeclaredSchema,
  t: StatementTranslation,
): Lowered[] {
  const [old, label] = [readLiteral(reader.token(at)), readLiteral(reader.token(at + 2))];
  if (
    old === undefined || label === undefined || !found.labels.includes(old) ||
    found.labels.includes(label)
  ) {
    t.refuse(
      "type-enum-label",
      `renaming a label of the enum ${found.name} that does not exist, or to one that exists ` +
        "already",
      found.name,
    );
    return [];
  }
  const columns = columnsOfEnum(before, found);
  const stored =
    columns.map((one) => findStored(before, one, old)).find((one) => one !== undefined) ??
      ([...before.views.values()].some((view) => hasLiteral(view.text, old))
        ? "a view"
        : undefined);
  if (stored !== undefined) {
    t.refuse(
      "type-enum-change",
      `renaming a label of the enum ${found.name} that ${stored} uses`,
      found.name,
    );
    return [];
  }
  if (!keepsOrder(found, before, after, t)) return [];
  const { labels } = after.enums.get(getKey(found))!;
  const plain = columns.filter(({ column }) => !column.isArray);
  const { drops, updates, checks } = renameIn(plain, old, label, labels);
  return [...drops, ...renameInDefaults(before, found, old, label, t), ...updates, ...checks];
}

/** Drops the CHECKs, updates defaults and rows, then adds the CHECKs again. */
function renameIn(
  columns: readonly EnumColumn[],
  old: string,
  label: string,
  labels: readonly string[],
): {
  drops: Lowered[];
  updates: Lowered[];
  checks: Lowered[];
} {
  const result = { drops: [] as Lowered[], updates: [] as Lowered[], checks: [] as Lowered[] };
  for (const { table, column } of columns) {
    const name = writeName(column.name, true);
    const check = writeName(column.labelCheck ?? "", true);
    const [set, where] = [`${name} = ${writeLiteral(label)}`, `${name} = ${writeLiteral(old)}`];
    result.drops.push(parse(`ALTER TABLE ${table} DROP CONSTRAINT ${check};`));
    result.updates.push({
      sql: `UPDATE ${table} SET ${set} WHERE ${where};`,
      batch: { verb: "update", table, set, where },
    });
    result.checks.push(
      parse(`ALTER TABLE ${table} ADD CONSTRAINT ${check} ${writeLabelCheck(name, labels)};`),
    );
  }
  return result;
}

/** Renames a label in defaults, also in columns whose type is no longer the enum. */
function renameInDefaults(
  before: DeclaredSchema,
  found: DeclaredEnum,
  old: string,
  label: string,
  t: StatementTranslation,
): Lowered[] {
  const steps: Lowered[] = [];
  for (const table of before.tables.values()) {
    for (const column of table.columns) {
      if (column.default === undefined || !column.defaultEnums?.includes(getKey(found))) continue;
      if (readLabel(column.default) === old) {
        const name = writeName(column.name, true);
        const value = writeLiteral(label);
        steps.push(
          parse(`ALTER TABLE ${writeObject(table)} ALTER COLUMN ${name} SET DEFAULT ${value};`),
        );
      } else if (hasLiteral(column.default, old)) {
        t.refuse(
          "type-enum-change",
          `renaming a label of the enum ${found.name} that a default uses within an expression`,
          found.name,
        );
      }
    }
  }
  return steps;
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
  if (reader.is(at, "ADD", "VALUE")) return lowerAddValue(reader, at + 2, found, before, after, t);
  if (reader.is(at, "RENAME", "VALUE")) {
    return lowerRenameValue(reader, at + 2, found, before, after, t);
  }
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
    parse(`ALTER TABLE ${table} ${action};`);
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
