import type { SliceUnit } from "../analysis/slice.ts";
import type { RegisteredOperation } from "../../validation/openapi/registry.ts";

/** A schema in the options of a handler. */
export type AnySchema = NonNullable<RegisteredOperation["schema"]>;

/**
 * Names schemas after their exports. If two files export different schemas with the same name, both
 * names get the file as a prefix.
 *
 * @param values Exported values with their units, in any order.
 * @returns Names by schema, and names that several files use.
 */
export function nameSchemas(
  values: readonly (readonly [unit: SliceUnit, value: unknown])[],
): { names: Map<AnySchema, string>; clashes: { name: string; units: SliceUnit[] }[] } {
  const owners = new Map<AnySchema, SliceUnit>();
  for (const [unit, value] of [...values].sort(([a], [b]) => getKey(a) < getKey(b) ? -1 : 1)) {
    if (unit.exportedAs !== undefined && isSchema(value) && !owners.has(value)) {
      owners.set(value, unit);
    }
  }
  const byName = new Map<string, SliceUnit[]>();
  for (const unit of owners.values()) {
    byName.set(unit.exportedAs!, [...byName.get(unit.exportedAs!) ?? [], unit]);
  }
  const clashes = [...byName].filter(([, units]) => units.length > 1).map(([name, units]) => ({
    name,
    units,
  }));
  const names = new Map<AnySchema, string>();
  for (const [schema, unit] of owners) {
    const isShared = byName.get(unit.exportedAs!)!.length > 1;
    names.set(schema, isShared ? `${toPrefix(unit.file)}.${unit.exportedAs}` : unit.exportedAs!);
  }
  return { names, clashes };
}

/** Checks for a schema of zod 4 or zod/mini. */
export function isSchema(value: unknown): value is AnySchema {
  return typeof value === "object" && value !== null && "_zod" in value;
}

function getKey({ file, line, label }: SliceUnit): string {
  return `${file}\0${String(line).padStart(9, "0")}\0${label}`;
}

/** Converts a path to a prefix: `src/billing/schemas.ts` becomes `src.billing.schemas`. */
function toPrefix(file: string): string {
  return file.replace(/\.[^./]+$/, "").replace(/[^\w]+/g, ".").replace(/^\.|\.$/g, "");
}
