import { type FSWatcher, watch } from "node:fs";

/** Watches a changing set of folders. */
export interface FolderWatcher {
  /** Replaces the watched folders. */
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
export function createFolderWatcher(onChange: () => void): FolderWatcher {
  const watchers = new Map<string, FSWatcher>();
  let timer: ReturnType<typeof setTimeout> | undefined;

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
      clearTimeout(timer);
      for (const folder of [...watchers.keys()]) drop(folder);
    },
  };
}
