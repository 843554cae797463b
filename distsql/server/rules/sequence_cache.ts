import { child, definitions, getText, type SyntaxNode } from "../syntax/syntax_tree.ts";

/** Returns a sequence's cache size, or undefined if it is not given. */
export function cacheSize(options: readonly SyntaxNode[]): number | undefined {
  const argument = child(definitions(options).get("cache") ?? {}, "arg");
  if (Object.keys(argument).length === 0) return undefined;
  return Number(child(argument, "Integer").ival ?? getText(child(argument, "Float"), "fval"));
}

/** Checks whether the provider accepts a cache size. */
export function isCacheAccepted(cache: number | undefined): boolean {
  return cache !== undefined && (cache === 1 || cache >= 65_536);
}
