import type { BuildResult, Plugin } from "esbuild";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import type { AuthConfig } from "../../auth/config.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { loadEsbuild } from "../build/load_esbuild.ts";
import { toBuildError } from "../dev/build_error.ts";
import { LOCAL_BUILD, localResolver } from "../dev/bundle.ts";
import { resolveOwnModule } from "../dev/own_modules.ts";
import { SOURCE } from "../discovery/source_files.ts";
import { toPortablePath } from "../inside_folder.ts";
import { importBundle } from "../import_bundle.ts";

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

/** Key of the list in the global object that receives configurations. */
const RECORD = "@trellis/fn auth configurations";

/** Value of environment variables that are not set: valid as a URL and as a secret. */
const PLACEHOLDER = "http://localhost:3000/not-set-0123456789-0123456789";

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
  const entry = name === undefined
    ? files.map((each) => `import ${JSON.stringify(`./${each}`)};`).join("\n")
    : `export { ${name} as config } from ${JSON.stringify(`./${file}`)};`;
  const { config, recorded } = await runEntry(options, entry, files);
  const found = config === undefined ? recorded : [config];
  const [first, ...others] = [...new Set(found)];
  if (first === undefined) {
    throw new ConfigurationError(
      files.length === 0
        ? "No module calls configureSessionAuth(getDb, config). Set auth.config in trellis.config.ts, such as src/auth.ts#authConfig"
        : `${
          files.join(", ")
        } did not call configureSessionAuth(getDb, config) when loaded. Export the configuration and set ` +
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

const SKIPPED = /^(?:[._].*|node_modules|dist|dist\.maps|npm|tests?|coverage)$/;
const CALL = "configureSessionAuth(";

/** Finds the modules beside and in the functions' folder that configure session auth. */
function findConfigModules({ root, functionsDir }: LoadOptions): string[] {
  const found: string[] = [];
  function visit(folder: string): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !SKIPPED.test(entry.name)) visit(path);
      else if (
        entry.isFile() && SOURCE.test(entry.name) &&
        !/[._](?:test|spec|d)\.[a-z]+$/.test(entry.name) &&
        readFileSync(path, "utf8").includes(CALL)
      ) {
        found.push(toPortablePath(root, path));
      }
    }
  }
  const start = resolve(root, functionsDir, "..");
  if (existsSync(start)) visit(start);
  return found.sort();
}

interface Recorded {
  readonly config?: AuthConfig;
  readonly recorded: readonly AuthConfig[];
}

async function runEntry(
  { root, schemaFile }: LoadOptions,
  contents: string,
  files: readonly string[],
): Promise<Recorded> {
  const { build } = await loadEsbuild("trellis generate auth-schema");
  const code = await build({
    stdin: { contents, resolveDir: root, sourcefile: join(root, "auth-config.ts") },
    outfile: join(root, "auth-config.mjs"),
    absWorkingDir: root,
    ...LOCAL_BUILD,
    plugins: [stubPlugin(schemaFile), localResolver(root, new Map())],
  }).then(
    (result: BuildResult<{ write: false }>) => result.outputFiles![0].text,
    (error: unknown) => {
      throw toBuildError("generate auth-schema", error);
    },
  );
  const key = JSON.stringify([code, Object.entries(process.env).sort()]);
  if (lastRun?.key !== key) lastRun = { key, recorded: await execute(root, code, files) };
  return lastRun.recorded;
}

/** The last execution. The same code has the same result: `check all` needs it several times. */
let lastRun: { readonly key: string; readonly recorded: Recorded } | undefined;

/** Executes the code of an entry and records the configurations that it makes. */
async function execute(root: string, code: string, files: readonly string[]): Promise<Recorded> {
  const recorded: AuthConfig[] = [];
  const globals = globalThis as unknown as Record<symbol, unknown>;
  globals[Symbol.for(RECORD)] = recorded;
  try {
    const { config } = await importBundle<{ config?: AuthConfig }>(root, "auth-config", code);
    return { config, recorded };
  } catch (cause) {
    throw new ConfigurationError(
      `${files.join(", ")} cannot be loaded: ${
        (cause as Error).message
      }. It runs without a database, and with placeholders ` +
        "for variables of the environment that are not set",
      { cause },
    );
  } finally {
    delete globals[Symbol.for(RECORD)];
  }
}

const NAMESPACE = "trellis-auth-config";
/** Matches an entry point of this package, and not a file of it. */
const OWN = /^(?:jsr:|npm:)?\/?@trellis\/fn(?:@[^/]*)?(?:\/(.*))?$/;

/** Replaces what reads the environment, connects, or registers the configuration. */
function stubPlugin(schemaFile: string): Plugin {
  return {
    name: "auth-config",
    setup(build): void {
      build.onResolve({ filter: OWN }, ({ path }) => {
        const entry = OWN.exec(path)![1] ?? "mod";
        return Object.hasOwn(STUBS, entry) ? { path: entry, namespace: NAMESPACE } : undefined;
      });
      build.onResolve(
        { filter: /^file:/, namespace: NAMESPACE },
        ({ path }) => ({ path, external: true }),
      );
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: path === MISSING ? "module.exports = {};" : renderStub(path),
        loader: "js",
      }));
      // the file that the command writes may be missing although the configuration imports it
      build.onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
        const isSchema = resolve(resolveDir, path) === schemaFile && !existsSync(schemaFile);
        return isSchema ? { path: MISSING, namespace: NAMESPACE } : undefined;
      });
    },
  };
}

const MISSING = "missing schema file";

const RECORD_CONFIG = `export function configureSessionAuth(getDb, config) {
  globalThis[Symbol.for(${JSON.stringify(RECORD)})].push(config);
}`;

const READ_ENVIRONMENT = `import process from "node:process";
const placeholder = ${JSON.stringify(PLACEHOLDER)};
export const getRequiredEnv = (name) => process.env[name] || placeholder;
export const defineEnv = (definition, options) => new Proxy(real.defineEnv(definition, options), {
  get(target, name) {
    try { return target[name]; } catch { return placeholder; }
  },
});`;

const REFUSE_CONNECTION = `export function getDrizzleClient() {
  throw new Error("getDrizzleClient() was called while the module was loaded. Call it in a function");
}`;

/** The configuration enqueues no jobs while it is read. */
const REPLACE_DELIVERY = `import process from "node:process";
export const createSqsDelivery = (options) => real.createSqsDelivery({
  queueUrl: process.env.JOBS_QUEUE_URL || ${JSON.stringify(PLACEHOLDER)}, ...options,
});`;

/** Replaced exports by entry point. */
const STUBS: Readonly<Record<string, string>> = {
  mod: READ_ENVIRONMENT,
  auth: RECORD_CONFIG,
  database: REFUSE_CONNECTION,
  env: READ_ENVIRONMENT,
  jobs: REPLACE_DELIVERY,
};

function renderStub(entry: string): string {
  const url = JSON.stringify(resolveOwnModule(`@trellis/fn${entry === "mod" ? "" : `/${entry}`}`));
  return `import * as real from ${url};\nexport * from ${url};\n${STUBS[entry]}\n`;
}
