import type { Collector } from "./collector.ts";
import type { Path } from "./effects.ts";
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
