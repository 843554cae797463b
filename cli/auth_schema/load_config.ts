import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { AuthConfig } from "../../auth/config/config.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { loadModules } from "../project/load_modules.ts";
import { findModules } from "../sources/find_sources.ts";

/** The loaded configurations of a project. */
export interface LoadedAuthConfigs {
  readonly configs: readonly AuthConfig[];
  /** The modules that were loaded, relative to the project. */
  readonly files: readonly string[];
  /** The tables of the file with the auth tables. */
  readonly generated: ReadonlySet<unknown>;
}

/** The only configuration of a project, or the chosen one. */
export interface LoadedAuthConfig extends Pick<LoadedAuthConfigs, "files" | "generated"> {
  readonly config: AuthConfig;
}

/** Options of {@link loadAuthConfig}. */
export interface LoadOptions {
  /** Absolute path of the project. */
  readonly root: string;
  /** Folder of the functions, relative to the project. */
  readonly functionsDir: string;
  /** `src/auth.ts`, or `src/auth.ts#authConfig` for an export. */
  readonly from?: string;
  /** Absolute path of the file with the auth tables, which may be missing. */
  readonly schemaFile: string;
}

/**
 * Loads the configurations of a project's auth functions. Its modules run without a database: a
 * connection is refused, and variables of the environment that are not set have a placeholder.
 *
 * @throws {ConfigurationError} If a module cannot be loaded.
 * @throws {BuildError} If a module cannot be built.
 */
export async function loadAuthConfigs(options: LoadOptions): Promise<LoadedAuthConfigs> {
  const { root, from, schemaFile } = options;
  const [file, name] = (from ?? "").split("#");
  const files = from === undefined ? findConfigModules(options) : [file];
  if (from !== undefined && !existsSync(resolve(root, file))) {
    throw new ConfigurationError(
      `${file} does not exist: auth.config in trellis.config.ts, or --from`,
    );
  }
  const { value, configs, authTables } = await loadModules({ root, schemaFile, files, name });
  const found = value === undefined ? configs : [value as AuthConfig];
  return { configs: [...new Set(found)], files, generated: new Set(Object.values(authTables)) };
}

/**
 * Loads the configuration of a project's auth functions.
 *
 * @throws {ConfigurationError} If there is none, or several different ones.
 * @throws {BuildError} If a module cannot be built.
 */
export async function loadAuthConfig(options: LoadOptions): Promise<LoadedAuthConfig> {
  const { configs: [config, ...others], files, generated } = await loadAuthConfigs(options);
  if (config === undefined) {
    throw new ConfigurationError(
      files.length === 0
        ? "No module calls defineAuth(getDb, config). Set auth.config in trellis.config.ts, such as src/auth.ts#authConfig"
        : `${
          files.join(", ")
        } did not call defineAuth(getDb, config) when loaded. Export the configuration and set ` +
          "auth.config in trellis.config.ts, such as src/auth.ts#authConfig",
    );
  }
  if (others.length > 0) {
    throw new ConfigurationError(
      `${files.join(", ")} configure ${
        others.length + 1
      } different auth instances: choose one with --from`,
    );
  }
  return { config, files, generated };
}

/** Returns whether a project configures auth functions. Loads nothing. */
export function hasAuthConfig(options: LoadOptions): boolean {
  return options.from !== undefined || findConfigModules(options).length > 0;
}

function findConfigModules({ root, functionsDir }: LoadOptions): string[] {
  return findModules(root, functionsDir, /\b(?:defineAuth|configureSessionAuth)\(/);
}
