import { type ClientWatch, createClientWatch } from "./client_watch.ts";
import type { DevServerOptions } from "./dev_server_options.ts";
import type { FunctionStore } from "./function_store.ts";
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
    onWritten: (path) => terminal.progress(`updated ${path}`),
    onFailed: (reason) => terminal.warn(reason),
  });
  watch.update();
  return watch;
}

/** Reloads functions when a file in a watched folder changes, and updates the types of clients. */
export function watchProject(
  { root, terminal }: DevServerOptions,
  { environment, store, recorder }: LocalProject,
  clientTypes: ClientWatch,
): FolderWatcher {
  const watcher = createFolderWatcher(async function onChange() {
    if (environment.refresh()) store.invalidate();
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
  const watchFolders = () => watcher.watch(new Set([root, ...store.folders()]));
  watchFolders();
  return watcher;
}
