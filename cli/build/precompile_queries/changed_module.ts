import type { Loader, OnLoadResult } from "esbuild";
import { dirname, extname } from "node:path";
import { applyEdits } from "../../analysis/slice_names.ts";
import { omitAuthImports } from "../auth_config_parts.ts";
import type { ModuleChanges } from "./statement_code.ts";

/**
 * Loads a module of the project with changes.
 *
 * @param text The text of the module.
 * @param omitsAuth True if imports of the auth library are omitted.
 */
export function loadChanged(
  path: string,
  text: string,
  { edits, imports }: ModuleChanges,
  omitsAuth: boolean,
): OnLoadResult {
  return loadContents(path, `${applyEdits(text, 0, edits)}\n${imports.join("\n")}\n`, omitsAuth);
}

/**
 * Loads a module of the project with other contents.
 *
 * @param omitsAuth True if imports of the auth library are omitted: the plugin for modules with an auth
 * configuration does not see this module.
 */
export function loadContents(path: string, contents: string, omitsAuth: boolean): OnLoadResult {
  return {
    contents: omitsAuth ? omitAuthImports(contents) ?? contents : contents,
    loader: extname(path).slice(1).replace(/^[cm]/, "") as Loader,
    resolveDir: dirname(path),
  };
}
