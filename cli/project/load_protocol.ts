import type { Runs } from "./mark_definitions.ts";
import type { Place } from "../sources/source_positions.ts";

/** The folder in a project in which esbuild's outputs would be; nothing is written there. */
export const OUT = "record";

/** What the loading process writes before the name of a function that begins to load. */
export const BEGIN = "begin ";
/** What it writes when the results of a request are in their file. */
export const END = "end";

/** A function to load. */
export interface LoadJob {
  readonly name: string;
  /** Absolute path of its file. */
  readonly file: string;
  /** Absolute path of its bundle. */
  readonly path: string;
  /** Source map of the bundle (JSON). */
  readonly map: string;
  /** The code that the bundle keeps. */
  readonly runs: Runs;
}

/** What the loading process is to do. */
export interface LoadRequest {
  /** Absolute path of the project. */
  readonly root: string;
  readonly jobs: readonly LoadJob[];
  /** URLs of modules of this library that export `read`: see `FactReader`. */
  readonly readers: readonly string[];
  /** Time for the modules of one function. */
  readonly limitMs: number;
  /** Absolute path of the file for the results. */
  readonly resultFile: string;
}

/** Why a function cannot be loaded. */
export interface LoadError extends Place {
  readonly message: string;
  /** True if this package refuses what the function defines. */
  readonly isInvalid?: boolean;
}

/** The facts of a function, one value for each reader, or why it cannot be loaded. */
export interface LoadResult {
  readonly name: string;
  readonly facts?: readonly unknown[];
  readonly error?: LoadError;
  /** Variables whose values may decide what the function uses. */
  readonly warnings?: readonly LoadError[];
}
