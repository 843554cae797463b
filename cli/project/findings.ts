import type { Place } from "../sources/source_positions.ts";

/** A message about a source location. */
export interface Finding extends Place {
  readonly message: string;
  /** Names of the functions that reach this code. */
  readonly functions: readonly string[];
}

/** A message about a source location, as one function has it. */
export interface Problem {
  readonly place: Place;
  readonly message: string;
}

/** Collects the problems of functions; the same problem of several functions is one finding. */
export class Findings {
  readonly #found = new Map<string, Finding & { functions: string[] }>();

  /** Adds the problems of a function. */
  add(functionName: string, problems: readonly Problem[]): void {
    for (const { place: { file, line }, message } of problems) {
      const key = `${file}\0${line}\0${message}`;
      const finding = this.#found.get(key) ?? { file, line, message, functions: [] };
      if (!finding.functions.includes(functionName)) finding.functions.push(functionName);
      this.#found.set(key, finding);
    }
  }

  /** Returns the findings, sorted by file, line and message. */
  list(): Finding[] {
    return [...this.#found.values()].sort(compareLocations);
  }
}

/** Compares findings by file, line and message. */
export function compareLocations(a: Located, b: Located): number {
  return compareText(a.file, b.file) || a.line - b.line || compareText(a.message, b.message);
}

type Located = Place & { readonly message: string };

/**
 * Compares strings independent of the locale.
 *
 * @param b Another.
 */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
