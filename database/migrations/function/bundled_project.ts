import type { DistSqlOptions } from "../../../distsql/engine.ts";

/** The migrations and grants of a project, with the settings of `trellis.config.ts`. */
export interface BundledProject {
  /** Identifies the content. The function refuses requests for another one. */
  readonly digest: string;
  /** Migrations and drizzle-kit's journal by path in their folder: `0001_notes.sql`. */
  readonly migrations: Readonly<Record<string, string>>;
  /** Permission files by name. */
  readonly permissions: Readonly<Record<string, string>>;
  readonly migrationsTable: string;
  readonly migrationsSchema: string;
  readonly translation?: DistSqlOptions;
}

/**
 * Returns the project in the bundle of a migration function. `trellis build` replaces this module.
 *
 * @returns The project; `undefined` in code that is not built.
 */
export function getBundledProject(): BundledProject | undefined {
  return undefined;
}
