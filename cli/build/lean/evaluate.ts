import { toBareSpecifier } from "../../analysis/package_specifier.ts";
import type { Project } from "../../analysis/project.ts";
import { Slicer } from "../../analysis/schema_slice.ts";
import { TRELLIS } from "../../analysis/resolve_module.ts";
import type { ts } from "../../analysis/typescript.ts";
import { DatabaseOperation } from "../../../database/table_permission.ts";
import { createPackageLoader, type PackageLoader } from "../../openapi/package_loader.ts";
import { runSlice } from "../../openapi/run_slice.ts";
import { withoutClock } from "../precompile_queries/without_clock.ts";
import { isDrizzleModule, loadTables } from "./drizzle_imports.ts";

/**
 * Evaluates expressions with drizzle only: without a clock, the environment and other packages.
 *
 * @returns The values; expressions that cannot be evaluated are missing.
 */
export async function evaluate(
  project: Project,
  expressions: readonly ts.Expression[],
): Promise<Map<ts.Expression, unknown>> {
  const slicer = new Slicer(project, "tables");
  const units = expressions.map((each) => slicer.add(each).unit);
  return await runSlice(withoutClock(slicer.finish()), createDrizzleLoader(), (values) => {
    const found = new Map<ts.Expression, unknown>();
    expressions.forEach((expression, index) => {
      try {
        found.set(expression, readAll(values.getValue(units[index])));
      } catch {
        // it stays in the sources
      }
    });
    return found;
  });
}

/** Evaluates the members of a namespace, which are getters. */
function readAll(value: unknown): unknown {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) Object.values(value);
  return value;
}

function createDrizzleLoader(): PackageLoader {
  const load = createPackageLoader();
  return async function loadDrizzle(specifier, from) {
    const name = toBareSpecifier(specifier);
    if (isDrizzleModule(name)) return await load(specifier, from);
    const tables = await loadTables(name);
    if (name === `${TRELLIS}/database`) return { ...tables, DatabaseOperation };
    if (tables !== undefined) return tables;
    throw new Error("trellis build evaluates no code of other packages");
  };
}
