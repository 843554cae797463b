import type { Build, BundleMetadata } from "../bundle_batch.ts";
import { columnBuildersPlugin } from "../column_builders.ts";
import type { CompiledPart } from "../compiled_part.ts";
import type { PartUse } from "../part_use.ts";
import type { Parts } from "../optional_parts.ts";
import type { CompiledQueries } from "../precompile_queries/compile_queries.ts";
import { DRIZZLE_FILE as OWN, LEAN_RUNTIME } from "../precompile_queries/lean_modules.ts";
import { COMPILED } from "../precompile_queries/specifiers.ts";
import { listIncluded, toLocation } from "../sizes.ts";
import { bundleDrizzle, createEntry, type DrizzleEntry } from "./drizzle_file.ts";
import { createModulePattern, leanPlugin } from "./lean_plugin.ts";
import { findDrizzle } from "./read_drizzle_use.ts";
import { AUTH_SCHEMA, DRIZZLE_FILE, SCHEMA } from "./specifiers.ts";

/**
 * Creates the part of functions that replaces drizzle by compiled statements.
 *
 * @param parts The optional parts in the bundles.
 * @param hasColumnBuilders True if the functions may need the builders of all types of columns.
 * @returns The part; `undefined` if no function can do without drizzle.
 */
export function createDrizzlePart(
  build: Build,
  { betterAuth }: Parts,
  hasColumnBuilders: boolean,
): CompiledPart | undefined {
  const { queries, paths, isExternal } = build;
  // the auth library imports drizzle
  if (queries === undefined || betterAuth || isExternal("drizzle-orm")) return undefined;
  const entries = new Map<string, DrizzleEntry>();
  return {
    package: "drizzle-orm",
    file: DRIZZLE_FILE,
    createPlugin: () => leanPlugin(queries, { paths, omitsAuth: !betterAuth }),
    read({ name }, metadata): PartUse {
      entries.delete(name);
      const reason = findDrizzle(metadata, build);
      if (reason !== undefined) return { reason };
      const entry = readEntry(metadata, queries, build);
      if (entry === undefined) return { keys: [] };
      if ("reason" in entry) return entry;
      entries.set(name, entry);
      return { keys: [...entry.statements.keys()] };
    },
    bundle(keys) {
      const chosen = new Map([...entries].filter(([name]) => keys.has(name)));
      const plugins = hasColumnBuilders ? [] : [columnBuildersPlugin()];
      return bundleDrizzle(chosen, queries, build, plugins);
    },
  };
}

/** Reads which statements and schemas a bundle has; `undefined` if it never loads drizzle. */
function readEntry(
  { output }: BundleMetadata,
  { lean }: CompiledQueries,
  { root, paths }: Build,
): ReturnType<typeof createEntry> | undefined {
  const included = listIncluded(output);
  const locations = included.map((path) => toLocation(path, root))
    .filter((path) => paths.trellisRoot(path) !== undefined);
  const hasOwn = (module: string) => {
    const pattern = createModulePattern(module);
    return locations.some((path) => pattern.test(path));
  };
  if (!hasOwn(LEAN_RUNTIME.loadDrizzle)) return undefined;
  const listKeys = (prefix: string) =>
    included.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
  const own = Object.entries(OWN.statements).filter(([module]) => hasOwn(module))
    .map(([, statements]) => statements);
  const schemas = [...listKeys(SCHEMA), ...listKeys(AUTH_SCHEMA)];
  return createEntry(lean, { statements: listKeys(COMPILED), schemas }, [...new Set(own)]);
}
