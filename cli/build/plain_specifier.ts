/**
 * A specifier of npm's without scheme and version: `npm:zod@4/v4` is `zod/v4`.
 *
 * @param specifier Any specifier.
 */
export function plainSpecifier(specifier: string): string {
  return specifier.replace(/^npm:\/?((?:@[^/]+\/)?[^/@]+)(?:@[^/]*)?/, "$1");
}
