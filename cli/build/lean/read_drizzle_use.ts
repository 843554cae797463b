import type { Build, BundleMetadata } from "../bundle_batch.ts";
import { listIncluded, toLocation } from "../sizes.ts";
import { KEPT } from "./specifiers.ts";

const MAX_REASONS = 3;

/**
 * Checks whether the bundle of a function contains drizzle.
 *
 * @returns The reason; `undefined` if the bundle is without drizzle.
 */
export function findDrizzle(
  { metafile: { inputs }, output }: BundleMetadata,
  { root, paths }: Pick<Build, "root" | "paths">,
): string | undefined {
  const included = listIncluded(output);
  const isDrizzle = (path: string) => paths.getPackage(toLocation(path, root)) === "drizzle-orm";
  const needsDrizzle = included.some(isDrizzle) ||
    output.imports.some(({ path }) => /^drizzle-orm(?:\/|$)/.test(path));
  const marks = included.filter((path) => path.startsWith(KEPT))
    .map((path) => path.slice(KEPT.length));
  if (marks.length > 0) {
    // a function that creates columns is only used by a table that is used
    const [builders, others] = [marks.filter(isBuilder), marks.filter((each) => !isBuilder(each))];
    return [...others.sort(), ...builders.sort()].slice(0, MAX_REASONS).join("; ");
  }
  if (!needsDrizzle) return undefined;
  const importer = included.find((path) =>
    !isDrizzle(path) && inputs[path].imports.some((each) => isDrizzle(each.path))
  );
  return `${importer ?? "a module"} imports drizzle-orm`;
}

function isBuilder(mark: string): boolean {
  return mark.endsWith("(drizzle-orm/pg-core)");
}
