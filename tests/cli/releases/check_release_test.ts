import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { build } from "../../../cli/commands/build.ts";
import { checkCompat } from "../../../cli/commands/check_compat.ts";
import { checkRelease } from "../../../cli/releases/check_release.ts";
import type { ReleaseManifest } from "../../../cli/releases/release_manifest.ts";
import { openReleaseRecord } from "../../../cli/releases/release_record.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { denoProjectFiles } from "../build/project.ts";
import { runInProcess } from "../fixtures/run.ts";

const BASE = `CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL, n int);
CREATE TABLE users (id int PRIMARY KEY, name text);
CREATE TYPE mood AS ENUM ('a'); CREATE TABLE moods (m mood);`;

const RELEASE: ReleaseManifest = {
  version: 1,
  migrations: ["0001_base"],
  functions: [{
    name: "Notes",
    role: "fn_notes",
    grants: [
      'GRANT SELECT, INSERT, UPDATE ON "notes" TO "fn_notes"',
      'GRANT SELECT ("id", "name") ON "users" TO "fn_notes"',
      'GRANT SELECT ON "moods" TO "fn_notes"',
    ],
    statements: [
      { name: "find", place: "q.ts:1", sql: 'SELECT "id", "title" FROM "notes" WHERE "n" = $1' },
      { name: "add", place: "q.ts:2", sql: 'INSERT INTO "notes" ("id", "title") VALUES ($1, $2)' },
      { name: "set", place: "q.ts:3", sql: 'UPDATE "notes" SET "title" = $1 WHERE "id" = $2' },
      { name: "gone", place: "q.ts:4", sql: "SELECT 1 FROM elsewhere" },
    ],
    unchecked: ["list (q.ts:5)"],
  }],
};

/** Checks the release against pending files; returns what breaks as `<file>:<line> <statement>: <reason>`. */
async function breaksOf(...files: string[]): Promise<string[]> {
  const named = Object.fromEntries(files.map((sql, at) => [`m/000${at + 2}_next.sql`, sql]));
  return await withTempFolder({ "m/0001_base.sql": BASE, ...named }, async (root) => {
    const { breaks, pending } = await checkRelease(RELEASE, join(root, "m"));
    assertEquals(pending.length, files.length);
    return breaks.map(({ file, line, statement, reason }) =>
      `${file.slice(0, 4)}:${line} ${statement}: ${reason}`
    );
  });
}

const cases: [files: string[], breaks: string[]][] = [
  [["ALTER TABLE notes ADD COLUMN body text, ADD COLUMN m int NOT NULL DEFAULT 1"], []],
  // expand and contract in two files: only the contraction breaks
  [
    [
      "ALTER TABLE notes ADD COLUMN name text; UPDATE notes SET name = title",
      "ALTER TABLE notes ALTER title DROP NOT NULL;\nALTER TABLE notes DROP COLUMN title",
    ],
    [
      '0003:2 find: column "title" does not exist',
      '0003:2 add: column "title" of relation "notes" does not exist',
      '0003:2 set: column "title" of relation "notes" does not exist',
    ],
  ],
  // the release sees nothing of a transaction before its end
  [[
    "BEGIN; ALTER TABLE moods RENAME TO old; CREATE VIEW moods AS SELECT * FROM old; " +
    "GRANT SELECT ON moods TO fn_notes; COMMIT",
  ], []],
  [["DROP TABLE moods;\nCREATE TABLE moods (m mood)"], [
    '0002:1 the grant of "moods": permission denied for table moods',
  ]],
  [["ALTER TABLE notes ALTER n TYPE text"], [
    "0002:1 find: its parameter $1 is text instead of integer",
  ]],
  [["ALTER TABLE users ALTER name TYPE varchar; ALTER TABLE notes ALTER n TYPE bigint"], []],
  [["ALTER TABLE notes ALTER id TYPE bigint"], [
    "0002:1 find: it gives id bigint instead of id integer",
  ]],
  [["SELECT 1;\nALTER TABLE notes ADD COLUMN kind text NOT NULL"], [
    "0002:2 add: it gives no kind, which is required",
  ]],
  [["ALTER TABLE users RENAME name TO full_name"], [
    '0002:1 the grant of "users": column "name" does not exist',
  ]],
  // the statements of a split file are seen one by one
  [
    ["ALTER TABLE users RENAME name TO x; CREATE INDEX i ON notes (n); ALTER TABLE users RENAME x TO name"],
    [
      '0002:1 the grant of "users": column "name" does not exist',
    ],
  ],
  [["ALTER TABLE users RENAME name TO x; ALTER TABLE users RENAME x TO name"], []],
];

