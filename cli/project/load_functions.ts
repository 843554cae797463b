import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { bundleFunctions, type FunctionBundle, type FunctionSource } from "./bundle_functions.ts";
import { findRuns } from "./find_runs.ts";
import type { LoadError, LoadRequest, LoadResult } from "./load_protocol.ts";

/** Options of {@link loadFunctions}. */
export interface LoadOptions {
  /** Absolute path of the project. */
  readonly root: string;
  readonly functions: readonly FunctionSource[];
  /** URLs of the modules whose export `read` reads the facts: see `FactReader`. */
  readonly readers: readonly string[];
  /** Called with the number of functions that begin to load. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** What the readers found in a function. */
export interface FunctionFacts {
  readonly name: string;
  /** Absolute path. */
  readonly file: string;
  /** One value for each reader; missing if the function cannot be loaded. */
  readonly facts?: readonly unknown[];
  readonly error?: LoadError;
  /** Absolute paths of the sources. */
  readonly inputs: readonly string[];
}

/** Time for the modules of one function. */
const LIMIT_MS = 10_000;
/** Time for the start of the process. */
const START_MS = 60_000;

/** Variables that the process needs to run; no other reaches the project. */
const KEPT =
  /^(?:PATH|HOME|USERPROFILE|TMPDIR|TEMP|TMP|LANG|LC_\w+|TZ|SystemRoot|windir|APPDATA|LOCALAPPDATA|XDG_CACHE_HOME|DENO_DIR|DENO_NO_UPDATE_CHECK|NO_COLOR|NODE_PATH|BUN_INSTALL|npm_config_cache|NODE_EXTRA_CA_CERTS|DENO_CERT|DENO_TLS_CA_STORE)$/;

/**
 * Loads functions with this package itself and reads what they define. Each is bundled, without the definitions that it
 * does not use, and imported in another process, which has no credentials and no network.
 *
 * @throws {BuildError} If a source is invalid or an import cannot be resolved.
 * @throws {ConfigurationError} If the process ends early.
 */
export async function loadFunctions(options: LoadOptions): Promise<FunctionFacts[]> {
  const { root, functions } = options;
  if (functions.length === 0) return [];
  const bundles = await bundleFunctions(root, functions, { jobs: false, routes: false });
  const needs = await Promise.all(bundles.map(findRuns));
  for (
    const runs of [true, false].flatMap((jobs) => [{ jobs, routes: true }, { jobs, routes: false }])
  ) {
    if (!runs.jobs && !runs.routes) continue;
    const some = bundles.filter((_, at) =>
      needs[at].jobs === runs.jobs && needs[at].routes === runs.routes
    );
    if (some.length === 0) continue;
    for (const bundle of await bundleFunctions(root, some, runs)) {
      bundles[bundles.findIndex(({ name }) => name === bundle.name)] = bundle;
    }
  }
  const results = await runChild(bundles, options);
  return bundles.map(({ name, file, inputs }, at) => ({ ...results[at], name, file, inputs }));
}

let loads = 0;

async function runChild(
  bundles: readonly FunctionBundle[],
  options: LoadOptions,
): Promise<readonly LoadResult[]> {
  const folder = join(options.root, ".trellis");
  const isNewFolder = !existsSync(folder);
  const own = join(folder, `record-${process.pid}-${Date.now().toString(36)}-${++loads}`);
  try {
    mkdirSync(own, { recursive: true });
    const jobs = bundles.map(({ name, file, code, map, runs }, at) => {
      const path = join(own, `f${at}.mjs`);
      writeFileSync(path, withHooks(code));
      return { name, file, path, map, runs };
    });
    const resultFile = join(own, "results.json");
    const request: LoadRequest = {
      root: options.root,
      jobs,
      readers: options.readers,
      limitMs: LIMIT_MS,
      resultFile,
    };
    const requestFile = join(own, "request.json");
    writeFileSync(requestFile, JSON.stringify(request));
    await waitForChild(requestFile, options);
    return JSON.parse(readFileSync(resultFile, "utf8")) as LoadResult[];
  } finally {
    rmSync(own, { recursive: true, force: true });
    if (isNewFolder && existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
  }
}

/** Adds what runs the modules that are imported on demand, and what evaluates constants. */
function withHooks(code: string): string {
  const started = [...code.matchAll(/^var ((?:init|require)_\w+) = __(?:esm|commonJS)\(/gm)].map(
    ([, name]) => `await ${name}();`,
  );
  return `${code}\n${started.join("\n")}\n` +
    "export const __trellisEvaluate = (source) => eval(source);\n";
}

/**
 * Imports the program of the process, which would end this one. It is never called: packages of npm
 * and JSR contain the modules that others import.
 */
export const importChild = (): Promise<unknown> => import("./load_child.ts");

/** Runs the process to its end. */
function waitForChild(
  requestFile: string,
  { root, functions, onProgress }: LoadOptions,
): Promise<void> {
  const program = new URL(
    `./load_child${/\.[a-z]+$/.exec(new URL(import.meta.url).pathname)?.[0] ?? ".js"}`,
    import.meta.url,
  );
  const script = program.protocol === "file:" ? fileURLToPath(program) : program.href;
  const isDeno = process.versions.deno !== undefined;
  const args = isDeno ? ["run", "-A", "--deny-net", "--no-prompt", script] : [script];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT.test(name)));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...args, requestFile], {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let errors = "";
    let current: string | undefined;
    let done = 0;
    let timer = setTimeout(stop, START_MS);
    function stop(): void {
      child.kill("SIGKILL");
    }
    child.stdout.on("data", (chunk) => {
      for (const line of String(chunk).split("\n").filter((each) => each !== "")) {
        current = line;
        onProgress?.(++done, functions.length);
      }
      clearTimeout(timer);
      // a module that blocks the process cannot be stopped in it; each may be loaded a few times
      timer = setTimeout(stop, 3 * LIMIT_MS);
    });
    child.stderr.on("data", (chunk) => errors += chunk);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code === 0) return resolve();
      reject(
        new ConfigurationError(
          current === undefined
            ? `The process that loads the functions failed: ${errors.trim()}`
            : `${current} cannot be loaded: its module blocks or ends the process. ${errors.trim()}`,
        ),
      );
    });
  });
}
