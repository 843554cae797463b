import { isBuiltin } from "node:module";
import type { Slice, SliceUnit, SourceLocation } from "../analysis/slice.ts";
import type { PackageExports, PackageLoader } from "./package_loader.ts";

/** Thrown if a part of a slice cannot be evaluated; the location is in the project's sources. */
export class SliceError extends Error {
  /** Always `SliceError`, also in minified code. */
  override readonly name: string = "SliceError";

  /**
   * @param location The location.
   * @param message The reason.
   */
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
 * @param slice The slice.
 * @param load Loads packages.
 * @param work Uses the values. It may be called several times; only the last result counts. It must
 * continue after a `SliceError`, so that all missing packages are found at once.
 * @returns The result of the work.
 */
export async function runSlice<T>(
  slice: Slice,
  load: PackageLoader,
  work: (values: SliceValues) => T,
): Promise<T> {
  const loaded = new Map<number, PackageExports | Error>();
  const needed = new Set<number>();
  const done = new Map<number, unknown>();
  const failed = new Map<number, SliceError>();
  const running = new Set<number>();

  function guard(index: number): never {
    const { message, ...location } = slice.guards[index];
    throw new SliceError(location, message);
  }

  function member(index: number, name: string): unknown {
    const found = loaded.get(index);
    const { specifier, ...location } = slice.packages[index];
    if (found === undefined) {
      needed.add(index);
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

  function unit(index: number, make: () => unknown): () => unknown {
    return function getValue(): unknown {
      if (done.has(index)) return done.get(index);
      const error = failed.get(index);
      if (error !== undefined) throw error;
      const { label } = slice.units[index];
      if (running.has(index)) {
        throw new SliceError(
          slice.units[index],
          `${label} refers to itself: use z.lazy or a getter`,
        );
      }
      running.add(index);
      try {
        const value = make();
        done.set(index, value);
        return value;
      } catch (error) {
        if (error instanceof PackageNeeded) throw error;
        const located = error instanceof SliceError ? error : new SliceError(
          slice.units[index],
          `${label} cannot be evaluated: ${getSourceMessage(error, slice)}`,
        );
        failed.set(index, located);
        throw located;
      } finally {
        running.delete(index);
      }
    };
  }

  // the slice consists of the project's sources and runs in strict mode, like modules
  const build = new Function(`"use strict"; return ${slice.code}`)();
  const getters: (() => unknown)[] = build(unit, guard, member);
  const values: SliceValues = {
    getValue: (index) => getters[index](),
    evaluated: () =>
      [...done].sort(([a], [b]) => a - b).map(([index, value]) =>
        [slice.units[index], value] as const
      ),
    packages: () =>
      [...loaded.values()].filter((found): found is PackageExports => !(found instanceof Error)),
  };
  while (true) {
    needed.clear();
    let result: T | undefined;
    try {
      result = work(values);
    } catch (error) {
      if (needed.size === 0) throw error;
    }
    if (needed.size === 0) return result as T;
    await Promise.all(
      [...needed].map(async (index) =>
        void loaded.set(index, await loadOne(slice.packages[index], load))
      ),
    );
    // values may have been computed without a package that is now loaded
    done.clear();
    failed.clear();
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
