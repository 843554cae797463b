import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { readMigrationFolder } from "../../database/migrations/folder.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { type FileChange, planGeneratedFiles, toProjectPath } from "../files/generated_files.ts";
import {
  type Difference,
  groupSteps,
  renderStep,
  type Step,
} from "../schema_migration/difference.ts";
import { NO_DECISIONS } from "../schema_migration/decisions.ts";
import { loadExports } from "../schema_migration/load_schema.ts";
import { planDifference } from "../schema_migration/plan_difference.ts";
import type { AuthTable } from "./auth_table.ts";
import { describeUnnamedTables, findForeignTables } from "./foreign_tables.ts";
import { planMigrationFiles } from "./migration_file.ts";
import type { AuthFacts } from "./read_auth_config.ts";
import { MARKER, renderFile } from "./render_tables.ts";

/** The tables of an auth configuration, and the files that define and create them. */
export interface AuthSchemaPlan {
  /** All tables that the configuration needs. */
  readonly tables: readonly AuthTable[];
  readonly changes: readonly FileChange[];
  /** The statements of the migration. */
  readonly steps: readonly Step[];
  /** What needs a decision. Nothing is written then. */
  readonly findings: readonly string[];
  /** What the migrations have and no option or plugin needs. */
  readonly kept: readonly string[];
}

/**
 * Plans the file with the auth tables, and the migration from what the present migrations create.
 *
 * @throws {ConfigurationError} If the project has tables of better-auth that `AuthConfig.schema` does not name.
 * @throws {MigrationError} If the present migrations fail.
 */
export async function planAuthSchema(
  root: string,
  config: ResolvedConfig,
  { tables, given }: AuthFacts,
): Promise<AuthSchemaPlan> {
  const file = resolve(root, config.auth.schemaFile);
  const path = toProjectPath(root, file);
  const unnamed = await describeUnnamedTables(root, file, tables, given);
  if (unnamed !== undefined) throw new ConfigurationError(unnamed);
  const foreign = findForeignTables(tables, given);
  const own = tables.filter((table) => !foreign.tables.has(table.name));
  const text = renderFile(own);
  const changes = planGeneratedFiles({
    root,
    files: new Map([[path, text]]),
    marker: MARKER,
    ownFolders: [],
  });
  const source = { contents: text, resolveDir: dirname(file), sourcefile: file };
  const exports = await loadExports<Readonly<Record<string, unknown>>>(root, source, path);
  const migration = await planMigration(root, config, Object.values(exports));
  return {
    tables,
    changes: [...changes, ...migration.files],
    steps: migration.steps,
    findings: [...foreign.findings, ...migration.problems],
    // `column users.role`, `index users:users_role_idx`; tables of others are not the concern of this command
    kept: migration.kept.filter((label) =>
      own.some(({ name }) => label.includes(` ${name}.`) || label.includes(` ${name}:`))
    ),
  };
}

async function planMigration(
  root: string,
  { database: { migrationsDir } }: ResolvedConfig,
  exports: readonly unknown[],
): Promise<Difference & { readonly files: readonly FileChange[] }> {
  const folder = resolve(root, migrationsDir);
  const hasFolder = existsSync(folder);
  const difference = await planDifference({
    migrationsFolder: hasFolder ? folder : undefined,
    exports,
    decisions: NO_DECISIONS,
    isPartial: true,
  });
  const files = planMigrationFiles({
    dir: toProjectPath(root, migrationsDir),
    folder,
    present: hasFolder ? readMigrationFolder(folder) : undefined,
    name: "auth_schema",
    head: "Tables of better-auth, from trellis generate auth-schema.",
    files: groupSteps(difference.steps).map((steps) => steps.map(renderStep)),
    nowMs: Date.now(),
  });
  return { ...difference, files };
}
