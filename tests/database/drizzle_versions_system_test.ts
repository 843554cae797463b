/** Runs one program with drizzle 0.45 and with the release candidate of 1.0. */
import { assertEquals } from "@std/assert";
import { NEXT_DRIZZLE } from "../../scripts/drizzle_next.ts";

const ROOT = new URL("../../", import.meta.url);

async function run(version: string): Promise<Record<string, unknown>> {
  const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  // what the program loads: with all packages, Deno would need several copies of drizzle
  const map = await Deno.makeTempFile({ suffix: ".json" });
  const packages = {
    "@electric-sql/pglite": imports["@electric-sql/pglite"],
    "zod": imports.zod,
    "drizzle-orm": `npm:drizzle-orm@${version}`,
    "drizzle-orm/": `npm:/drizzle-orm@${version}/`,
  };
  await Deno.writeTextFile(map, JSON.stringify({ imports: packages }));
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--no-lock", "--node-modules-dir=none", "--import-map", map]
      .concat(new URL("drizzle_versions_program.ts", import.meta.url).pathname),
    cwd: await Deno.makeTempDir(),
  }).output();
  await Deno.remove(map);
  const text = new TextDecoder().decode(stdout);
  if (!success) throw new Error(text + new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

const note = (id: number, title: string) => ({
  id,
  title,
  tags: ["a"],
  data: { id },
  at: "1970-01-01T00:00:00.000Z",
});
const WORKS = {
  "names": [{ name: "notes" }, true, true],
  "statements": [{ n: 1 }],
  "transactions": [{ n: 1 }],
  "a failure that a transaction hid": "rolled back",
  "queries and statements": [[note(1, "ada")], [note(2, "bob")]],
  "limits": [true, false],
  "jobs": [{ name: "ship", payload: "5" }],
  "a session in the built-in tables": ["ada@example.com", true],
  "columns": ["id"],
  "getDrizzleClient": [[note(3, "eve")], [note(3, "eve")], note(3, "eve")],
  "auth/schema": "email",
};

for (const version of ["0.45.4", NEXT_DRIZZLE]) {
  Deno.test(`everything works with drizzle ${version}`, async () => {
    assertEquals(await run(version), WORKS);
  });
}
