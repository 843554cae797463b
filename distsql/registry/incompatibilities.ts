import type { IsoDay } from "./capabilities.ts";
import type { DistSqlAction, DistSqlCategory, DistSqlIncompatibility } from "./incompatibility.ts";
import { ALTER_ENTRIES } from "./alter_entries.ts";
import { INDEX_ENTRIES } from "./index_entries.ts";
import { OBJECT_ENTRIES } from "./object_entries.ts";
import { QUERY_ENTRIES } from "./query_entries.ts";
import { SESSION_ENTRIES } from "./session_entries.ts";
import { TABLE_ENTRIES } from "./table_entries.ts";
import { TYPE_ENTRIES } from "./type_entries.ts";

/**
 * Registry of the differences between PostgreSQL and the distributed-SQL provider, each with its
 * treatment, dates and sources. State of the provider: see `CAPABILITIES_AS_OF`.
 *
 * @example
 * ```ts
 * import { DIST_SQL_INCOMPATIBILITIES } from "@trellis/fn/database";
 *
 * for (const entry of DIST_SQL_INCOMPATIBILITIES) console.log(entry.id, entry.action, entry.advice);
 * ```
 */
export const DIST_SQL_INCOMPATIBILITIES: readonly DistSqlIncompatibility[] = [
  ...INDEX_ENTRIES,
  ...TABLE_ENTRIES,
  ...ALTER_ENTRIES,
  ...TYPE_ENTRIES,
  ...OBJECT_ENTRIES,
  ...QUERY_ENTRIES,
  ...SESSION_ENTRIES,
];

const BY_ID: ReadonlyMap<string, DistSqlIncompatibility> = new Map(
  DIST_SQL_INCOMPATIBILITIES.map((entry) => [entry.id, entry]),
);

/**
 * Returns the registry entries about one part of PostgreSQL.
 *
 * @param category The part.
 * @returns The entries, in the registry's order.
 *
 * @example
 * ```ts
 * import { DistSqlCategory, getByCategory } from "@trellis/fn/database";
 *
 * console.log(getByCategory(DistSqlCategory.Index).map((entry) => entry.id));
 * ```
 */
export function getByCategory(category: DistSqlCategory): DistSqlIncompatibility[] {
  return DIST_SQL_INCOMPATIBILITIES.filter((entry) => entry.category === category);
}

/**
 * Returns the registry entries with one treatment.
 *
 * @param action The treatment.
 * @returns The entries, in the registry's order.
 *
 * @example
 * ```ts
 * import { DistSqlAction, getByAction } from "@trellis/fn/database";
 *
 * console.log(getByAction(DistSqlAction.Recreate).map((entry) => entry.title));
 * ```
 */
export function getByAction(action: DistSqlAction): DistSqlIncompatibility[] {
  return DIST_SQL_INCOMPATIBILITIES.filter((entry) => entry.action === action);
}

/**
 * Returns an entry of the registry.
 *
 * @param id Stable name of the entry.
 * @returns The entry, or `undefined` if there is none.
 *
 * @example
 * ```ts
 * import { getIncompatibility } from "@trellis/fn/database";
 *
 * console.log(getIncompatibility("truncate")?.advice);
 * ```
 */
export function getIncompatibility(id: string): DistSqlIncompatibility | undefined {
  return BY_ID.get(id);
}

/**
 * Checks whether an entry applies on a day.
 *
 * @param entry The entry.
 * @param day The day, as `YYYY-MM-DD`.
 * @returns `true` from its first to its last day.
 */
export function isActiveOn(entry: DistSqlIncompatibility, day: IsoDay): boolean {
  return (entry.since === undefined || day >= entry.since) &&
    (entry.until === undefined || day <= entry.until);
}
