import { resolve } from "node:path";
import { namesDistSql } from "../database/deployed_to_distsql.ts";
import type { DevServerOptions } from "./dev_server_options.ts";
import type { FunctionStore } from "./functions/function_store.ts";
import { createMigrationWatch, type MigrationWatch } from "./local_migrations.ts";
import type { LocalProject } from "./open_project.ts";
import { existsSync, type FSWatcher, readFileSync, watch } from "node:fs";
import { MARKER, planClientTypes } from "../client/client_types.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { applyGeneratedFiles } from "../files/generated_files.ts";
import { buildProjectDocument } from "../openapi/project_document.ts";

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

/** Watches a changing set of folders. */
interface FolderWatcher {
  /** Replaces the watched folders. After `stop` it watches none: a watch keeps the process running. */
  watch(folders: ReadonlySet<string>): void;
  stop(): void;
}

/** Editors write a file in several steps. */
const DEBOUNCE_MS = 60;

/**
 * Creates a watcher that reports changes soon after they happen. It may miss changes: compare file
 * stamps before relying on a file.
 *
 * @param onChange Called once for changes that happen together.
 */
function createFolderWatcher(onChange: () => void): FolderWatcher {
  const watchers = new Map<string, FSWatcher>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  function scheduleChange(): void {
    clearTimeout(timer);
    timer = setTimeout(onChange, DEBOUNCE_MS);
  }

  function drop(folder: string): void {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  }

  return {
    watch(folders): void {
      if (isStopped) return;
      for (const folder of watchers.keys()) if (!folders.has(folder)) drop(folder);
      for (const folder of folders) {
        if (watchers.has(folder)) continue;
        try {
          const watcher = watch(folder, scheduleChange);
          watcher.on("error", () => drop(folder));
          watchers.set(folder, watcher);
        } catch {
          // the folder was deleted, or the system's limit of watches is reached
        }
      }
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
      for (const folder of [...watchers.keys()]) drop(folder);
    },
  };
}

/** Keeps the generated types of a client up to date. */
interface ClientWatch {
  /** Generates the types in the background; calls during a run cause one more run. */
  update(): void;
  /** Resolves when nothing is running. */
  settled(): Promise<void>;
}

/** Options of {@link createClientWatch}. */
interface ClientWatchOptions {
  /** Absolute path of the project. */
  readonly root: string;
  readonly config: ResolvedConfig;
  /** Returns the current functions. */
  readonly list: () => readonly FunctionFile[];
  /** Called with the path of a file that was written. */
  readonly onWritten: (path: string) => void;
  /** Called with the reason why the file was not updated, once for the same reason. */
  readonly onFailed: (reason: string) => void;
}

/**
 * Creates a watch that updates the file of `trellis generate client`. A project without the
 * generated file is left alone.
 */
function createClientWatch(options: ClientWatchOptions): ClientWatch {
  const { root, config: { client: { file } }, onFailed } = options;
  let running: Promise<void> | undefined;
  let isStale = false;
  let failure: string | undefined;

  async function run(): Promise<void> {
    while (isStale) {
      isStale = false;
      const reason = await generate(options).catch((error: Error) => error.message);
      if (reason !== undefined && reason !== failure) onFailed(`${file} is stale: ${reason}`);
      failure = reason;
    }
    running = undefined;
  }

  return {
    update(): void {
      if (!isGenerated(resolve(root, file))) return;
      isStale = true;
      running ??= run();
    },
    settled: () => running ?? Promise.resolve(),
  };
}

/** Writes the file if it differs. Returns why it cannot be written. */
async function generate(options: ClientWatchOptions): Promise<string | undefined> {
  const { root, config, list, onWritten } = options;
  const { document, findings: [finding] } = await buildProjectDocument(root, list(), config);
  if (finding !== undefined) return `${finding.file}:${finding.line}: ${finding.message}`;
  const changes = planClientTypes(root, config.client.file, document);
  applyGeneratedFiles(root, changes);
  for (const { path, change } of changes) if (change === "updated") onWritten(path);
  return undefined;
}

function isGenerated(file: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8").slice(0, 200).includes(MARKER);
}
