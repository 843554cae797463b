import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { LambdaContext } from "../../core/http/lambda.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { RegisteredOperation } from "../../validation/openapi/registry.ts";
import { findFunctionFiles, type FunctionFile } from "../discovery/function_files.ts";
import { findRouteFiles } from "../discovery/route_files.ts";
import { importFile } from "../import_file.ts";
import { BuildError, toLoadError } from "./build_error.ts";
import { bundleFunction } from "./bundle.ts";
import { getStamp, type Inputs, isChanged } from "./file_stamps.ts";

/** A function that can be called. */
export interface LoadedFunction {
  readonly handler: (event: unknown, context: LambdaContext) => unknown;
  /** What `defineApiHandler` knows of it. */
  readonly operation?: RegisteredOperation;
}

/** Options of {@link createFunctionStore}. */
export interface FunctionStoreOptions {
  /** Absolute path of the project. */
  readonly root: string;
  /** Absolute path of the functions' folder. */
  readonly functionsDir: string;
  /** Absolute path of the folder for bundles; what is in it is removed. */
  readonly outDir: string;
  /** Called before a function's sources run, with their paths. */
  readonly beforeLoad?: (files: Iterable<string>) => void;
  /** Told of each function that was loaded. */
  readonly onLoaded?: (fn: FunctionFile, isReload: boolean) => void;
  /** Told of each new fault. */
  readonly onFailed?: (fn: FunctionFile, error: BuildError) => void;
}

/** The functions of a project: found by their files, built at the first call, built again after a change. */
export interface FunctionStore {
  /** The functions by name, as the last scan found them. */
  list(): readonly FunctionFile[];
  /** The API functions, the more specific routes first. */
  routes(): readonly FunctionFile[];
  /** Looks for files that came or went; tells whether any folder has changed. */
  scan(): boolean;
  /** Loads a function, anew when a source has changed. */
  load(fn: FunctionFile): Promise<LoadedFunction>;
  /** What is known of a function without loading it. */
  peek(fn: FunctionFile): { readonly operation?: RegisteredOperation; readonly error?: BuildError };
  /** Loads again what was loaded and has changed. */
  refresh(): Promise<void>;
  /** Lets every function be loaded anew, since the environment has changed. */
  invalidate(): void;
  /** The folders whose changes matter. */
  folders(): Set<string>;
}

interface State {
  inputs: Inputs;
  loaded?: LoadedFunction;
  code?: string;
  file?: string;
  error?: BuildError;
  isStale?: boolean;
  building?: Promise<LoadedFunction>;
}

/**
 * Makes the store of a project's functions.
 *
 * @param options Folders, and who is told.
 * @returns The store.
 * @throws {ConfigurationError} When the functions' folder is missing or not as it should be.
 */
export function createFunctionStore(options: FunctionStoreOptions): FunctionStore {
  const { root, functionsDir, outDir } = options;
  const states = new Map<string, State>();
  let folders: Inputs = new Map();
  let functions: readonly FunctionFile[] = [];
  let routes: readonly FunctionFile[] = [];
  // a module's address is never used twice in a process: it would be the old module
  const prefix = Date.now().toString(36);
  let bundles = 0;
  rmSync(outDir, { recursive: true, force: true });
  mkdirSync(outDir, { recursive: true });
  scan();

  function scan(): boolean {
    if (folders.size > 0 && !isChanged(folders)) return false;
    // remembered before they are read, so that a change meanwhile is seen the next time
    const present = foldersIn(functionsDir);
    const api = join(functionsDir, "api");
    const found = findFunctionFiles(functionsDir);
    const files = new Map(found.map((fn) => [fn.file, fn]));
    routes = existsSync(api) ? findRouteFiles(api).map(({ file }) => files.get(file)!) : [];
    functions = found;
    folders = present;
    for (const file of states.keys()) if (!files.has(file)) states.delete(file);
    return true;
  }

  function load(fn: FunctionFile): Promise<LoadedFunction> {
    let state = states.get(fn.file);
    if (state === undefined) states.set(fn.file, state = { inputs: new Map() });
    if (state.building !== undefined) return state.building;
    if (
      state.loaded !== undefined && state.error === undefined && !state.isStale &&
      !isChanged(state.inputs)
    ) {
      return Promise.resolve(state.loaded);
    }
    const current = state;
    return state.building = rebuild(fn, current).finally(() => current.building = undefined);
  }

  async function rebuild(fn: FunctionFile, state: State): Promise<LoadedFunction> {
    const inputs: Inputs = new Map();
    const isReload = state.loaded !== undefined || state.error !== undefined;
    try {
      const outfile = join(outDir, `${fn.name}-${prefix}-${++bundles}.mjs`);
      const { code } = await bundleFunction(
        { name: fn.name, file: fn.file, root, outfile },
        inputs,
      );
      options.beforeLoad?.(inputs.keys());
      if (
        code !== state.code || state.isStale || state.error !== undefined ||
        state.loaded === undefined
      ) {
        writeFileSync(outfile, code);
        state.loaded = await evaluate(fn, outfile);
        if (state.file !== undefined) rmSync(state.file, { force: true });
        Object.assign(state, { code, file: outfile, isStale: false, error: undefined });
        options.onLoaded?.(fn, isReload);
      }
      return state.loaded;
    } catch (error) {
      if (!(error instanceof BuildError)) throw error;
      if (error.message !== state.error?.message) options.onFailed?.(fn, error);
      state.error = error;
      throw error;
    } finally {
      state.inputs = inputs;
    }
  }

  async function evaluate(fn: FunctionFile, file: string): Promise<LoadedFunction> {
    let module: { handler?: LoadedFunction["handler"] & { operation?: RegisteredOperation } };
    try {
      module = await importFile(file);
    } catch (error) {
      throw toLoadError(fn.name, error, root);
    }
    const { handler } = module;
    if (typeof handler !== "function") {
      const message =
        `${fn.file} exports no handler: export const handler = define…Handler({ … })(…)`;
      throw new BuildError(fn.name, [{ message }], { cause: new ConfigurationError(message) });
    }
    return { handler, operation: handler.operation };
  }

  return {
    list: () => functions,
    routes: () => routes,
    scan,
    load,
    peek(fn) {
      const state = states.get(fn.file);
      return { operation: state?.loaded?.operation, error: state?.error };
    },
    async refresh(): Promise<void> {
      scan();
      const known = functions.filter(({ file }) => states.has(file));
      await Promise.allSettled(known.map((fn) => load(fn)));
    },
    invalidate(): void {
      for (const state of states.values()) state.isStale = true;
    },
    folders(): Set<string> {
      const all = new Set(folders.keys());
      for (const { inputs } of states.values()) {
        for (const file of inputs.keys()) all.add(dirname(file));
      }
      return all;
    },
  };
}

function foldersIn(folder: string): Inputs {
  const found: Inputs = new Map([[folder, getStamp(folder)]]);
  if (!existsSync(folder)) return found;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(path, getStamp(path));
  }
  return found;
}
