import { quoteLiteral, readLiteral } from "../../../sql/quote.ts";
import {
  type DeclaredEnum,
  type DeclaredSchema,
  findObject,
  getKey,
  isReferenceTo,
} from "../../schema/declared_schema.ts";
import { readLabel, toObjectName } from "../../schema/read_object.ts";
import { readName, writeName } from "../../../sql/sql_name.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { tokenize } from "../../../sql/tokenize.ts";
import { hasTextOrder, warnOfOrder } from "./enum_order.ts";
import type { Lowered, Lowering } from "./lowered.ts";
import {
  columnsOfEnum,
  type EnumColumn,
  writeAlterTable,
  writeLabelCheck,
  writeObject,
} from "./sql_text.ts";

const MAX_LABEL_BYTES = 63;

/** ALTER TYPE of an enum. */
interface EnumChange extends Lowering {
  /** The enum before the change. */
  readonly found: DeclaredEnum;
}

/** Rejects the change of an enum. */
function refuseChange(
  { found: { name }, t }: EnumChange,
  what: string,
  entry = "type-enum-change",
): void {
  t.refuse(entry, what, name);
}

/** Returns the labels after a change, and warns about columns whose order is now another one. */
function changeLabels({ found, before, after, t }: EnumChange): readonly string[] {
  const changed = after.enums.get(getKey(found))!;
  if (hasTextOrder(found)) {
    for (const { table, column } of columnsOfEnum(before, found)) {
      warnOfOrder(`${table}.${column.name}`, changed, t);
    }
  }
  return changed.labels;
}

/**
 * Translates CREATE TYPE … AS ENUM, which needs no statement: columns of the type become text with
 * a CHECK.
 */
export function lowerCreateEnum({ reader, before, t }: Lowering): void {
  const written = readName(reader, 2);
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
  const { reader, found, before, t } = change;
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
  } else {
    const labels = changeLabels(change);
    return columnsOfEnum(before, found).map((column) => replaceCheck(column, labels));
  }
  return [];
}

/**
 * Translates ALTER TYPE of an enum: updates the CHECKs of its columns, and with RENAME VALUE their
 * rows.
 */
export function lowerAlterEnum(lowering: Lowering): Lowered[] | undefined {
  const { reader, before, after, t } = lowering;
  const written = readName(reader, 2);
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

/** Translates DROP TYPE, which needs no statement. */
export function lowerDropEnum({ reader, before, t }: Lowering): Lowered[] | undefined {
  const names = reader.list(reader.skip(2, "IF", "EXISTS"), reader.droppedEnd());
  const found = names.flatMap(([at]) => findObject(before.enums, readName(reader, at)) ?? []);
  if (found.length < names.length) return undefined;
  t.apply("type-enum-check");
  const keys = new Set(found.map(getKey));
  const uses = [...before.tables.values()].flatMap((table) =>
    table.columns.filter(({ enum: type = "", default: value, defaultEnums = [] }) =>
      keys.has(type) || (value !== undefined && defaultEnums.some((key) => keys.has(key)))
    ).map(({ name }) => `${table.name}.${name}`)
  );
  if (uses.length > 0) {
    t.refuse("type-enum-change", `dropping an enum that is in use: ${uses.join(", ")}`);
  }
  return [];
}

/** Checks for a string literal with this text. */
function hasLiteral(text: string, label: string): boolean {
  return tokenize(text).some((token) => readLiteral(token) === label);
}

/**
 * Checks whether keys or the definitions of other objects use a label, so that renaming it in the
 * rows is not enough.
 */
function isStored(
  { tables, views }: DeclaredSchema,
  columns: readonly EnumColumn[],
  label: string,
): boolean {
  const isKey = [...tables].some(([key, { constraints }]) =>
    constraints.some((one) =>
      columns.some(({ key: table, column: { name } }) =>
        (table === key && (one.type === "foreign_key" || one.type === "primary_key") &&
          one.columns.includes(name)) ||
        (isReferenceTo(table, one) && one.references!.columns.includes(name))
      )
    )
  );
  const texts = columns.flatMap(({ key }) => {
    const { constraints, indexes, columns } = tables.get(key)!;
    return [
      ...constraints.filter(({ type }) => type === "check").map(({ definition }) => definition),
      ...indexes.map(({ definition }) => definition),
      ...columns.map(({ generated }) => generated?.expression ?? ""),
    ];
  });
  return isKey ||
    [...texts, ...[...views.values()].map(({ text }) => text)].some((text) =>
      hasLiteral(text, label)
    );
}

/**
 * Translates RENAME VALUE: renames the label in rows, CHECKs and defaults.
 *
 * @param change The statement.
 * @param at Position of the old label.
 */
function lowerRenameValue(change: EnumChange, at: number): Lowered[] {
  const { reader, found, before } = change;
  const [old, label] = [readLiteral(reader.token(at)), readLiteral(reader.token(at + 2))];
  if (
    old === undefined || label === undefined || !found.labels.includes(old) ||
    found.labels.includes(label)
  ) {
    const what = `renaming a label of the enum ${found.name} that does not exist, or to one that ` +
      "exists already";
    refuseChange(change, what, "type-enum-label");
    return [];
  }
  const columns = columnsOfEnum(before, found);
  if (isStored(before, columns, old)) {
    const what = `renaming a label of the enum ${found.name} that a key, a view or another ` +
      "definition uses";
    refuseChange(change, what);
    return [];
  }
  const { drops, updates, checks } = renameIn(columns, old, label, changeLabels(change));
  return [...drops, ...renameInDefaults(change, old, label), ...updates, ...checks];
}

/** Drops the CHECKs, updates defaults and rows, then adds the CHECKs again. */
function renameIn(
  columns: readonly EnumColumn[],
  old: string,
  label: string,
  labels: readonly string[],
): Record<"drops" | "updates" | "checks", Lowered[]> {
  const result = { drops: [] as Lowered[], updates: [] as Lowered[], checks: [] as Lowered[] };
  for (const { table, column } of columns) {
    const name = writeName(column.name, true);
    const check = writeName(column.labelCheck ?? "", true);
    const [set, where] = [`${name} = ${quoteLiteral(label)}`, `${name} = ${quoteLiteral(old)}`];
    result.drops.push(writeAlterTable(table, `DROP CONSTRAINT ${check}`));
    result.updates.push({ sql: `UPDATE ${table} SET ${set} WHERE ${where};` });
    const definition = writeLabelCheck(name, labels);
    result.checks.push(writeAlterTable(table, `ADD CONSTRAINT ${check} ${definition}`));
  }
  return result;
}

/** Renames a label in defaults, also in columns whose type is no longer the enum. */
function renameInDefaults(change: EnumChange, old: string, label: string): Lowered[] {
  const { before, found } = change;
  const steps: Lowered[] = [];
  for (const table of before.tables.values()) {
    for (const column of table.columns) {
      if (column.default === undefined || !column.defaultEnums?.includes(getKey(found))) continue;
      if (readLabel(column.default) === old) {
        const name = writeName(column.name, true);
        const action = `ALTER COLUMN ${name} SET DEFAULT ${quoteLiteral(label)}`;
        steps.push(writeAlterTable(writeObject(table), action));
      } else if (hasLiteral(column.default, old)) {
        const what =
          `renaming a label of the enum ${found.name} that a default uses within an expression`;
        refuseChange(change, what);
      }
    }
  }
  return steps;
}
