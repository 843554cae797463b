import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { AuthConfig } from "../../auth/config/config.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { findModules, loadModules } from "../project/load_modules.ts";

/** A loaded configuration. */
export interface LoadedAuthConfig {
  readonly config: AuthConfig;
  /** The modules that were loaded, relative to the project. */
  readonly files: readonly string[];
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
 * Loads the configuration of a project's auth functions. Its modules run without a database: a
 * connection is refused, and variables of the environment that are not set have a placeholder.
 *
 * @throws {ConfigurationError} If there is none, or several different ones.
 * @throws {BuildError} If a module cannot be built.
 */
export async function loadAuthConfig(options: LoadOptions): Promise<LoadedAuthConfig> {
  const { root, from } = options;
  const [file, name] = (from ?? "").split("#");
  const files = from === undefined ? findConfigModules(options) : [file];
  if (from !== undefined && !existsSync(resolve(root, file))) {
    throw new ConfigurationError(
      `${file} does not exist: auth.config in trellis.config.ts, or --from`,
    );
  }
  const { value, configs } = await loadModules({
    root,
    schemaFile: options.schemaFile,
    files,
    name,
  });
  const found = value === undefined ? configs : [value as AuthConfig];
  const [first, ...others] = [...new Set(found)];
  if (first === undefined) {
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
  return { config: first, files };
}

/** Returns whether a project configures auth functions. Loads nothing. */
export function hasAuthConfig(options: LoadOptions): boolean {
  return options.from !== undefined || findConfigModules(options).length > 0;
}

function findConfigModules({ root, functionsDir }: LoadOptions): string[] {
  return findModules(root, functionsDir, /\b(?:defineAuth|configureSessionAuth)\(/);
}
