import { resolve } from "node:path";
import { namesDistSql } from "../database/deployed_to_distsql.ts";
import { type ClientWatch, createClientWatch } from "./client_watch.ts";
import type { DevServerOptions } from "./dev_server_options.ts";
import type { FunctionStore } from "./functions/function_store.ts";
import { createMigrationWatch, type MigrationWatch } from "./local_migrations.ts";
import type { LocalProject } from "./open_project.ts";
import { createFolderWatcher, type FolderWatcher } from "./watch_folders.ts";

/** Keeps the types of `trellis generate client` up to date. */
export function watchClientTypes(
  { root, config, terminal }: DevServerOptions,
  store: FunctionStore,
): ClientWatch {
  const watch = createClientWatch({
    root,
    config,
    list: () => store.list(),
    onWritten: (path) => terminal.note(`updated ${path}`),
    onFailed: (reason) => terminal.warn(reason),
  });
  watch.update();
  return watch;
}

/** Applies new migrations of a project, and names statements that its provider will refuse. */
export function watchMigrations(
  { root, config, terminal }: DevServerOptions,
  { database, sources, store, recorder }: LocalProject,
  settleCalls: () => Promise<void>,
): MigrationWatch {
  return createMigrationWatch({
    folder: resolve(root, config.database.migrationsDir),
    database,
    terminal,
    config,
    namesDistSql: () => [...sources].some(namesDistSql),
    onHeld: () => recorder.emit({ type: "migrations" }),
    settleCalls,
    onRebuilt: () => store.invalidate(),
  });
}

/** What follows the files of a project. */
export interface Followers {
  readonly clientTypes: ClientWatch;
  readonly migrations: MigrationWatch;
}

/**
 * Reloads functions when a file in a watched folder changes, updates the types of clients, and
 * applies new migrations.
 */
export function watchProject(
  { root, terminal }: DevServerOptions,
  { environment, store, recorder }: LocalProject,
  { clientTypes, migrations }: Followers,
): FolderWatcher {
  const watcher = createFolderWatcher(async function onChange() {
    if (environment.refresh()) store.invalidate();
    migrations.update();
    const before = store.list();
    try {
      await store.refresh();
    } catch (error) {
      terminal.warn((error as Error).message);
    }
    if (store.list() !== before) recorder.emit({ type: "functions" });
    clientTypes.update();
    watchFolders();
  });
  const watchFolders = () =>
    watcher.watch(new Set([root, ...store.folders(), ...migrations.folders()]));
  watchFolders();
  return watcher;
}
