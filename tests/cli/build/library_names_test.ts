import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { listImportedNames } from "../../../cli/build/imported_names.ts";
import { removesNames } from "../../../cli/build/library_names.ts";
import { withObservability } from "../../../core/mod.ts";
import { createQueryFactory, defineMigrationHandler } from "../../../database/mod.ts";
import { defineRouter } from "../../../router/mod.ts";
import { defineScheduleHandler } from "../../../triggers/mod.ts";
import { defineApiHandler } from "../../../validation/mod.ts";
import { denoProjectFiles, writeTestProject } from "./project.ts";

Deno.test("listImportedNames() lists what the code imports by name", () => {
  const code = `import {
  enqueue,
  retryJob as retry
} from "@trellis/fn/jobs";
import postgres, { fromCamel } from "postgres";
import * as z from "zod";
export { eq } from "drizzle-orm";
`;
  assertEquals([...listImportedNames(code)], ["enqueue", "retryJob", "fromCamel", "eq"]);
});

Deno.test("listImportedNames() is all if the code imports all of this package", () => {
  for (
    const code of [
      `import * as trellis from "@trellis/fn";\n`,
      `export * from "@trellis/fn/jobs";\n`,
      `var { retryJob } = await import("@trellis/fn/jobs");\n`,
    ]
  ) assertEquals(listImportedNames(code), "all", code);
});

Deno.test("removesNames() is false if classes are not named in static blocks", () => {
  const targets = ["node14", "node16.20", "node18", "node22"];
  assertEquals(targets.map((target) => removesNames({ keepNames: true, target })), [
    false,
    false,
    true,
    true,
  ]);
});

const NAMED = `import { DrizzleQueryError, fillPlaceholders, sql } from "drizzle-orm";
import postgres from "postgres";
import { withObservability } from "@trellis/fn/core";
import { NotFoundError } from "@trellis/fn/errors";
import { createQueryFactory, defineMigrationHandler } from "@trellis/fn/database";
import { defineRouter } from "@trellis/fn/router";
import { defineScheduleHandler } from "@trellis/fn/triggers";
import { defineApiHandler } from "@trellis/fn/validation";
import anonymous, { declaredElsewhere } from "../../elsewhere.ts";

function getDb(): never { throw new Error("no database"); }
function unusedOfUser() { return "unused text"; }
class Note { static create = () => new Note(); }
const größe = () => 1;
function outer() { return function inner() {}; }
const { defineQuery } = createQueryFactory(getDb);
const findNote = defineQuery({ tables: [] }, async function findNote() { return await Promise.resolve(1); });
const getNotes = defineApiHandler({ auth: "none" })(() => ({ statusCode: 200, body: "" }));
const config = { provider: "postgres", connectionString: "postgres://a@b/c" } as const;
export const handler = async (event: { path: string }) => {
  if (event.path === "/own") throw new TypeError("own");
  if (event.path === "/trellis") createQueryFactory(1 as never);
  if (event.path === "/drizzle") fillPlaceholders([sql.placeholder("a")], {});
  const body = JSON.stringify({
    own: [getDb.name, Note.name, Note.create.name, größe.name, outer.name, outer().name, handler.name],
    elsewhere: [declaredElsewhere.name, anonymous.name],
    imported: [withObservability.name, defineRouter.name],
    returned: [
      withObservability(() => 1).name,
      defineScheduleHandler({})(() => 1).name,
      defineMigrationHandler({ database: config }).name,
      defineRouter({ "GET /notes": getNotes }).name,
      findNote.name,
      findNote.on.name,
      findNote.queryName,
    ],
    classes: [
      NotFoundError.name,
      new NotFoundError().name,
      DrizzleQueryError.name,
      new postgres.PostgresError("a" as never).name,
    ],
    text: '__name(getDb,"getDb"),',
    raw: sql.raw.name === "raw",
  });
  return { statusCode: 200, body };
};
`;
const RELAY = `import { defineJobRelayHandler } from "@trellis/fn/jobs";
export const handler = defineJobRelayHandler({ getDb: () => { throw new Error("none"); } });
`;
const ELSEWHERE = `export default () => 1;
export function declaredElsewhere() { return 1; }
`;

/** Matches a frame: file, line and column. */
const FRAME = /\(?((?:file:\/\/)?\/[^\s()]+\.[jt]s):(\d+):(\d+)\)?$/gm;

/** Returns the text in the sources at the frames of a stack. */
async function readFrames(stack: string): Promise<string[]> {
  const texts: string[] = [];
  for (const [, file, line, column] of stack.matchAll(FRAME)) {
    const path = file.startsWith("file:") ? fileURLToPath(file) : file;
    const source = await Deno.readTextFile(path);
    texts.push(source.split("\n")[Number(line) - 1].slice(Number(column) - 1));
  }
  return texts;
}

