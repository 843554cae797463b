import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { allowReconfiguration } from "../../../auth/session_auth.ts";
import type { LambdaContext } from "../../../core/http/lambda.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import type { RegisteredOperation } from "../../../validation/openapi/registry.ts";
import {
  findFunctionFiles,
  type FunctionFile,
  sortRoutes,
} from "../../discovery/function_files.ts";
import type { FunctionNaming } from "../../discovery/function_naming.ts";
import type { Route } from "../../../router/define_router.ts";
import { importFile } from "../../discovery/import_file.ts";
import { BuildError, toLoadError } from "../../sources/build_error.ts";
import { bundleFunction } from "../../sources/local_bundle.ts";
import { type Inputs, isChanged, stampFolders } from "../../sources/file_stamps.ts";

/** A loaded function. */
export interface LoadedFunction {
  readonly handler: ((event: unknown, context: LambdaContext) => unknown) & {
    /** The mode of `defineWebSocketHandler`. */
    readonly auth?: string;
  };
  /** The operation that `defineApiHandler` registered. */
  readonly operation?: RegisteredOperation;
  /** The routes of a router. */
  readonly routes?: readonly Route[];
  /** Settings of a router's Lambda function. */
  readonly resources?: Readonly<Record<string, unknown>>;
  /** True for the relay of jobs. */
  readonly isJobRelay?: boolean;
}

/** Options of {@link FunctionStore}. */
export interface FunctionStoreOptions {
  /** Absolute path of the project. */
  readonly root: string;
  /** Absolute path of the functions' folder. */
  readonly functionsDir: string;
  /** Folders and names from the configuration. */
  readonly naming?: FunctionNaming;
  /** Absolute path of the folder for bundles; its contents are deleted. */
  readonly outDir: string;
  /** Called with the source paths of a function before they run. */
  readonly beforeLoad?: (files: Iterable<string>) => void;
  /** Called after a function was loaded. */
  readonly onLoaded?: (fn: FunctionFile, isReload: boolean) => void;
  /** Called for each new build error. */
  readonly onFailed?: (fn: FunctionFile, error: BuildError) => void;
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
 * The functions of a project. Each is built on its first call and rebuilt after a change. Routers
 * have no routes before the first scan.
 */
export class FunctionStore {
  readonly #options: FunctionStoreOptions;
  readonly #states = new Map<string, State>();
  #folders: Inputs = new Map();
  #functions: readonly FunctionFile[] = [];
  #routes: readonly FunctionFile[] = [];
  /** The sources of routers; `undefined` until they are loaded. */
  #routers: Inputs | undefined;
  // module URLs must be unique: importing the same URL again returns the cached module
  readonly #prefix = Date.now().toString(36);
  #bundles = 0;

