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

/** Checks whether a name, or a member of a namespace, is an import of drizzle. */
export function isDrizzleImport(project: Project, node: ts.Expression): boolean {
  const target = findNamespaceMember(project, node);
  return target?.kind === "package" && isDrizzleModule(target.module);
}
