import process from "node:process";

/** A resolved module of Node's `registerHooks`. */
interface Resolved {
  url: string;
  format?: string;
  shortCircuit?: boolean;
}

interface NodeModule {
  /** Missing before Node 22.15. */
  readonly registerHooks?: (hooks: {
    resolve(
      specifier: string,
      context: { readonly parentURL?: string },
      next: (specifier: string, context: unknown) => Resolved,
    ): Resolved;
  }) => unknown;
}

const DRIZZLE_FILE = /\/node_modules\/drizzle-orm\/[^?#]*\.js$/;

/**
 * Resolves relative imports of one file of drizzle-orm by another with their URLs alone, as the rules
 * of modules say. For each of its 200 files, Node 24 parses drizzle's `package.json`, which has 180 kB.
 */
export function hastenDrizzle(): void {
  const { deno, pnp } = process.versions;
  // Deno has no such cost, and Yarn's Plug'n'Play resolves imports itself
  if (deno !== undefined || pnp !== undefined) return;
  const { registerHooks } = process.getBuiltinModule("node:module") as NodeModule;
  registerHooks?.({
    resolve(specifier, context, next) {
      const url = resolveDrizzleFile(specifier, context.parentURL);
      return url === undefined
        ? next(specifier, context)
        : { url, format: "module", shortCircuit: true };
    },
  });
}

/**
 * Returns the URL of a module of drizzle-orm that another one imports.
 *
 * @returns The URL; `undefined` for all other imports.
 */
export function resolveDrizzleFile(specifier: string, parentURL = ""): string | undefined {
  if (!/^\.\.?\/.*\.js$/.test(specifier) || !DRIZZLE_FILE.test(parentURL)) return undefined;
  const { href } = new URL(specifier, parentURL);
  return DRIZZLE_FILE.test(href) ? href : undefined;
}
