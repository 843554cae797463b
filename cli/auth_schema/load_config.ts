import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { toPortablePath } from "../files/inside_folder.ts";
import { loadTogether } from "../project/load_together.ts";
import type { LoadError } from "../project/load_protocol.ts";
import { getModuleUrl } from "../project/module_url.ts";
import { findModules } from "../sources/find_sources.ts";
import { readOnce } from "../sources/share_reads.ts";
import { formatDiagnostic } from "../terminal/generated_report.ts";
import type { AuthFacts } from "./read_auth_config.ts";

/** The configurations of a project, or why they cannot be loaded. */
export interface LoadedAuth {
  readonly facts?: AuthFacts;
  readonly errors: readonly LoadError[];
  /** Variables of the environment of which not all values could be tried. */
  readonly warnings?: readonly LoadError[];
  /** The modules that were loaded, relative to the project. */
  readonly files: readonly string[];
}

/**
 * Loads the configurations of a project's auth functions, as functions are loaded: without a database and without
 * secrets.
 *
 * @param from `src/auth.ts`, or `src/auth.ts#authConfig` for an export. Default: `auth.config`, else all modules that
 * configure auth functions.
 * @returns `undefined` if there is none.
 */
export async function loadAuth(
  root: string,
  { functionsDir, auth }: ResolvedConfig,
  from: string | undefined = auth.config,
): Promise<LoadedAuth | undefined> {
  const files = from === undefined
    ? findModules(root, functionsDir, /\b(?:defineAuth|configureSessionAuth)\(/)
    : [from.split("#")[0]];
  if (files.length === 0) return undefined;
  if (!existsSync(resolve(root, files[0]))) {
    throw new ConfigurationError(
      `${files[0]} does not exist: auth.config in trellis.config.ts, or --from`,
    );
  }
  const schemaFile = resolve(root, auth.schemaFile);
  const load = () =>
    loadTogether<AuthFacts>({
      root,
      files: [
        ...files.map((file) => resolve(root, file)),
        ...existsSync(schemaFile) ? [schemaFile] : [],
      ],
      reader: getModuleUrl(import.meta.url, "./read_auth_config"),
      data: { from, schemaFile: toPortablePath(root, schemaFile) },
      runs: { jobs: false, routes: true },
      // the configuration may import the file before the command writes it
      optionalFile: schemaFile,
    });
  return { ...await readOnce(JSON.stringify(["auth", root, files, from]), load), files };
}

/**
 * Loads the only configuration of a project's auth functions, or the chosen one.
 *
 * @throws {ConfigurationError} If there is none, there are several different ones, or it cannot be loaded.
 */
export async function loadAuthConfig(
  root: string,
  config: ResolvedConfig,
  from?: string,
): Promise<LoadedAuth & { readonly facts: AuthFacts }> {
  const loaded = await loadAuth(root, config, from);
  const { facts, errors = [], files = [] } = loaded ?? {};
  if (errors.length > 0) throw new ConfigurationError(errors.map(formatDiagnostic).join("\n"));
  const problem = describeCount(files, facts?.count ?? 0) ?? facts!.problem;
  if (problem !== undefined) throw new ConfigurationError(problem);
  return { ...loaded!, facts: facts! };
}

/** Returns what is wrong with the number of different configurations of modules. */
export function describeCount(files: readonly string[], count: number): string | undefined {
  if (files.length === 0) {
    return "No module calls defineAuth(getDb, config). Set auth.config in trellis.config.ts, such as src/auth.ts#authConfig";
  }
  if (count === 0) {
    return `${
      files.join(", ")
    } did not call defineAuth(getDb, config) when loaded. Export the configuration and set ` +
      "auth.config in trellis.config.ts, such as src/auth.ts#authConfig";
  }
  return count === 1
    ? undefined
    : `${files.join(", ")} configure ${count} different auth instances: choose one with --from`;
}
