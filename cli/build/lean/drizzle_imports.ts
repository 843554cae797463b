import type { Project } from "../../analysis/project.ts";
import { findNamespaceMember } from "../../analysis/slice_names.ts";
import type { ts } from "../../analysis/typescript.ts";
import { TRELLIS } from "../../analysis/resolve_module.ts";

/** Entry points of this package that export drizzle's functions and tables. */
const OWN: ReadonlySet<string> = new Set([`${TRELLIS}/database/orm`, `${TRELLIS}/auth/schema`]);

/** Returns true for drizzle, and for modules of this package that re-export its functions or tables. */
export function isDrizzleModule(specifier: string): boolean {
  return /^drizzle-orm(?:\/|$)/.test(specifier) || OWN.has(specifier);
}

/** Tables of drizzle that other entry points of this package export. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  [`${TRELLIS}/database`]: ["rateLimits", "RATE_LIMIT_COLUMNS"],
  [`${TRELLIS}/jobs`]: ["trellisJobs"],
};

/** Returns true for exports of drizzle, and for tables and functions of drizzle that this package exports. */
export function isDrizzleExport(specifier: string, name: string): boolean {
  return isDrizzleModule(specifier) || TABLES[specifier]?.includes(name) === true;
}

/** Loads the tables that an entry point of this package exports. */
export async function loadTables(
  specifier: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  switch (specifier) {
    case `${TRELLIS}/database`:
      return await import("../../../database/rate_limits/table.ts");
    case `${TRELLIS}/jobs`:
      return await import("../../../jobs/jobs_table.ts");
  }
}

/** Checks whether a name, or a member of a namespace, is an import of drizzle. */
export function isDrizzleImport(project: Project, node: ts.Expression): boolean {
  const target = findNamespaceMember(project, node);
  return target?.kind === "package" && isDrizzleExport(target.module, target.name);
}