Deno.test("build keeps the names of the function's own code and of classes", async (t) => {
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "src/functions/standalone/named.ts": NAMED,
    "src/functions/standalone/relay.ts": RELAY,
    "src/elsewhere.ts": ELSEWHERE,
    "migrations/0000_notes.sql": "select 1;",
  });
  const configure = (build: object) =>
    Deno.writeTextFile(
      join(project.root, "trellis.config.ts"),
      `export default { build: ${
        JSON.stringify({ databaseProviders: ["postgres"], awsSdk: "runtime", ...build })
      } };`,
    );
  const run = async () => {
    const { exitCode, stdout, stderr } = await project.build();
    assertEquals(exitCode, 0, stdout + stderr);
    return await Deno.readTextFile(join(project.root, "dist/Named/index.mjs"));
  };
  try {
    await configure({});
    const code = await run();
    const { answer } = await project.call("Named");
    assert(answer.body !== undefined, answer.thrown);
    const names = JSON.parse(answer.body);

    await t.step("own functions and classes", () => {
      assertEquals(names.own, ["getDb", "Note", "create", "größe", "outer", "inner", "handler"]);
      assertEquals(names.elsewhere, ["declaredElsewhere", "default"]);
      assertEquals(names.text, '__name(getDb,"getDb"),');
      assertFalse(code.includes("unused text"));
    });
    await t.step("functions that the code imports or gets from the package", () => {
      assertEquals(names.imported, ["withObservability", "defineRouter"]);
      const getNotes = defineApiHandler({ auth: "none" })(() => ({ statusCode: 200, body: "" }));
      const findNote = createQueryFactory(() => Promise.reject(new Error("none")))
        .defineQuery({ tables: [] }, function findNote() {
          return Promise.resolve(1);
        });
      assertEquals(names.returned, [
        withObservability(() => 1).name,
        defineScheduleHandler({})(() => 1).name,
        defineMigrationHandler({
          database: { provider: "postgres", connectionString: "postgres://a@b/c" },
        }).name,
        defineRouter({ "GET /notes": getNotes }).name,
        findNote.name,
        findNote.on.name,
        "findNote",
      ]);
    });
    await t.step("classes of packages", () => {
      assertEquals(names.classes, [
        "NotFoundError",
        "NotFoundError",
        "DrizzleQueryError",
        "PostgresError",
      ]);
    });
    await t.step("no names of other functions of the packages", () => {
      assertFalse(names.raw);
      // of drizzle-orm, postgres and this package
      for (const name of ["uniqueKeyName", "cachedError", "describeTables"]) {
        assertFalse(new RegExp(`[,"]"?${name}"\\)`).test(code), name);
      }
    });

    await t.step("operations of functions in the package", async () => {
      const { logged } = await project.call("Relay", { event: { time: "2026-01-01T00:00:00Z" } });
      assertStringIncludes(logged, "relayJobs");
    });

    await t.step("positions of errors", async () => {
      const nodeArgs = ["--enable-source-maps"];
      for (
        const [path, file, text] of [
          ["/own", "src/functions/standalone/named.ts", 'new TypeError("own")'],
          ["/trellis", "database/queries/query_factory.ts", "new ConfigurationError("],
          ["/drizzle", "sql/sql.js", "new Error(`No value for placeholder"],
        ]
      ) {
        const { thrown } = (await project.call("Named", { event: { path }, nodeArgs })).answer;
        assertStringIncludes(thrown!, file);
        const frames = await readFrames(thrown!);
        assert(frames.some((each) => each.startsWith(text)), `${thrown}\n${frames.join("\n")}`);
      }
      const { thrown } = (await project.call("Named", { event: { path: "/own" } })).answer;
      assertMatch(thrown!, /at (?:async )?handler \(/);
    });

    await t.step("the same code without source maps", async () => {
      await configure({ sourceMaps: "none" });
      assertEquals(await run(), code.replace(/\/\/# sourceMappingURL=.*\n/, ""));
      const files = [...Deno.readDirSync(join(project.root, "dist/Named"))].map(({ name }) => name);
      assertEquals(files, ["index.mjs"]);
    });
    await t.step("no names with keepNames: false", async () => {
      await configure({ keepNames: false });
      const nameless = await run();
      assert(nameless.length < code.length);
      const body = JSON.parse((await project.call("Named")).answer.body!);
      assert(body.own[0] !== "getDb");
    });
    await t.step("all names for versions of Node without static blocks", async () => {
      await configure({ target: "node16" });
      await run();
      assert(JSON.parse((await project.call("Named")).answer.body!).raw);
    });
  } finally {
    await project.remove();
  }
});
