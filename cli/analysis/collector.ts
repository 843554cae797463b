import type { Effect, Path, QueryDeclaration, Subject, Units } from "./effects.ts";
import type { Evaluator } from "./values.ts";
import type { Project } from "./project.ts";
import type { ts } from "./typescript.ts";

/** The state that the collecting functions share for one unit. */
export interface Collector {
  readonly project: Project;
  readonly evaluator: Evaluator;
  readonly units: Units;
  /** Checks whether a package depends on this one. */
  readonly wrapsTrellis: (specifier: string) => boolean;
  /** All query declarations found so far; the index is their id. */
  readonly queries: QueryDeclaration[];
  /** Adds an effect. */
  emit(effect: Effect): void;
  /** Adds a unit, whose effects are collected when it is reached. */
  reach(node: ts.Node, path: Path): void;
  /** Adds the effects of an expression that is used as the path says. */
  use(expression: ts.Expression, path: Path): void;
  /** Adds the effects of statements that run; `result` is the use of the function's result. */
  run(node: ts.Node, result: Path): void;
  /** Marks the arguments of all calls in a path as used, because the called code is unknown. */
  release(path: Path): void;
  /**
   * Like {@link Collector.release}, for a value that is unknown: also reports a required constant.
   */
  unknown(node: ts.Node, path: Path): void;
  /**
   * Reports that something cannot be determined statically: grants or environment variables, or
   * both if the subject is omitted.
   */
  unresolved(node: ts.Node, message: string, subject?: Subject): void;
}
