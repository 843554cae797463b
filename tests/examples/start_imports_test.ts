import { assert, assertEquals } from "@std/assert";

async function readJson(path: string): Promise<Record<string, Record<string, string>>> {
  return JSON.parse(await Deno.readTextFile(new URL(`../../${path}`, import.meta.url)));
}

const config = await readJson("deno.json");
const { imports } = await readJson("examples/notes/start_imports.json");
const lock = await readJson("examples/notes/start.lock");
const wholeLock = await readJson("deno.lock");

Deno.test("start_imports.json has the versions and the entry points of deno.json", () => {
  for (const [name, target] of Object.entries(imports)) {
    const [, trellis] = /^@trellis\/fn(.*)$/.exec(name) ?? [];
    if (trellis !== undefined) {
      assertEquals(target, config.exports[`.${trellis}`].replace("./", "../../"), name);
    } else if (name.endsWith("/")) {
      assertEquals(target, `${config.imports[name.slice(0, -1)].replace("npm:", "npm:/")}/`);
    } else assertEquals(target, config.imports[name], name);
  }
});

Deno.test("start.lock locks the versions of deno.lock, and no package of the tests", () => {
  // a version is followed by those of its peers
  const getVersion = (resolved: string): string => resolved.split("_")[0];
  for (const [specifier, resolved] of Object.entries(lock.specifiers)) {
    assertEquals(getVersion(resolved), getVersion(wholeLock.specifiers[specifier]), specifier);
  }
  for (const [name, target] of Object.entries(imports)) {
    if (!target.startsWith("npm:") || name.endsWith("/")) continue;
    const isLocked = Object.keys(lock.specifiers).some((it) => it.startsWith(`npm:${name}@`));
    assert(isLocked, `${name} is not locked: run deno task start once, and commit start.lock`);
  }
  assert(Object.keys(lock.npm).length <= 30, `${Object.keys(lock.npm).length} packages`);
});
