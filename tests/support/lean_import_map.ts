import { LEAN_MODULES, LEAN_RUNTIME } from "../../cli/build/precompile_queries/lean_modules.ts";

const ROOT = new URL("../../", import.meta.url);

function toUrl(path: string): string {
  return new URL(`${path}.ts`, ROOT).href;
}

/**
 * Creates an import map with which tests use the client without drizzle, as built functions do. What
 * it does not answer itself comes from the modules of the second file.
 */
export async function createLeanImportMap(): Promise<object> {
  const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  // Deno adds these for the map of its configuration only
  const folders = Object.entries<string>(imports).filter(([name]) => !name.endsWith("/"))
    .map(([name, target]) => [`${name}/`, `${target.replace(/^(npm|jsr):/, "$1:/")}/`]);
  // the built-in auth tables stay those of drizzle
  const replaced = Object.entries(LEAN_MODULES).filter(([path]) => path.startsWith("database/"));
  return {
    imports: {
      ...Object.fromEntries(folders),
      ...imports,
      ...Object.fromEntries(replaced.map(([path, by]) => [toUrl(path), toUrl(by)])),
      [toUrl(LEAN_RUNTIME.loadDrizzle)]: toUrl("tests/support/lean_drizzle"),
    },
    scopes: {
      [toUrl("database/precompiled/drizzle_file")]: Object.fromEntries(
        replaced.map(([path]) => [toUrl(path), toUrl(path)]),
      ),
    },
  };
}
