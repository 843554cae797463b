import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { dirname, join, resolve } from "node:path";
import { SourceMap } from "node:module";
import { denoProjectFiles, writeTestProject } from "./project.ts";

const SCHEMA = `import { integer, pgTable, text } from "drizzle-orm/pg-core";

export const notes = pgTable("notes", {
  id: integer("id").primaryKey(),
  title: text("title").notNull().$defaultFn(function makeTitle() { return "untitled"; }),
});
`;

const FUNCTION =
  `import { createQueryFactory, DatabaseOperation, getDrizzleClient } from "@trellis/fn/database";
import { asc, sql } from "@trellis/fn/database/orm";
import { getRequiredEnv } from "@trellis/fn/env";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";
import * as schema from "../../schema.ts";
import { notes } from "../../schema.ts";

const Page = z.object({ limit: z.int().max(50), color: z.enum(["red", "blue"]).optional() });
const getDb = () =>
  getDrizzleClient({ provider: "serverless-pg", connectionString: getRequiredEnv("DATABASE_URL"), schema });
const { definePreparedQuery } = createQueryFactory(getDb);
const listNotes = definePreparedQuery(
  { tables: [{ table: notes, operations: [DatabaseOperation.Select] }] },
  async function listNotes(db, limit: number) {
    return await db.select().from(notes).orderBy(asc(notes.id)).limit(sql.placeholder("limit"))
      .prepare("list_notes").execute({ limit });
  },
);
export const handler = defineApiHandler({ auth: "none", schema: Page })(async ({ body }) => ({
  statusCode: 200,
  body: JSON.stringify(await listNotes(body.limit)),
}));
`;

const FILES = ["schemas.cjs", "drizzle.cjs"];
/** Functions of zod, drizzle-orm and this package, by file. */
const LIBRARY = {
  "schemas.cjs": ["mergeDefs", "finalizeIssue", "createFallbackValidator"],
  "drizzle.cjs": ["uniqueKeyName", "orderSelectedFields", "toStatementError"],
};

const isNamed = (code: string, name: string) => new RegExp(`[,(]"${name}"\\)`).test(code);

/** Prints names in the second files, as they are when they are loaded. */
const PROGRAM = `
const [folder] = process.argv.slice(1);
const { schemas, createValidator } = require(folder + "/schemas.cjs");
const [page] = Object.values(schemas);
const [tables] = Object.values(require(folder + "/drizzle.cjs").schemas);
const title = tables.notes.title;
console.log(JSON.stringify([
  page.constructor.name,
  page.safeParse({ limit: 51 }).error.name,
  title.constructor.name,
  title.defaultFn.name,
  createValidator.name === "createValidator",
]));
`;

/** Checks that errors are created at the positions that the source map gives for them. */
async function assertPositions(path: string): Promise<void> {
  const code = await Deno.readTextFile(path);
  const map = new SourceMap(JSON.parse(await Deno.readTextFile(`${path}.map`)));
  const lines = code.split("\n");
  let found = 0;
  for (const [line, text] of lines.entries()) {
    for (const { index } of text.matchAll(/\bnew Error\(/g)) {
      const { originalSource, originalLine, originalColumn } = map.findEntry(line, index) as {
        originalSource: string;
        originalLine: number;
        originalColumn: number;
      };
      const file = resolve(dirname(path), decodeURIComponent(originalSource));
      // the build replaces its content
      if (file.endsWith("columns/all.js")) continue;
      const source = (await Deno.readTextFile(file)).split("\n")[originalLine];
      assert(source.slice(originalColumn).startsWith("new Error("), `${file}: ${source}`);
      found++;
    }
  }
  assert(found > 5, `${found} errors in ${path}`);
}

Deno.test("build removes the names of library functions from second files", async (t) => {
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "src/functions/api/notes.post.ts": FUNCTION,
    "src/schema.ts": SCHEMA,
  });
  const folder = join(project.root, "dist/Notes");
  const run = async (build: object): Promise<Record<string, string>> => {
    const config = JSON.stringify({ build: { precompile: true, ...build } });
    await Deno.writeTextFile(join(project.root, "trellis.config.ts"), `export default ${config};`);
    const { exitCode, stdout, stderr } = await project.build();
    assertEquals(exitCode, 0, stdout + stderr);
    assertStringIncludes(stdout, "drizzle on demand");
    return Object.fromEntries(FILES.map((file) => {
      return [file, Deno.readTextFileSync(join(folder, file))];
    }));
  };
  try {
    const all = await run({ target: "node16" });
    const code = await run({});

    await t.step("functions of the packages", () => {
      for (const [file, names] of Object.entries(LIBRARY)) {
        for (const name of names) {
          assert(isNamed(all[file], name), `${name} in ${file}`);
          assertFalse(isNamed(code[file], name), `${name} in ${file}`);
        }
        assert(code[file].length < all[file].length);
      }
    });
    await t.step("names that the code imports", () => {
      for (const name of ["pgTable", "asc"]) assert(isNamed(code["drizzle.cjs"], name), name);
    });
    await t.step("classes and own functions", async () => {
      const { stdout, stderr } = await new Deno.Command("node", {
        args: ["-e", PROGRAM, folder],
      }).output();
      const text = new TextDecoder().decode(stdout);
      assert(text !== "", new TextDecoder().decode(stderr));
      assertEquals(JSON.parse(text), ["ZodObject", "ZodError", "PgText", "makeTitle", false]);
    });
    await t.step("positions of errors", async () => {
      for (const file of FILES) await assertPositions(join(folder, file));
    });
    await t.step("the same code without source maps", async () => {
      const withoutMaps = await run({ sourceMaps: "none" });
      for (const file of FILES) {
        assertEquals(withoutMaps[file], code[file].replace(/\/\/# sourceMappingURL=.*\n/, ""));
      }
      const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
      assertEquals(names.sort(), ["drizzle.cjs", "index.mjs", "rest.cjs", "schemas.cjs"]);
    });
    await t.step("source maps in a folder of their own", async () => {
      await run({ sourceMaps: "apart" });
      const maps = [...Deno.readDirSync(join(project.root, "dist.maps/Notes"))];
      assertEquals(maps.map(({ name }) => name).sort(), [
        "drizzle.cjs.map",
        "index.mjs.map",
        "rest.cjs.map",
        "schemas.cjs.map",
      ]);
    });
  } finally {
    await project.remove();
  }
});