  /** @throws {ConfigurationError} If the functions folder is missing or invalid. */
  constructor(options: FunctionStoreOptions) {
    this.#options = options;
    // each function has its own copy of the project's modules, and is loaded again after a change
    allowReconfiguration();
    rmSync(this.#options.outDir, { recursive: true, force: true });
    mkdirSync(this.#options.outDir, { recursive: true });
    this.#readFiles();
    this.#routes = sortRoutes(this.#functions);
  }

  /**
   * Scans for added and removed files, and loads the routers, whose routes are in their handlers.
   *
   * @returns True if a folder or a router has changed.
   */
  async scan(): Promise<boolean> {
    const isKnown = this.#folders.size > 0 && !isChanged(this.#folders);
    if (isKnown && this.#routers !== undefined && !isChanged(this.#routers)) return false;
    if (!isKnown) this.#readFiles();
    const routers: Inputs = new Map();
    const routes = await Promise.all(
      this.#functions.filter(({ isRouter }) => isRouter).map((fn) => this.#readRouter(fn, routers)),
    );
    this.#routers = routers;
    this.#routes = sortRoutes([...this.#functions, ...routes.flat()]);
    return true;
  }

  #readFiles(): void {
    // stamped before reading, so that a concurrent change is detected by the next scan
    const present = stampFolders(this.#options.functionsDir);
    const { functionsDir, naming } = this.#options;
    const found = findFunctionFiles(functionsDir, naming);
    const files = new Set(found.map(({ file }) => file));
    this.#functions = found;
    this.#folders = present;
    for (const file of this.#states.keys()) if (!files.has(file)) this.#states.delete(file);
  }

  /** Loads a router. If loading fails, its routes stay and answer with the error. */
  async #readRouter(fn: FunctionFile, routers: Inputs): Promise<FunctionFile[]> {
    try {
      const { routes = [] } = await this.load(fn);
      return routes.map(({ method, path }) => ({ ...fn, method, path }));
    } catch (error) {
      if (!(error instanceof BuildError)) throw error;
      return this.#routes.filter(({ file, path }) => file === fn.file && path !== undefined);
    } finally {
      const inputs = this.#states.get(fn.file)?.inputs ?? [];
      for (const [file, stamp] of inputs) routers.set(file, stamp);
    }
  }

  /** Loads a function, or reloads it if a source has changed. */
  load(fn: FunctionFile): Promise<LoadedFunction> {
    let state = this.#states.get(fn.file);
    if (state === undefined) this.#states.set(fn.file, state = { inputs: new Map() });
    if (state.building !== undefined) return state.building;
    if (
      state.loaded !== undefined && state.error === undefined && !state.isStale &&
      !isChanged(state.inputs)
    ) {
      return Promise.resolve(state.loaded);
    }
    const current = state;
    return state.building = this.#rebuild(fn, current).finally(() => current.building = undefined);
  }

  async #rebuild(fn: FunctionFile, state: State): Promise<LoadedFunction> {
    const inputs: Inputs = new Map();
    const isReload = state.loaded !== undefined || state.error !== undefined;
    try {
      const outfile = join(
        this.#options.outDir,
        `${fn.name}-${this.#prefix}-${++this.#bundles}.mjs`,
      );
      const { code } = await bundleFunction(
        { name: fn.name, file: fn.file, root: this.#options.root, outfile },
        inputs,
      );
      this.#options.beforeLoad?.(inputs.keys());
      if (
        code !== state.code || state.isStale || state.error !== undefined ||
        state.loaded === undefined
      ) {
        writeFileSync(outfile, code);
        state.loaded = await this.#evaluate(fn, outfile);
        if (state.file !== undefined) rmSync(state.file, { force: true });
        Object.assign(state, { code, file: outfile, isStale: false, error: undefined });
        this.#options.onLoaded?.(fn, isReload);
      }
      return state.loaded;
    } catch (error) {
      if (!(error instanceof BuildError)) throw error;
      if (error.message !== state.error?.message) this.#options.onFailed?.(fn, error);
      state.error = error;
      throw error;
    } finally {
      state.inputs = inputs;
    }
  }

  async #evaluate(fn: FunctionFile, file: string): Promise<LoadedFunction> {
    let module: {
      handler?: LoadedFunction["handler"] & Omit<LoadedFunction, "handler">;
    };
    try {
      module = await importFile(file);
    } catch (error) {
      throw toLoadError(fn.name, error, this.#options.root);
    }
    const { handler } = module;
    if (typeof handler !== "function") {
      const message = `${fn.file} does not export a handler. Write export ` +
        `const handler = define…Handler({ … })(…)`;
      throw new BuildError(fn.name, [{ message }], { cause: new ConfigurationError(message) });
    }
    const { operation, routes, resources, isJobRelay } = handler;
    return { handler, operation, routes, resources, isJobRelay };
  }

  /** Returns the functions of the last scan, sorted by name. */
  list(): readonly FunctionFile[] {
    return this.#functions;
  }

  /**
   * Returns the routes, the most specific first: API functions, and an entry with the file and name
   * of its function for each route of a router.
   */
  routes(): readonly FunctionFile[] {
    return this.#routes;
  }

  /** Returns the state of a function without loading it. */
  peek(
    fn: FunctionFile,
  ): { readonly operation?: RegisteredOperation; readonly error?: BuildError } {
    const state = this.#states.get(fn.file);
    return { operation: state?.loaded?.operation, error: state?.error };
  }

  /** Reloads the loaded functions that have changed. */
  async refresh(): Promise<void> {
    await this.scan();
    const known = this.#functions.filter(({ file }) => this.#states.has(file));
    await Promise.allSettled(known.map((fn) => this.load(fn)));
  }

  /** Marks all functions for reloading, because the environment has changed. */
  invalidate(): void {
    for (const state of this.#states.values()) state.isStale = true;
  }

  /** Returns the folders to watch. */
  folders(): Set<string> {
    const all = new Set(this.#folders.keys());
    for (const { inputs } of this.#states.values()) {
      for (const file of inputs.keys()) all.add(dirname(file));
    }
    return all;
  }
}
