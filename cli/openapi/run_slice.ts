import { isBuiltin } from "node:module";
import type { Slice, SliceUnit, SourcePlace } from "../analysis/slice.ts";
import type { PackageExports, PackageLoader } from "./package_loader.ts";

/** A part of a slice cannot be evaluated; the place is in the project's sources. */
export class SliceError extends Error {
  /** Always `SliceError`, also in minified code. */
  override readonly name: string = "SliceError";

  /**
   * @param place Where.
   * @param message What.
   */
  constructor(readonly place: SourcePlace, message: string) {
    super(message);
  }
}

/** The values of a slice. */
export interface SliceValues {
  /**
   * The value of a unit.
   *
   * @throws {SliceError} When it cannot be evaluated.
   */
  valueOf(unit: number): unknown;
  /** The units that were evaluated so far, with their values, in the order of the slice. */
  evaluated(): (readonly [unit: SliceUnit, value: unknown])[];
  /** The packages that were loaded. */
  packages(): PackageExports[];
}

/** Modules of the runtime that only compute. */
const PURE_BUILTINS = /^(?:node:)?(?:assert|buffer|crypto|path|querystring|url|util)(?:\/|$)/;

/** A package must be loaded before the work can be done; whatever comes of this try is thrown away. */
class PackageNeeded extends SliceError {}

/**
 * Works with the values of a slice. A package is loaded when something first needs it, and the work begins anew then, so that
 * packages that are only used while requests are served are never loaded.
 *
 * @param slice The slice.
 * @param load Loads packages.
 * @param work What is done with the values. It may be called several times, with only the last of its results used; it goes on
 * after a `SliceError`, so that all that is missing comes to light at once.
 * @returns What the work gives.
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
    const { message, ...place } = slice.guards[index];
    throw new SliceError(place, message);
  }

  function member(index: number, name: string): unknown {
    const found = loaded.get(index);
    const { specifier, ...place } = slice.packages[index];
    if (found === undefined) {
      needed.add(index);
      throw new PackageNeeded(place, `"${specifier}" is not loaded`);
    }
    if (found instanceof Error) {
      const [reason] = found.message.split("\n");
      throw new SliceError(place, `"${specifier}" cannot be loaded: ${reason}`);
    }
    if (name === "") return found;
    const [first, ...rest] = name.split(".");
    if (!(first in found)) throw new SliceError(place, `"${specifier}" exports no "${first}"`);
    return rest.reduce((value, key) => (value as Record<string, unknown>)[key], found[first]);
  }

  function unit(index: number, make: () => unknown): () => unknown {
    return function valueOf(): unknown {
      if (done.has(index)) return done.get(index);
      const fault = failed.get(index);
      if (fault !== undefined) throw fault;
      const { label } = slice.units[index];
      if (running.has(index)) {
        throw new SliceError(
          slice.units[index],
          `${label} needs its own value to be made: use z.lazy or a getter`,
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
          `${label} cannot be evaluated: ${getMessage(error, slice)}`,
        );
        failed.set(index, located);
        throw located;
      } finally {
        running.delete(index);
      }
    };
  }

  // the slice is made of the project's own sources, in strict mode as modules are
  const build = new Function(`"use strict"; return ${slice.code}`)();
  const getters: (() => unknown)[] = build(unit, guard, member);
  const values: SliceValues = {
    valueOf: (index) => getters[index](),
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
    // what was made may have been made without a package that it would have had
    done.clear();
    failed.clear();
  }
}

async function loadOne(
  { specifier, from }: Slice["packages"][number],
  load: PackageLoader,
): Promise<PackageExports | Error> {
  if ((isBuiltin(specifier) || specifier.startsWith("node:")) && !PURE_BUILTINS.test(specifier)) {
    return new Error("it reaches beyond the program, which schemas may not do");
  }
  try {
    return await load(specifier, from);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** In place of names of the slice those of the sources. */
function getMessage(error: unknown, { units }: Slice): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/__slice_(\d+)(?:\(\.*\))?/g, (_, index) => units[Number(index)].label);
}
