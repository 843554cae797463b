import type { DistSqlCategory, DistSqlIncompatibility } from "./incompatibility.ts";

/** Returns entries of the registry that are about the same part of PostgreSQL. */
export function inCategory(
  category: DistSqlCategory,
  entries: readonly Omit<DistSqlIncompatibility, "category">[],
): DistSqlIncompatibility[] {
  return entries.map((entry) => ({ ...entry, category }));
}
