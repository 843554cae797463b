import { isBuiltin } from "node:module";
import type { Slice, SliceUnit, SourceLocation } from "../analysis/slice.ts";
import type { PackageExports, PackageLoader } from "./package_loader.ts";

/** Thrown if a part of a slice cannot be evaluated; the location is in the project's sources. */
export class SliceError extends Error {
  /** Always `SliceError`, also in minified code. */
  override readonly name: string = "SliceError";

  /** @param message The reason. */
  constructor(readonly location: SourceLocation, message: string) {
    super(message);
  }
}

/** The values of a slice. */
export interface SliceValues {
  /**
   * Returns the value of a unit.
   *
   * @throws {SliceError} If it cannot be evaluated.
   */
  getValue(unit: number): unknown;
  /** Returns the evaluated units with their values, in the order of the slice. */
  evaluated(): (readonly [unit: SliceUnit, value: unknown])[];
  /** Returns the loaded packages. */
  packages(): PackageExports[];
}

/** Built-in modules that have no side effects. */
const PURE_BUILTINS = /^(?:node:)?(?:assert|buffer|crypto|path|querystring|url|util)(?:\/|$)/;

/** Thrown if a package must be loaded first; the result of the current attempt is discarded. */
class PackageNeeded extends SliceError {}

/**
 * Evaluates a slice. A package is loaded when it is first needed, and the work is then repeated.
 * Packages that are only used while requests are served are therefore never loaded.
 *
 * @param work Uses the values. It may be called several times; only the last result counts. It must
 * continue after a `SliceError`, so that all missing packages are found at once.
 * @returns The result of the work.
 */
export async function runSlice<T>(
  slice: Slice,
  load: PackageLoader,
  work: (values: SliceValues) => T,
): Promise<T> {
  const values = new RunningSlice(slice);
  while (true) {
    let result: T | undefined;
    try {
      result = work(values);
    } catch (error) {
      if (!values.needsPackages) throw error;
    }
    if (!values.needsPackages) return result as T;
    await values.loadPackages(load);
  }
}

class RunningSlice implements SliceValues {
  readonly #slice: Slice;
  readonly #getters: readonly (() => unknown)[];
  readonly #loaded = new Map<number, PackageExports | Error>();
  readonly #needed = new Set<number>();
  readonly #done = new Map<number, unknown>();
  readonly #failed = new Map<number, SliceError>();
  readonly #running = new Set<number>();

  constructor(slice: Slice) {
    this.#slice = slice;
    // the slice consists of the project's sources and runs in strict mode, like modules
    const build = new Function(`"use strict";\n${slice.code}`)();
    this.#getters = build(
      (index: number, make: () => unknown) => () => this.#evaluate(index, make),
      (index: number) => this.#guard(index),
      (index: number, name: string) => this.#getMember(index, name),
    );
  }

  getValue(unit: number): unknown {
    return this.#getters[unit]();
  }

  evaluated(): (readonly [unit: SliceUnit, value: unknown])[] {
    return [...this.#done].sort(([a], [b]) => a - b).map(([index, value]) =>
      [this.#slice.units[index], value] as const
    );
  }

  packages(): PackageExports[] {
    return [...this.#loaded.values()].filter((found): found is PackageExports =>
      !(found instanceof Error)
    );
  }

  /** True if the work must be repeated with more packages. */
  get needsPackages(): boolean {
    return this.#needed.size > 0;
  }

  /** Loads the needed packages and discards values that were computed without them. */
  async loadPackages(load: PackageLoader): Promise<void> {
    await Promise.all(
      [...this.#needed].map(async (index) =>
        void this.#loaded.set(index, await loadOne(this.#slice.packages[index], load))
      ),
    );
    this.#needed.clear();
    this.#done.clear();
    this.#failed.clear();
  }

  #guard(index: number): never {
    const { message, ...location } = this.#slice.guards[index];
    throw new SliceError(location, message);
  }

  #getMember(index: number, name: string): unknown {
    const found = this.#loaded.get(index);
    const { specifier, ...location } = this.#slice.packages[index];
    if (found === undefined) {
      this.#needed.add(index);
      throw new PackageNeeded(location, `"${specifier}" is not loaded`);
    }
    if (found instanceof Error) {
      const [reason] = found.message.split("\n");
      throw new SliceError(location, `"${specifier}" cannot be loaded: ${reason}`);
    }
    if (name === "") return found;
    const [first, ...rest] = name.split(".");
    if (!(first in found)) {
      throw new SliceError(location, `"${specifier}" does not export "${first}"`);
    }
    return rest.reduce((value, key) => (value as Record<string, unknown>)[key], found[first]);
  }

  #evaluate(index: number, make: () => unknown): unknown {
    if (this.#done.has(index)) return this.#done.get(index);
    const known = this.#failed.get(index);
    if (known !== undefined) throw known;
    const unit = this.#slice.units[index];
    if (this.#running.has(index)) {
      throw new SliceError(unit, `${unit.label} refers to itself: use z.lazy or a getter`);
    }
    this.#running.add(index);
    try {
      const value = make();
      this.#done.set(index, value);
      return value;
    } catch (error) {
      if (error instanceof PackageNeeded) throw error;
      const reason = getSourceMessage(error, this.#slice);
      const located = error instanceof SliceError
        ? error
        : new SliceError(unit, `${unit.label} cannot be evaluated: ${reason}`);
      this.#failed.set(index, located);
      throw located;
    } finally {
      this.#running.delete(index);
    }
  }
}

async function loadOne(
  { specifier, from }: Slice["packages"][number],
  load: PackageLoader,
): Promise<PackageExports | Error> {
  if ((isBuiltin(specifier) || specifier.startsWith("node:")) && !PURE_BUILTINS.test(specifier)) {
    return new Error("schemas must not access other systems");
  }
  try {
    return await load(specifier, from);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Replaces names of the slice by labels of the sources. */
function getSourceMessage(error: unknown, { units }: Slice): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/__slice_(\d+)(?:\(\.*\))?/g, (_, index) => units[Number(index)].label);
}
