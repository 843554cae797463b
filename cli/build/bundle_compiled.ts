import type { BuildFailure, Plugin } from "esbuild";
import type { FunctionFile } from "../discovery/function_files.ts";
import { type BatchResult, type Build, bundleBatch } from "./bundle_batch.ts";
import type { CompiledPart } from "./compiled_part.ts";
import type { BundledFile, PartUse } from "./part_use.ts";

/**
 * Bundles functions with parts that are compiled ahead of time, and as usual where the packages of
 * these parts are needed.
 *
 * @param parts The parts to compile.
 */
export async function bundleCompiled(
  build: Build,
  batch: readonly FunctionFile[],
  plugins: Plugin[],
  parts: readonly CompiledPart[],
): Promise<BatchResult> {
  const batches = new CompiledBatches(build, plugins);
  for (const part of parts) {
    if (part.error !== undefined) batches.addFailure(batch, [part], part.error);
  }
  const bundles = await batches.bundle(batch, parts.filter(({ error }) => error === undefined));
  return bundles.map((bundle) =>
    "message" in bundle ? bundle : {
      ...bundle,
      uses: batches.getUses(bundle.name, bundle.modules.map((each) => each.package)),
      files: batches.getFiles(bundle.name),
    }
  );
}

/** Result of a part, or the reason why it failed for any function. */
type Use = PartUse | { readonly failure: string };

class CompiledBatches {
  readonly #build: Build;
  readonly #plugins: Plugin[];
  readonly #uses = new Map<string, Map<string, Use>>();
  readonly #files = new Map<string, Map<string, BundledFile>>();

  constructor(build: Build, plugins: Plugin[]) {
    this.#build = build;
    this.#plugins = plugins;
  }

  /** Bundles functions with parts; functions that a part does not fit are bundled without it. */
  async bundle(
    batch: readonly FunctionFile[],
    parts: readonly CompiledPart[],
  ): Promise<BatchResult> {
    if (batch.length === 0) return [];
    if (parts.length === 0) return await bundleBatch(this.#build, batch, this.#plugins);
    let bundles: BatchResult;
    try {
      bundles = await this.#tryParts(batch, parts);
    } catch (error) {
      this.addFailure(batch, [parts.at(-1)!], error as Error);
      // without parts it throws again for an error in the sources, with its position in them
      return await this.bundle(batch, parts.slice(0, -1));
    }
    const groups = new Map<string, { fns: FunctionFile[]; fitting: CompiledPart[] }>();
    for (const fn of batch) {
      const fitting = parts.filter((part) => this.#fits(fn, part));
      const key = fitting.map((part) => part.package).join();
      if (!groups.has(key)) groups.set(key, { fns: [], fitting });
      groups.get(key)!.fns.push(fn);
    }
    const results: BatchResult = [];
    for (const { fns, fitting } of groups.values()) {
      if (fitting.length < parts.length) {
        results.push(...await this.bundle(fns, fitting));
        continue;
      }
      const failed = await this.#bundleFiles(fns, parts);
      const done = new Set(fns.filter((fn) => !failed.has(fn)).map(({ name }) => name));
      results.push(...bundles.filter((_, index) => done.has(batch[index].name)));
      for (const fn of failed) {
        this.#files.delete(fn.name);
        results.push(...await this.bundle([fn], parts.filter((part) => this.#fits(fn, part))));
      }
    }
    return results;
  }

  async #tryParts(
    batch: readonly FunctionFile[],
    parts: readonly CompiledPart[],
  ): Promise<BatchResult> {
    const packages = new Set(parts.map((part) => part.package));
    const plugins = parts.map((part) => part.createPlugin(packages));
    return await bundleBatch(
      this.#build,
      batch,
      [...plugins, ...this.#plugins],
      (fn, metadata) => {
        for (const part of parts) this.#setUse(fn, part, part.read(fn, metadata));
      },
    );
  }

  /** Bundles the second files. Returns the functions for which that failed. */
  async #bundleFiles(
    batch: readonly FunctionFile[],
    parts: readonly CompiledPart[],
  ): Promise<Set<FunctionFile>> {
    const failed = new Set<FunctionFile>();
    for (const part of parts) {
      try {
        await this.#bundleFilesOf(batch, part);
      } catch {
        // finds the functions with errors
        for (const fn of batch) {
          await this.#bundleFilesOf([fn], part).catch((error: Error) => {
            this.addFailure([fn], [part], error);
            failed.add(fn);
          });
        }
      }
    }
    return failed;
  }

  async #bundleFilesOf(batch: readonly FunctionFile[], part: CompiledPart): Promise<void> {
    const keys = new Map(batch.map(({ name }) => {
      const use = this.#uses.get(name)!.get(part.package) as { keys: readonly string[] };
      return [name, use.keys];
    }));
    for (const [name, file] of await part.bundle(keys)) {
      this.#files.set(name, (this.#files.get(name) ?? new Map()).set(part.file, file));
    }
  }

  /** Notes that parts cannot be compiled. */
  addFailure(
    batch: readonly FunctionFile[],
    parts: readonly CompiledPart[],
    error: Error,
  ): void {
    const [first] = (error as Partial<BuildFailure>).errors ?? [];
    const [failure] = (first?.text ?? error.message).split("\n");
    for (const fn of batch) {
      for (const part of parts) this.#setUse(fn, part, { failure });
    }
  }

  #setUse({ name }: FunctionFile, part: CompiledPart, use: Use): void {
    this.#uses.set(name, (this.#uses.get(name) ?? new Map()).set(part.package, use));
  }

  #fits({ name }: FunctionFile, part: CompiledPart): boolean {
    const use = this.#uses.get(name)?.get(part.package);
    return use !== undefined && "keys" in use;
  }

  /** Returns the results of the parts of a function. A failure counts only with its package. */
  getUses(name: string, packages: readonly (string | undefined)[]): Map<string, PartUse> {
    return new Map([...this.#uses.get(name) ?? []].map(([package_, use]): [string, PartUse] => {
      if (use === undefined || !("failure" in use)) return [package_, use];
      const reason = `it cannot be compiled ahead of time: ${use.failure}`;
      return [package_, packages.includes(package_) ? { reason } : undefined];
    }));
  }

  /** Returns the second files of a function by their names. */
  getFiles(name: string): ReadonlyMap<string, BundledFile> {
    return this.#files.get(name) ?? new Map();
  }
}
