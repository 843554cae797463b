/** The name of this package. */
export const TRELLIS = "@trellis/fn";

/** Checks whether a specifier is this package or an entry point of it. */
export function isTrellis(module: string): boolean {
  return module === TRELLIS || module.startsWith(`${TRELLIS}/`);
}

/** Matches `npm:zod@4/v4` and `jsr:/@scope/name@1`: name, version and subpath. */
const REGISTRY = /^(?:npm|jsr):\/?((?:@[^/]+\/)?[^/@]+)(@[^/]*)?(\/.*)?$/;

/**
 * Removes registry and version: `npm:zod@4.6.7/mini` becomes `zod/mini`.
 *
 * @returns The bare specifier; others than those of a registry are returned unchanged.
 */
export function toBareSpecifier(specifier: string): string {
  const [, name, , subpath = ""] = REGISTRY.exec(specifier) ?? [];
  return name === undefined ? specifier : name + subpath;
}

/**
 * Returns the package name of a specifier: `@acme/db` for `@acme/db/queries`.
 *
 * @param specifier A bare specifier.
 */
export function getPackageName(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/**
 * Removes the version: `@acme/session@1.0.0` becomes `@acme/session`.
 *
 * @param name A package name.
 */
export function withoutVersion(name: string): string {
  const at = name.indexOf("@", 1);
  return at < 0 ? name : name.slice(0, at);
}
