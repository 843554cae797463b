// deno-lint-ignore-file no-console
/**
 * Checks which packages and Node modules a program loads when it imports an entry point, because
 * each one slows down every cold start. Modules behind `import()` do not count.
 *
 *   deno run -A scripts/check_imports.ts
 */
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Allowed packages for each entry point that functions import; the other entry points are for tests
 * and tools. Node modules are not allowed: an import takes 0.2 ms (`node:async_hooks`) to 2 ms
 * (`node:process`).
 */
export const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  ".": ["zod"],
  "./validation": ["zod"],
  "./router": ["hono", "zod"],
  "./streaming": [],
  "./core": [],
  "./observability": [],
  "./env": [],
  "./errors": [],
  "./auth/jwt": ["zod"],
  "./auth/schema": ["drizzle-orm"],
  "./database/orm": ["drizzle-orm"],
  "./jobs": ["drizzle-orm"],
  "./workflows": ["drizzle-orm"],
  "./idempotency": ["drizzle-orm"],
  "./mail": ["drizzle-orm"],
  "./client": ["openapi-fetch"],
  "./client/query": [],
  "./triggers": [],
  "./triggers/events": ["zod"],
  "./uploads": [],
  "./realtime": ["drizzle-orm"],
};

/**
 * Lists the packages and Node modules that an entry point imports statically.
 *
 * @param path The entry point's file, from the root of the project.
 * @returns Names of packages and of Node's modules.
 */
export async function loadedBy(path: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [path],
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    metafile: true,
    write: false,
    logLevel: "error",
  });
  const loaded = new Set<string>();
  const seen = new Set<string>();
  function follow(file: string): void {
    if (seen.has(file)) return;
    seen.add(file);
    for (const { path: target, kind, external } of metafile.inputs[file].imports) {
      if (kind === "dynamic-import") continue;
      if (external) loaded.add(getPackage(target));
      else follow(target);
    }
  }
  follow(path);
  return [...loaded].sort();
}

function getPackage(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/**
 * Lists the faults of all entry points, one line each.
 *
 * @param entries Entry points and their files, as deno.json names them.
 */
export async function findFaults(entries: Readonly<Record<string, string>>): Promise<string[]> {
  const faults: string[] = [];
  for (const [entry, allowed] of Object.entries(ALLOWED)) {
    for (const name of await loadedBy(entries[entry].replace("./", ""))) {
      if (!allowed.includes(name)) {
        faults.push(`${entry} loads ${name}: load it with import() when it is needed`);
      }
    }
  }
  return faults;
}

if (import.meta.main) {
  const { exports } = JSON.parse(Deno.readTextFileSync(`${ROOT}deno.json`));
  const faults = await findFaults(exports);
  for (const fault of faults) console.error(fault);
  console.log(`${Object.keys(ALLOWED).length} entry points, ${faults.length} faults`);
  Deno.exit(faults.length > 0 ? 1 : 0); // the esbuild process would keep this one running
}
