import { REST_MODULES } from "./rest_modules.ts";

/**
 * Lists the values that modules of the second file get from the bundle: their own, and those of the
 * modules of the second file that they import.
 *
 * @param modules Keys of {@link REST_MODULES}.
 * @returns The names by the module that exports them.
 */
export function listShared(modules: readonly string[]): Map<string, Set<string>> {
  const shared = new Map<string, Set<string>>();
  const reached = new Set(modules);
  for (const module of reached) {
    const { uses = [], shared: own = {} } = REST_MODULES[module];
    for (const used of uses) reached.add(used);
    for (const [from, names] of Object.entries(own)) {
      shared.set(from, new Set([...shared.get(from) ?? [], ...names]));
    }
  }
  return shared;
}
