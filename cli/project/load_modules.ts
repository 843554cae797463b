import type { Plugin } from "esbuild";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { AuthConfig } from "../../auth/config/config.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { bundleModules, importModules } from "../sources/import_modules.ts";
import { resolveOwnModule } from "../sources/own_modules.ts";

/** Which modules are loaded. */
export interface ModuleOptions {
  /** Absolute path of the project. */
  readonly root: string;
  /** Absolute path of the file with the auth tables, which may be missing. */
  readonly schemaFile: string;
  /** The modules, relative to the project. */
  readonly files: readonly string[];
  /** The name of an export of the first module that is returned. */
  readonly name?: string;
}

/** What modules declared while they were loaded. */
export interface LoadedModules {
  /** The export {@link ModuleOptions.name}. */
  readonly value?: unknown;
  /** The configurations of `defineAuth` and `configureSessionAuth`. */
  readonly configs: readonly AuthConfig[];
  /** The exports of the file with the auth tables. */
  readonly authTables: Readonly<Record<string, unknown>>;
}

/** Key of the list in the global object that receives configurations. */
const RECORD = "@trellis/fn auth configurations";

/** Value of environment variables that are not set: valid as a URL and as a secret. */
const PLACEHOLDER = "http://localhost:3000/not-set-0123456789-0123456789";

/**
 * Loads modules of a project. They run without a database: a connection is refused, and variables of
 * the environment that are not set have a placeholder.
 *
 * @throws {ConfigurationError} If a module throws.
 * @throws {BuildError} If a module cannot be built.
 */
export async function loadModules(options: ModuleOptions): Promise<LoadedModules> {
  const { root, schemaFile, files, name } = options;
  const modules = name === undefined
    ? files.map((each) => `import ${JSON.stringify(`./${each}`)};`)
    : [`export { ${name} as value } from ${JSON.stringify(`./${files[0]}`)};`];
  const contents = [
    ...modules,
    ...existsSync(schemaFile) ? [`export * as authTables from ${JSON.stringify(schemaFile)};`] : [],
  ].join("\n");
  const code = await bundleModules({
    root,
    name: files.join(", "),
    source: { contents, resolveDir: root, sourcefile: join(root, "loaded-modules.ts") },
    command: "trellis generate",
    options: { plugins: [stubPlugin(schemaFile)] },
  });
  // one at a time: what modules declare is collected in one place
  const run = lastExecution.then(() => executeOnce(root, code, files));
  lastExecution = run.catch(() => {});
  return await run;
}

let lastExecution: Promise<unknown> = Promise.resolve();
/** The last execution, which the other checks of `trellis check all` use too. */
let last:
  | { readonly root: string; readonly code: string; readonly loaded: LoadedModules }
  | undefined;

async function executeOnce(
  root: string,
  code: string,
  files: readonly string[],
): Promise<LoadedModules> {
  if (last?.root !== root || last.code !== code) {
    last = { root, code, loaded: await execute(root, code, files) };
  }
  return last.loaded;
}

/** Executes bundled modules and records what they declare. */
async function execute(
  root: string,
  code: string,
  files: readonly string[],
): Promise<LoadedModules> {
  const configs: AuthConfig[] = [];
  const globals = globalThis as Record<symbol, unknown>;
  globals[Symbol.for(RECORD)] = configs;
  const name = files.join(", ");
  try {
    type Exports = { value?: unknown } & Partial<Pick<LoadedModules, "authTables">>;
    const { value, authTables = {} } = await importModules<Exports>({ root, name }, code);
    return { value, configs, authTables };
  } catch (cause) {
    throw new ConfigurationError(
      `${name} cannot be loaded: ${
        (cause as Error).message
      }. It runs without a database, and with placeholders ` +
        "for variables of the environment that are not set",
      { cause },
    );
  } finally {
    delete globals[Symbol.for(RECORD)];
  }
}

const NAMESPACE = "trellis-loaded";
/** Matches an entry point of this package, and not a file of it. */
const OWN = /^(?:jsr:|npm:)?\/?@trellis\/fn(?:@[^/]*)?(?:\/(.*))?$/;

/** Replaces what reads the environment, connects, or registers the configuration. */
function stubPlugin(schemaFile: string): Plugin {
  return {
    name: "loaded-modules",
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

const RECORD_CONFIG = `const record = (config) => {
  globalThis[Symbol.for(${JSON.stringify(RECORD)})].push(config);
};
export const configureSessionAuth = (getDb, config) => record(config);
export const defineAuth = (getDb, config) => {
  record(config);
  const value = (mode) => () => ({ mode, authenticate() {} });
  return { session: value("session"), apiKey: value("api-key"), jwt: value("jwt"), getAuth() {} };
};`;

const READ_ENVIRONMENT = `const placeholder = ${JSON.stringify(PLACEHOLDER)};
export const getRequiredEnv = (name) => process.env[name] || placeholder;
export const defineEnv = (definition, options) => new Proxy(real.defineEnv(definition, options), {
  get(target, name) {
    try { return target[name]; } catch { return placeholder; }
  },
});`;

const REFUSE_CONNECTION = `export function getDrizzleClient() {
  throw new Error("getDrizzleClient() was called while the module was loaded. Call it in a function");
}`;

/** Modules enqueue no jobs while they are loaded. */
const REPLACE_DELIVERY = `export const createSqsDelivery = (options) => real.createSqsDelivery({
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
