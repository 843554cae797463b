import { type DeclaredSchema, getKey } from "../declared/declared_schema.ts";
import { readLabel, readLiteral, writeLiteral } from "../declared/literals.ts";
import { writeName } from "../sql_name.ts";
import { parseStatement, type StatementReader } from "../statement_reader.ts";
import { tokenize } from "../tokenize.ts";
import { type EnumChange, keepsOrder } from "./enum_order_kept.ts";
import type { Lowered } from "./lowered.ts";
import { columnsOfEnum, type EnumColumn, writeLabelCheck, writeObject } from "./sql_text.ts";

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

/**
 * Translates RENAME VALUE: renames the label in rows, CHECKs and defaults.
 *
 * @param reader The statement.
 * @param at Position of the old label.
 * @param change The change.
 */
export function lowerRenameValue(
  reader: StatementReader,
  at: number,
  change: EnumChange,
): Lowered[] {
  const { found, before, after, t } = change;
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
  if (!keepsOrder(change)) return [];
  const { labels } = after.enums.get(getKey(found))!;
  const plain = columns.filter(({ column }) => !column.isArray);
  const { drops, updates, checks } = renameIn(plain, old, label, labels);
  return [...drops, ...renameInDefaults(change, old, label), ...updates, ...checks];
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
    result.drops.push(parseStatement(`ALTER TABLE ${table} DROP CONSTRAINT ${check};`));
    result.updates.push({
      sql: `UPDATE ${table} SET ${set} WHERE ${where};`,
      batch: { verb: "update", table, set, where },
    });
    result.checks.push(
      parseStatement(
        `ALTER TABLE ${table} ADD CONSTRAINT ${check} ${writeLabelCheck(name, labels)};`,
      ),
    );
  }
  return result;
}

/** Renames a label in defaults, also in columns whose type is no longer the enum. */
function renameInDefaults({ before, found, t }: EnumChange, old: string, label: string): Lowered[] {
  const steps: Lowered[] = [];
  for (const table of before.tables.values()) {
    for (const column of table.columns) {
      if (column.default === undefined || !column.defaultEnums?.includes(getKey(found))) continue;
      if (readLabel(column.default) === old) {
        const name = writeName(column.name, true);
        const value = writeLiteral(label);
        steps.push(
          parseStatement(
            `ALTER TABLE ${writeObject(table)} ALTER COLUMN ${name} SET DEFAULT ${value};`,
          ),
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
