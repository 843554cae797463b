import { resolve } from "node:path";
import type { DevServerOptions } from "./dev_server_options.ts";
import type { FunctionStore } from "./functions/function_store.ts";
import type { MigrationWatch } from "./local_migrations.ts";
import type { LocalProject } from "./open_project.ts";
import { existsSync, type FSWatcher, readFileSync, watch } from "node:fs";
import { MARKER, planClientTypes } from "../client/client_types.ts";
import { applyGeneratedFiles } from "../files/generated_files.ts";
import { buildProjectDocument } from "../openapi/project_document.ts";

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

/**
 * Keeps the types of `trellis generate client` up to date. A project without the generated file is
 * left alone.
 */
export function watchClientTypes(options: DevServerOptions, store: FunctionStore): ClientWatch {
  const { root, config: { client: { file } }, terminal } = options;
  let running: Promise<void> | undefined;
  let isStale = false;
  let failure: string | undefined;

  async function run(): Promise<void> {
    while (isStale) {
      isStale = false;
      const reason = await generate(options, store).catch((error: Error) => error.message);
      if (reason !== undefined && reason !== failure) terminal.warn(`${file} is stale: ${reason}`);
      failure = reason;
    }
    running = undefined;
  }

  function update(): void {
    if (!isGenerated(resolve(root, file))) return;
    isStale = true;
    running ??= run();
  }
  update();
  return { update, settled: () => running ?? Promise.resolve() };
}

/** Writes the file if it differs. Returns why it cannot be written. */
async function generate(
  { root, config, terminal }: DevServerOptions,
  store: FunctionStore,
): Promise<string | undefined> {
  const { document, findings: [finding] } = await buildProjectDocument(root, store.list(), config);
  if (finding !== undefined) return `${finding.file}:${finding.line}: ${finding.message}`;
  const changes = planClientTypes(root, config.client.file, document);
  applyGeneratedFiles(root, changes);
  for (const { path, change } of changes) {
    if (change === "updated") terminal.note(`updated ${path}`);
  }
  return undefined;
}

function isGenerated(file: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8").slice(0, 200).includes(MARKER);
}
