import type { Effect, Path, QueryDeclaration, Subject, Units } from "./effects.ts";
import type { Evaluator } from "./evaluate.ts";
import type { Project } from "./project.ts";
import type { ts } from "./typescript.ts";

/** What the parts of the collection share while they collect the effects of one unit. */
export interface Collector {
  readonly project: Project;
  readonly evaluator: Evaluator;
  readonly units: Units;
  /** Checks whether a package depends on this one. */
  readonly wrapsTrellis: (specifier: string) => boolean;
  /** Every query's declaration that was met, by number. */
  readonly queries: QueryDeclaration[];
  /** Adds an effect. */
  emit(effect: Effect): void;
  /** Adds a unit: its effects are collected when it is reached. */
  reach(node: ts.Node, path: Path): void;
  /** Adds the effects of an expression of which a path is used. */
  use(expression: ts.Expression, path: Path): void;
  /** Adds the effects of statements that run; `result` is what is used of the function's result. */
  run(node: ts.Node, result: Path): void;
  /** Uses what is passed to the calls of a path, since who is called is unknown. */
  release(path: Path): void;
  /** As {@link Collector.release}, for a value that the text does not tell: also where one must be told. */
  unknown(node: ts.Node, path: Path): void;
  /** Says that something cannot be told from the text: grants, environment variables, or both where the subject is left out. */
  unresolved(node: ts.Node, message: string, subject?: Subject): void;
}
