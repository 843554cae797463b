import { type FSWatcher, watch } from "node:fs";

/** Watches folders that come and go. */
export interface FolderWatcher {
  /** Watches these folders, and no others any more. */
  watch(folders: ReadonlySet<string>): void;
  stop(): void;
}

/** Editors write a file in several steps. */
const SETTLE_MS = 60;

/**
 * Tells of changes soon after they were made. It is a convenience: who needs certainty looks at the files.
 *
 * @param onChange Called once for changes that come together.
 */
export function createFolderWatcher(onChange: () => void): FolderWatcher {
  const watchers = new Map<string, FSWatcher>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function settle(): void {
    clearTimeout(timer);
    timer = setTimeout(onChange, SETTLE_MS);
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
          const watcher = watch(folder, settle);
          watcher.on("error", () => drop(folder));
          watchers.set(folder, watcher);
        } catch {
          // gone again, or more than the system watches
        }
      }
    },
    stop(): void {
      clearTimeout(timer);
      for (const folder of [...watchers.keys()]) drop(folder);
    },
  };
}
