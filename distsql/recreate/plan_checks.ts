import type { RecreationPlan } from "./recreation_plan.ts";
import { RecreationError } from "./recreation_error.ts";
import { isSameSet } from "../schema/foreign_key.ts";
import { normalizeType } from "../schema/normalize_type.ts";
import type { TableSchema } from "../schema/table_schema.ts";

/** Families of types that a foreign key can compare with each other. */
const FAMILIES: readonly (readonly string[])[] = [
  ["smallint", "integer", "bigint"],
  ["text", "character varying"],
];

/**
 * Rejects a plan that could not be completed or would lose objects, before anything is done.
 *
 * @throws {RecreationError} If there is such an object: names it.
 */
export function checkPlan(current: TableSchema, desired: TableSchema): void {
  const { name, dependents = [] } = current;
  if (dependents.length > 0) {
    throw new RecreationError(
      `${name} cannot be recreated while these objects depend on it: ` +
        `${dependents.join(", ")}. Drop them first and create them again ` +
        "afterwards",
      { reason: "blocked", table: name },
    );
  }
  if (desired.name !== current.name || desired.schema !== current.schema) {
    throw new RecreationError(`${name}: the desired schema is that of table ${desired.name}`, {
      reason: "statement",
      table: name,
    });
  }
  if (desired.columns.length === 0) {
    throw new RecreationError(`${name}: no column is left`, { reason: "statement", table: name });
  }
  checkIncoming(current, desired);
}

/**
 * Checks the foreign keys of other tables, which are recreated after the swap and must not fail
 * then.
 */
function checkIncoming(current: TableSchema, desired: TableSchema): void {
  for (const key of desired.referencedBy ?? []) {
    const columns: readonly string[] = key.references?.columns ?? [];
    const has = (names: readonly string[] = []): boolean => isSameSet(names, columns);
    const isKey = desired.constraints.some(({ type, columns }) =>
      (type === "primary_key" || type === "unique") && has(columns)
    ) || desired.indexes.some(({ unique, valid, keys }) =>
      unique && valid && has(keys)
    );
    if (!isKey) {
      throw new RecreationError(
        `${current.name}: ${key.name} of ${key.from.table} references ` +
          `(${columns.join(", ")}), which would no longer be a key: drop ` +
          "that constraint first",
        { reason: "blocked", table: current.name },
      );
    }
    for (const column of desired.columns.filter(({ name }) => columns.includes(name))) {
      const before = current.columns.find(({ name }) => name === (column.source ?? column.name));
      if (before === undefined || canReference(before.type, column.type)) continue;
      throw new RecreationError(
        `${current.name}: ${key.name} of ${key.from.table} references ${column.name}, whose ` +
          `type changes from ${before.type} to ${column.type}: drop the constraint first, ` +
          "change both columns, and add it again",
        { reason: "blocked", table: current.name },
      );
    }
  }
}

function canReference(before: string, after: string): boolean {
  const bare = (type: string): string => normalizeType(type).replace(/\([^()]*\)/, "");
  const [a, b] = [bare(before), bare(after)];
  return a === b || FAMILIES.some((family) => family.includes(a) && family.includes(b));
}

/** Returns the warnings of a plan. */
export function warnAbout({ current, desired, copy }: RecreationPlan): string[] {
  const warnings: string[] = [];
  const dropped = current.columns.filter(({ name }) =>
    !desired.columns.some((column) =>
      (column.source ?? column.name) === name && column.added !== true
    )
  );
  if (dropped.length > 0) {
    warnings.push(`the values of ${dropped.map(({ name }) => name).join(", ")} are lost`);
  }
  for (const { name, valid } of current.indexes) {
    if (!valid) warnings.push(`index ${name} is invalid and is not recreated`);
  }
  if (copy.key.length === 0) {
    warnings.push(
      "the table has no key to order batches by, so all rows are copied by one statement",
    );
  }
  return warnings;
}
