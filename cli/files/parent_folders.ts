import { dirname } from "node:path";

/** Lists a folder and the folders around it, from the inside out. */
export function* listParentFolders(folder: string): Generator<string> {
  for (let at = folder;; at = dirname(at)) {
    yield at;
    if (dirname(at) === at) return;
  }
}
