/**
 * Removes scheme and version of an npm specifier: `npm:zod@4/v4` becomes `zod/v4`.
 *
 * @param specifier Any specifier.
 */
export function plainSpecifier(specifier: string): string {
  return specifier.replace(/^npm:\/?((?:@[^/]+\/)?[^/@]+)(?:@[^/]*)?/, "$1");
}
