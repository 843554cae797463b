import type { CallExpression } from "acorn";
import type { AnyNode } from "../sources/syntax.ts";
import type { Definition } from "../../env/recording.ts";
import type { BundleSyntax } from "./bundle_syntax.ts";
import type { Runs } from "./mark_definitions.ts";
import type { Place } from "../sources/source_positions.ts";

/** A definition with the place in the sources that made it. */
export interface PlacedDefinition extends Definition {
  readonly place: Place;
  /** The position of the call in the bundle; `undefined` for a definition of another package. */
  readonly position: number | undefined;
}

/** The value of an expression of a bundle. */
export type Evaluated =
  | { readonly isKnown: true; readonly value: unknown }
  | { readonly isKnown: false };

/** A function of a project, loaded with the package itself. Exists only in the process that loads. */
export interface LoadedFunction {
  readonly name: string;
  /** Absolute path of the project. */
  readonly root: string;
  /** Relative to the project. */
  readonly file: string;
  /** The exports of the function's file. */
  readonly module: Readonly<Record<string, unknown>>;
  /** Everything that the bundle defines, in the order of execution. */
  readonly definitions: readonly PlacedDefinition[];
  /** The definition of the handler; `undefined` if this package did not make it. */
  readonly handler: PlacedDefinition | undefined;
  /** What the text of the bundle shows. */
  readonly syntax: BundleSyntax;
  /** The code that the function runs; what others run is empty. */
  readonly runs: Runs;
  /** Returns the definitions of one or more kinds: `list("defineQuery")`. */
  list(...names: readonly string[]): PlacedDefinition[];
  /** Returns the place of a node in the sources. */
  getPlace(node: AnyNode): Place;
  /** Returns the value of an expression that consists of constants and of names at the top level. */
  evaluate(node: AnyNode): Evaluated;
  /** Evaluates the text of a node in the scope of the bundle, calls included. Throws what it throws. */
  execute(node: AnyNode): unknown;
  /** Returns the call in the bundle that made a definition: the whole one of a curried function. */
  findCall(definition: PlacedDefinition): CallExpression | undefined;
  /** Returns the value of a name at the top level; `undefined` if it has none. */
  evaluateName(name: string): unknown;
  /** Returns the name at the top level whose declaration contains a definition. */
  findName(definition: PlacedDefinition): string | undefined;
}

/**
 * Reads the facts of a loaded function that a command needs. It is the export `read` of a module that the loading process
 * imports. The facts are JSON.
 */
export type FactReader<Facts> = (fn: LoadedFunction) => Facts | Promise<Facts>;

/**
 * Merges the facts without and with the optional environment variables. It is the export `merge` of a reader's module;
 * without it, facts that differ are an error that names the variable.
 */
export type FactMerger<Facts> = (facts: Facts, others: Facts) => Facts;