Deno.test("checkRelease() names each statement that a pending migration breaks, at its line", async () => {
  for (const [files, breaks] of cases) assertEquals(await breaksOf(...files), breaks, files.join());
});

Deno.test("checkRelease() lists what it cannot check, and refuses what it cannot replay", async () => {
  await withTempFolder({ "m/0001_base.sql": BASE }, async (root) => {
    const { unchecked, checked } = await checkRelease(RELEASE, join(root, "m"));
    assertEquals(checked, 6);
    assertEquals(unchecked, [
      "list (q.ts:5): its SQL is only known when it runs",
      'gone (q.ts:4): relation "elsewhere" does not exist',
    ]);
    await Deno.writeTextFile(join(root, "m/0002_bad.sql"), "CREATE EXTENSION postgis");
    await assertRejects(
      () => checkRelease(RELEASE, join(root, "m")),
      ConfigurationError,
      "0002_bad.sql:1 does not run on the embedded database",
    );
    await assertRejects(
      () => checkRelease({ ...RELEASE, migrations: ["0000_lost"] }, join(root, "m")),
      ConfigurationError,
      "built with 0000_lost.sql, which the folder does not contain",
    );
  });
});

Deno.test("trellis build writes the manifest that check compat reads, from a file or the record of a stage", async () => {
  const files = {
    ...await denoProjectFiles(),
    "trellis.config.ts": 'export default { infra: { projectName: "my-notes" } };',
    "migrations/0001_base.sql": BASE,
    "permissions/Notes.sql":
      'CREATE ROLE "fn_notes" WITH LOGIN;\n\n-- find\nGRANT SELECT ON "notes" TO "fn_notes";\n',
    "src/database.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
const { defineStatement } = createQueryFactory(() => getDrizzleClient({ provider: "embedded-pg" }));
export const find = defineStatement(
  "find",
  (db, p) => db.execute(sql\`SELECT title FROM notes WHERE id = \${p.id}\`),
);`,
    "src/functions/api/notes.get.ts": `import { defineApiHandler } from "@trellis/fn/validation";
import { find } from "../../database.ts";
export const handler = defineApiHandler({})(async () => ({
  statusCode: 200,
  body: JSON.stringify(await find({ id: 1 })),
}));
`,
  };
  await withTempFolder(files, async (root) => {
    const run = (...args: string[]) =>
      runInProcess([...args, "--project", root], { commands: [build, checkCompat], cwd: root });
    const built = await run("build");
    assertEquals(built.exitCode, 0, built.stdout + built.stderr);
    const manifest = JSON.parse(await Deno.readTextFile(join(root, "dist/release.json")));
    assertEquals(manifest, {
      version: 1,
      migrations: ["0001_base"],
      functions: [{
        name: "Notes",
        role: "fn_notes",
        grants: ['GRANT SELECT ON "notes" TO "fn_notes"'],
        statements: [{
          name: "find",
          place: "src/database.ts:4",
          sql: "SELECT title FROM notes WHERE id = $1",
        }],
        unchecked: [],
      }],
    });
    assertEquals((await run("check", "compat", "--against", "dist/release.json")).exitCode, 0);
    await Deno.writeTextFile(
      join(root, "migrations/0002_name.sql"),
      "ALTER TABLE notes RENAME title TO name;",
    );
    const missing = await run("check", "compat", "--against", "prod");
    assertEquals(missing.exitCode, 3);
    assertStringIncludes(missing.stderr, "No release of prod is recorded");
    const stage = { name: "prod", backend: { path: "states/prod.tfstate" } };
    await openReleaseRecord(undefined, join(root, "infra"), stage).write({
      running: [manifest],
      previous: null,
    });
    const found = await run("check", "compat", "--against", "prod");
    assertEquals(found.exitCode, 1, found.stderr);
    assertStringIncludes(
      found.stdout,
      "0002_name.sql:1: ALTER TABLE notes RENAME title TO name\n" +
        '    breaks find (src/database.ts:4) of Notes: column "title" does not exist\n    Expand:',
    );
  });
});
