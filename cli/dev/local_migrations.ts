import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { formatPlanFinding } from "../../sql/plan_finding.ts";
import { planMigrationFolder } from "../../database/migrations/plan_folder.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { isDeployedToDistSql, namesDistSql } from "../database/deployed_to_distsql.ts";
import { count } from "../terminal/generated_report.ts";
import { getStamp } from "../sources/file_stamps.ts";
import type { DevServerOptions } from "./dev_server_options.ts";
import { type HeldMigrations, renderHeld } from "./held_migrations.ts";
import type { LocalProject } from "./open_project.ts";

/** Applies new migrations while the server runs. */
export interface MigrationWatch {
  /** Returns the folders to watch. */
  folders(): string[];
  /** Applies new migrations if a file has changed, unless they must be confirmed. */
  update(): void;
  /** The migrations that wait for a confirmation. */
  held(): HeldMigrations | undefined;
  /** Applies the migrations that wait. */
  confirm(): Promise<void>;
  /** Resolves when the database is not being built again. */
  ready(): Promise<void>;
  /** Resolves when nothing is being applied. */
  settled(): Promise<void>;
}

/**
 * Creates a watch of a project's migrations. It also names the statements that Aurora DSQL refuses,
 * if the project is deployed there and the local database is another one.
 *
 * @param settleCalls Waits for running calls, before the database is built again.
 */
export function watchMigrations(
  options: DevServerOptions,
  project: LocalProject,
  settleCalls: () => Promise<void>,
): MigrationWatch {
  const { root, config, terminal } = options;
  const { database } = project;
  /** The folder may be missing. */
  const folder = resolve(root, config.database.migrationsDir);
  const warned = new Set<string>();
  let stamps = readStamps(folder);

  function warnOnce(text: string): void {
    if (!warned.has(text)) terminal.warn(text);
    warned.add(text);
  }

  async function warn(): Promise<void> {
    (await listRefused(folder, config, project)).forEach(warnOnce);
  }

  let held = database.held;
  let rebuilding = Promise.resolve();

  function hold(next: HeldMigrations | undefined): void {
    if (next !== undefined) terminal.warn(`${renderHeld(next)}\n${CONFIRM}`);
    held = next;
    project.recorder.emit({ type: "migrations" });
  }

  async function apply(isConfirmed: boolean): Promise<void> {
    await warn();
    try {
      if (isConfirmed && held?.isRebuild) await settleCalls();
      const outcome = await terminal.step(
        "Applying migrations",
        async () => await database.migrate?.(isConfirmed) ?? { applied: 0 },
      );
      hold(outcome.held);
      if (outcome.lost !== undefined) reportRebuild(outcome.lost);
      else if (outcome.applied > 0) {
        terminal.note(`${count(outcome.applied, "migration")} applied`);
      }
    } catch (error) {
      hold(undefined);
      terminal.warn(`${(error as Error).message}\n${ADVICE}`);
    }
  }

  function reportRebuild(lost: readonly string[]): void {
    project.store.invalidate(); // functions have to open the database again
    terminal.note("The local database was built again from its migrations");
    if (lost.length === 0) return;
    const lines = lost.map((each) => `    ${each}`);
    terminal.warn(`It lacks these rows, which are in ${BEFORE}:\n${lines.join("\n")}`);
  }

  if (held !== undefined) terminal.warn(`${renderHeld(held)}\n${CONFIRM}`);
  let work = warn();
  return {
    folders: () => [folder, join(folder, "meta")].filter((path) => existsSync(path)),
    update(): void {
      const current = readStamps(folder);
      if (database.migrate === undefined || current === stamps || hasEmptyFile(folder)) return;
      stamps = current;
      work = work.then(() => apply(false));
    },
    held: () => held,
    confirm(): Promise<void> {
      if (held === undefined) return work;
      work = work.then(() => apply(true));
      if (held.isRebuild) rebuilding = work;
      return work;
    },
    ready: () => rebuilding,
    settled: () => work,
  };
}

const ADVICE = "Fix the migration and save it. To begin again with an empty database: " +
  "trellis dev --reset";
const CONFIRM = "To apply: type m and press Enter here, or use the page";
const BEFORE = ".trellis/dev/pg.before until the next time";

function listFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => name.endsWith(".sql")).sort();
}

function readStamps(folder: string): string {
  const names = [...listFiles(folder), join("meta", "_journal.json")];
  return names.map((name) => `${name} ${getStamp(join(folder, name))}`).join("\n");
}

/** An editor may create a file before it writes its content. */
function hasEmptyFile(folder: string): boolean {
  return listFiles(folder).some((name) => getStamp(join(folder, name)).endsWith(" 0"));
}

/** Lists what Aurora DSQL refuses, one line each; none if the local database refuses it itself. */
async function listRefused(
  folder: string,
  config: ResolvedConfig,
  { database, sources }: LocalProject,
): Promise<string[]> {
  const isOther = database.migrate !== undefined && database.config?.provider !== "distsql";
  const isNamed = () => [...sources].some(namesDistSql);
  if (!isOther || !existsSync(folder) || !isDeployedToDistSql(config, isNamed)) return [];
  try {
    const { findings } = await planMigrationFolder(folder, "distsql", config.database.translation);
    return findings.filter(({ severity }) => severity === "error")
      .map((finding) => `Aurora DSQL will refuse ${formatPlanFinding(finding)}`);
  } catch {
    // an invalid folder is reported when it is applied
    return [];
  }
}
