import { type DeclaredSchema, getKey } from "../../schema/declared_schema.ts";
import { readLabel, readLiteral, writeLiteral } from "../../schema/literals.ts";
import { writeName } from "../../../sql/sql_name.ts";
import { tokenize } from "../../../sql/tokenize.ts";
import { type EnumChange, keepsOrder, refuseChange } from "./enum_order.ts";
import type { Lowered } from "./lowered.ts";
import {
  columnsOfEnum,
  type EnumColumn,
  writeAlterTable,
  writeLabelCheck,
  writeObject,
} from "./sql_text.ts";

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
  const isKey = table.constraints.some(({ kind, columns }) =>
    (kind === "foreign_key" || kind === "primary_key") && columns.includes(name)
  );
  if (isKey) return "a key";
  const isTarget = [...before.tables.values()].some(({ constraints }) =>
    constraints.some(({ references }) =>
      references?.table === key && references.columns.includes(name)
    )
  );
  if (isTarget) return "a foreign key";
  const holds = ({ text }: { text: string }): boolean => hasLiteral(text, label);
  if (table.constraints.some((one) => one.kind === "check" && holds(one))) return "a CHECK";
  if (table.indexes.some(holds)) return "an index";
  const isGenerated = table.columns.some(({ generated }) =>
    generated !== undefined && hasLiteral(generated, label)
  );
  return isGenerated ? "a generated column" : undefined;
}

/**
 * Translates RENAME VALUE: renames the label in rows, CHECKs and defaults.
 *
 * @param change The statement.
 * @param at Position of the old label.
 */
export function lowerRenameValue(change: EnumChange, at: number): Lowered[] {
  const { reader, found, before, after } = change;
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
  const isInView = [...before.views.values()].some((view) => hasLiteral(view.text, old));
  const stored =
    columns.map((one) => findStored(before, one, old)).find((one) => one !== undefined) ??
      (isInView ? "a view" : undefined);
  if (stored !== undefined) {
    refuseChange(change, `renaming a label of the enum ${found.name} that ${stored} uses`);
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
): Record<"drops" | "updates" | "checks", Lowered[]> {
  const result = { drops: [] as Lowered[], updates: [] as Lowered[], checks: [] as Lowered[] };
  for (const { table, column } of columns) {
    const name = writeName(column.name, true);
    const check = writeName(column.labelCheck ?? "", true);
    const [set, where] = [`${name} = ${writeLiteral(label)}`, `${name} = ${writeLiteral(old)}`];
    result.drops.push(writeAlterTable(table, `DROP CONSTRAINT ${check}`));
    result.updates.push({
      sql: `UPDATE ${table} SET ${set} WHERE ${where};`,
      batch: { verb: "update", table, set, where },
    });
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
        const action = `ALTER COLUMN ${name} SET DEFAULT ${writeLiteral(label)}`;
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
