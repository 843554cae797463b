import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toPortablePath } from "../files/inside_folder.ts";
import { BuildError } from "../sources/build_error.ts";
import { readOnce } from "../sources/share_reads.ts";
import { withTemporaryFolder } from "../sources/temporary_folder.ts";
import {
  bundleFunctions,
  findBundleError,
  type FunctionBundle,
  type FunctionSource,
} from "./bundle_functions.ts";
import { findRuns } from "./find_runs.ts";
import { runInLoadProcess } from "./load_process.ts";
import type { LoadError, LoadRequest, LoadResult } from "./load_protocol.ts";

/** Options of {@link loadFunctions}. */
export interface LoadOptions {
  /** Absolute path of the project. */
  readonly root: string;
  readonly functions: readonly FunctionSource[];
  /** URLs of the modules whose export `read` reads the facts: see `FactReader`. */
  readonly readers: readonly string[];
  /** Called with the number of functions that begin to load, if there are many. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** What the readers found in a function. */
export interface FunctionFacts extends LoadResult {
  /** Absolute path. */
  readonly file: string;
  /** The same, relative to the project. */
  readonly path: string;
  /** Absolute paths of the sources. */
  readonly inputs: readonly string[];
}

/** Time for the modules of one function. */
const LIMIT_MS = 10_000;
/** Number of functions that take some seconds. */
const SLOW_COUNT = 50;

/** Bundles of functions and what readers found in them, by the functions. */
interface SharedLoad {
  readonly bundled: Promise<Bundled>;
  readonly loads: {
    readonly readers: readonly string[];
    readonly found: Promise<FunctionFacts[]>;
  }[];
}

/** Loads that share what they read. They run one after another, in the same process: its start takes longer than most. */
interface LoadQueue {
  last: Promise<unknown>;
}

/**
 * Loads functions with this package itself and reads what they define. Each is bundled, without the definitions that it
 * does not use, and imported in another process, which has no credentials and no network.
 *
 * @throws {ConfigurationError} If a function blocks or ends the process.
 */
export async function loadFunctions(options: LoadOptions): Promise<FunctionFacts[]> {
  const { root, functions, readers } = options;
  const sources = functions.map((
    { name, file, runs, optionalFile },
  ) => [name, file, runs, optionalFile]);
  const known = readOnce<SharedLoad>(
    JSON.stringify(["functions", root, sources]),
    () => ({ bundled: bundleAll(root, functions), loads: [] }),
  );
  let one = known.loads.find((each) => readers.every((reader) => each.readers.includes(reader)));
  if (one === undefined) {
    const queue = readOnce<LoadQueue>("loads", () => ({ last: Promise.resolve() }));
    const found = queue.last.then(() => load(options, known.bundled));
    queue.last = found.catch(() => {});
    known.loads.push(one = { readers, found });
  }
  const places = readers.map((reader) => one.readers.indexOf(reader));
  return (await one.found).map(({ facts, ...rest }) => ({
    ...rest,
    ...facts && { facts: places.map((at) => facts[at]) },
  }));
}

async function load(options: LoadOptions, bundled: Promise<Bundled>): Promise<FunctionFacts[]> {
  const { root, functions } = options;
  const { bundles, errors } = await bundled;
  const results = bundles.length === 0 ? [] : await runChild(bundles, options);
  const byName = new Map(results.map((result) => [result.name, result]));
  const inputs = new Map(bundles.map((bundle) => [bundle.name, bundle.inputs]));
  return functions.map(({ name, file }) => ({
    ...byName.get(name),
    ...errors.has(name) && { error: errors.get(name) },
    name,
    file,
    path: toPortablePath(root, file),
    inputs: inputs.get(name) ?? [file],
  }));
}

/** The bundles of functions, and the errors of those that cannot be bundled. */
interface Bundled {
  readonly bundles: readonly FunctionBundle[];
  readonly errors: ReadonlyMap<string, LoadError>;
}

/** Bundles functions, each with the code that it runs; those that cannot be bundled have an error. */
async function bundleAll(root: string, functions: readonly FunctionSource[]): Promise<Bundled> {
  const errors = new Map<string, LoadError>();
  let sound = functions;
  let bundles: FunctionBundle[] = [];
  const bundlePlain = async () => {
    bundles = sound.length === 0
      ? []
      : await bundleFunctions(root, sound, { jobs: false, routes: false });
  };
  try {
    await bundlePlain();
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    for (const fn of functions) {
      const found = await findBundleError(root, fn);
      if (found === undefined) continue;
      const [{ message, file, line }] = found.errors;
      errors.set(fn.name, {
        message,
        file: file ?? toPortablePath(root, fn.file),
        line: line ?? 1,
      });
    }
    // an error that occurs only when the functions are loaded together
    if (errors.size === 0) throw error;
    sound = functions.filter(({ name }) => !errors.has(name));
    await bundlePlain();
  }
  const needs = bundles.map((bundle, at) => sound[at].runs ?? findRuns(bundle));
  for (
    const runs of [
      { jobs: true, routes: true },
      { jobs: true, routes: false },
      { jobs: false, routes: true },
    ]
  ) {
    const some = bundles.filter((_, at) =>
      needs[at].jobs === runs.jobs && needs[at].routes === runs.routes
    );
    if (some.length === 0) continue;
    for (const bundle of await bundleFunctions(root, some, runs)) {
      bundles[bundles.findIndex(({ name }) => name === bundle.name)] = bundle;
    }
  }
  return { bundles, errors };
}

function runChild(
  bundles: readonly FunctionBundle[],
  options: LoadOptions,
): Promise<readonly LoadResult[]> {
  return withTemporaryFolder(options.root, "record", async (folder) => {
    const jobs = bundles.map(({ name, file, code, map, runs }, at) => {
      const path = join(folder, `f${at}.mjs`);
      writeFileSync(path, code);
      return { name, file, path, map, runs };
    });
    const resultFile = join(folder, "results.json");
    const request: LoadRequest = {
      root: options.root,
      jobs,
      readers: options.readers,
      limitMs: LIMIT_MS,
      resultFile,
    };
    const requestFile = join(folder, "request.json");
    writeFileSync(requestFile, JSON.stringify(request));
    let done = 0;
    await runInLoadProcess({
      root: options.root,
      requestFile,
      size: bundles.length,
      limitMs: LIMIT_MS,
      onBegin() {
        if (bundles.length > SLOW_COUNT) options.onProgress?.(++done, bundles.length);
      },
    });
    return JSON.parse(readFileSync(resultFile, "utf8")) as LoadResult[];
  });
}
