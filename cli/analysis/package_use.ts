import type { Collector } from "./collector.ts";
import type { CallStep, Path } from "./effects.ts";
import { asObject, getProperty } from "./object_literals.ts";
import type { ts } from "./typescript.ts";

/** The use of a name that this package exports. */
export interface PackageUse {
  /** The reference. */
  readonly node: ts.Node;
  /** The exported name. */
  readonly name: string;
  /** The use of the value. */
  readonly path: Path;
  /** The use without its first step. */
  readonly rest: Path;
  /** The arguments, if the first step is a call. */
  readonly given: readonly ts.Expression[];
}

/** Collects the effects of a use. */
export type PackageCollector = (c: Collector, use: PackageUse) => void;

/** Collects the variable with which the package recognizes requests that came through the CDN. */
export function collectOriginSecret(c: Collector, { node }: PackageUse): void {
  c.emit({ kind: "env", name: "ORIGIN_VERIFY_SECRET", isRequired: false, node });
}

/** Collects a variable that a function of this package reads unless its options set the value. */
export function collectDefault(
  c: Collector,
  node: ts.Node,
  { call }: CallStep,
  option: string,
  variable: { readonly name: string; readonly isRequired: boolean },
): void {
  const [options] = call.arguments ?? [];
  const given = options && asObject(c.evaluator.evaluate(options));
  if (given && getProperty(c.evaluator, given, option) !== undefined) return;
  c.emit({ kind: "env", ...variable, node });
}
