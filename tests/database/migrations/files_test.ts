import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { MigrationError } from "../../../database/migrate.ts";
import { readMigrationFiles } from "../../../database/mod.ts";
import { readMigrationFolder } from "../../../database/migrations/folder.ts";
import { planMigrations } from "../../../database/migrations/plan.ts";
import { planSteps } from "../../../database/migrations/steps.ts";

type Files = Record<string, string | Uint8Array>;

function withFolder<T>(files: Files, test: (folder: string) => T): T {
  const folder = Deno.makeTempDirSync();
  try {
    for (const [name, content] of Object.entries(files)) {
      if (name.includes("/")) {
        Deno.mkdirSync(`${folder}/${name.split("/")[0]}`, { recursive: true });
      }
      Deno.writeFileSync(
        `${folder}/${name}`,
        typeof content === "string" ? new TextEncoder().encode(content) : content,
      );
    }
    return test(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("readMigrationFiles() reads files in the order of their numbers, with hash and statements", () => {
  const sql =
    "CREATE TABLE a (t text DEFAULT '--> statement-breakpoint');\n--> statement-breakpoint\r\nSELECT 1;\n";
  const files = withFolder({
    "10_last.sql": "SELECT 10",
    "0002_b.sql": "\ufeffSELECT 2",
    "0001_a.sql": sql,
    "notes.txt": "not read",
  }, readMigrationFiles);
  assertEquals(files.map(({ tag }) => tag), ["0001_a", "0002_b", "10_last"]);
  assertEquals(files[0].hash, createHash("sha256").update(sql).digest("hex"));
  assertEquals(files[0].sql, sql);
  assertEquals(files[0].statements, [
    "CREATE TABLE a (t text DEFAULT '--> statement-breakpoint');",
    "SELECT 1;",
  ]);
  assertEquals(files[1].statements, ["SELECT 2"]);
  assertEquals(files[1].hash, createHash("sha256").update("\ufeffSELECT 2").digest("hex"));
  assertEquals(withFolder({}, readMigrationFiles), []);
});

const faults: [name: string, files: Files, parts: string[]][] = [
  ["a file without a number", { "init.sql": "SELECT 1" }, ["init.sql", "<number>_<name>.sql"]],
  ["two files of one number", { "0001_a.sql": "SELECT 1", "1_b.sql": "SELECT 1" }, [
    "0001_a",
    "1_b",
    "same number",
  ]],
  ["a file that is not UTF-8", { "0001_a.sql": new Uint8Array([0xff, 0xfe, 0x41]) }, [
    "0001_a.sql",
    "UTF-8",
  ]],
  ["a journal whose file is missing", {
    "0001_a.sql": "SELECT 1",
    "meta/_journal.json": JSON.stringify({ entries: [{ tag: "0002_b" }] }),
  }, ["0002_b.sql", "_journal.json"]],
  ["a journal without a list", {
    "0001_a.sql": "SELECT 1",
    "meta/_journal.json": '{"entries": {"tag": "0001_a"}}',
  }, ["_journal.json has no list of entries"]],
  ["a journal that names a missing file with a control character", {
    "0001_a.sql": "SELECT 1",
    "meta/_journal.json": JSON.stringify({ entries: [{ tag: "0002_\u001b[2J" }] }),
  }, ['"0002_\\u001b[2J"']],
  ["a name with a control character", { "0001_\u001b[2J.sql": "SELECT 1" }, [
    '"0001_\\u001b[2J.sql" has a control',
  ]],
  ["a folder with the name of a file", { "0001_a.sql/x": "" }, ["0001_a.sql cannot be read"]],
  ["a journal with an entry without a tag", {
    "0001_a.sql": "SELECT 1",
    "meta/_journal.json": '{"entries": [{"tag": "0001_a"}, {"idx": 1}]}',
  }, ["_journal.json: entry 2 has no tag"]],
  ["a journal that lists a file twice", {
    "0001_a.sql": "SELECT 1",
    "meta/_journal.json": '{"entries": [{"tag": "0001_a"}, {"tag": "0001_a"}]}',
  }, ["_journal.json lists 0001_a twice"]],
  ["a journal without entries", { "0001_a.sql": "SELECT 1", "meta/_journal.json": "{}" }, [
    "has no list of entries",
  ]],
  ["a journal that is null", { "0001_a.sql": "SELECT 1", "meta/_journal.json": "null" }, [
    "has no list of entries",
  ]],
  ["a journal that is broken", { "0001_a.sql": "SELECT 1", "meta/_journal.json": "{" }, [
    "_journal.json",
  ]],
];
for (const [name, files, parts] of faults) {
  Deno.test(`readMigrationFiles() refuses ${name}`, () => {
    const error = withFolder(
      files,
      (folder) => assertThrows(() => readMigrationFiles(folder), MigrationError),
    );
    for (const part of parts) assertStringIncludes(error.message, part);
  });
}

function journal(...tags: unknown[]): string {
  return JSON.stringify({
    version: "7",
    dialect: "postgresql",
    entries: tags.map((tag) => ({ tag })),
  });
}

Deno.test("readMigrationFolder() takes the journal for the list and the order", () => {
  const entries = [
    { idx: 0, when: 300, tag: "0001_b" },
    { idx: 1, when: 100, tag: "0000_a" }, // a merge: made earlier, listed later
    { idx: 1, when: 200, tag: "0000_other" }, // and of the same number
    { idx: 4, when: 50, tag: "without_number" },
  ];
  const files = {
    ...Object.fromEntries(entries.map(({ tag }) => [`${tag}.sql`, "SELECT 1"])),
    "0002_by_hand.sql": "DROP TABLE users",
    "seed.sql": "DROP TABLE users",
    "meta/_journal.json": `\ufeff${
      JSON.stringify({ version: "7", dialect: "postgresql", entries })
    }`,
  };
  const { hasJournal, unlisted, files: read } = withFolder(files, readMigrationFolder);
  assertEquals(read.map(({ tag }) => tag), ["0001_b", "0000_a", "0000_other", "without_number"]);
  assertEquals([hasJournal, unlisted], [true, ["seed", "0002_by_hand"]]);
});

Deno.test("readMigrationFolder() reads nothing where the journal lists nothing", () => {
  const files = { "0001_a.sql": "SELECT 1", "meta/_journal.json": journal() };
  const { files: read, unlisted } = withFolder(files, readMigrationFolder);
  assertEquals([read, unlisted], [[], ["0001_a"]]);
});

Deno.test("readMigrationFolder() does not take a journal that leads nowhere for a folder without one", () => {
  withFolder({ "0001_a.sql": "SELECT 1", "meta/0000_snapshot.json": "{}" }, (folder) => {
    assertEquals(readMigrationFolder(folder).hasJournal, false);
    Deno.symlinkSync("nowhere", `${folder}/meta/_journal.json`);
    const error = assertThrows(() => readMigrationFolder(folder), MigrationError);
    assertStringIncludes(error.message, "meta/_journal.json cannot be read: restore it");
  });
});

Deno.test("readMigrationFiles() splits at breakpoints alone, and gives no statement of a file that holds none", () => {
  const cases: [sql: string, statements: string[]][] = [
    ["", []],
    [" \n\t", []],
    ["--> statement-breakpoint\n", []],
    ["SELECT 1 -- a note\n, 2;", ["SELECT 1 -- a note\n, 2;"]],
    ["SELECT 1 -- a\n, 2;\n--> statement-breakpoint\nSELECT 3", [
      "SELECT 1 -- a\n, 2;",
      "SELECT 3",
    ]],
    ["\ufeffSELECT 1;--> statement-breakpoint\n\nSELECT 2;\n", ["SELECT 1;", "SELECT 2;"]],
  ];
  for (const [sql, statements] of cases) {
    const [file] = withFolder({ "0001_a.sql": sql }, readMigrationFiles);
    assertEquals(file.statements, statements, JSON.stringify(sql));
  }
});

Deno.test("readMigrationFiles() names the folder that is not there", () => {
  const error = assertThrows(() => readMigrationFiles("./no/such/folder"), MigrationError);
  assertStringIncludes(error.message, "./no/such/folder");
});

function row(tag: string, sql: string) {
  return {
    tag,
    hash: createHash("sha256").update(sql).digest("hex"),
    appliedAt: new Date(0),
    executed: true,
  };
}

Deno.test("planMigrations() distinguishes pending, changed and unknown files, and warns of gaps, late files and line endings", () => {
  withFolder({
    "0001_a.sql": "SELECT 1;\n",
    "0002_b.sql": "SELECT 2; -- changed",
    "0003_c.sql": "SELECT 3",
    "0004_d.sql": "SELECT 4;\r\n",
    "0007_e.sql": "SELECT 7",
  }, (folder) => {
    const status = planMigrations(readMigrationFolder(folder), [
      row("0004_d", "SELECT 4;\n"),
      row("0002_b", "SELECT 2;"),
      row("0001_a", "SELECT 1;\n"),
      row("0005_gone", "x"),
    ]);
    assertEquals(status.applied.map(({ tag }) => tag), ["0001_a", "0002_b", "0004_d", "0005_gone"]);
    assertEquals(status.pending, ["0003_c", "0007_e"]);
    assertEquals(status.changed, ["0002_b"]);
    assertEquals(status.unknown, ["0005_gone"]);
    const all = status.warnings.join("\n");
    for (
      const part of [
        "0004_d.sql has other line endings",
        "0005_gone",
        "0003_c",
        "between 0004_d and 0007_e",
      ]
    ) {
      assertStringIncludes(all, part);
    }
  });
});

function plan(sql: string, provider: "serverless-pg" | "distsql" = "serverless-pg") {
  return withFolder(
    { "0001_a.sql": sql },
    (folder) => planSteps(readMigrationFiles(folder), new Set(["0001_a"]), provider, {})[0],
  );
}

Deno.test("planSteps() makes a file one transaction unless a statement or a line of it forbids that", () => {
  const cases: [sql: string, atomic: boolean, runs: string][] = [
    ["CREATE TABLE a (id int); INSERT INTO a VALUES (1);", true, "transactional transactional"],
    ["BEGIN; CREATE TABLE a (id int); COMMIT;", true, "transactional"],
    ["CREATE INDEX CONCURRENTLY i ON a (id); SELECT 1", false, "standalone transactional"],
    ["create unique index concurrently i on a (id)", false, "standalone"],
    ["DROP INDEX CONCURRENTLY i", false, "standalone"],
    ["VACUUM a", false, "standalone"],
    ["ALTER TYPE mood ADD VALUE 'sad'", false, "standalone"],
    ["ALTER TYPE mood RENAME TO feeling", true, "transactional"],
    ["-- trellis: no-transaction\nSELECT 1; SELECT 2", false, "transactional transactional"],
    ["CREATE INDEX ASYNC i ON a (id)", true, "transactional"],
    ["SELECT 'CREATE INDEX CONCURRENTLY'", true, "transactional"],
  ];
  for (const [sql, atomic, runs] of cases) {
    const planned = plan(sql);
    assertEquals(
      [planned.atomic, planned.steps.map(({ run }) => run).join(" ")],
      [atomic, runs],
      sql,
    );
  }
});

Deno.test("planSteps() warns of a file with comments only, as drizzle-kit writes it", () => {
  const { steps, atomic, findings } = plan("-- Custom SQL migration file\n/* here */\n");
  assertEquals([steps, atomic], [[], true]);
  assertEquals(findings.map(({ severity, rule }) => [severity, rule]), [[
    "warning",
    "migration-empty",
  ]]);
});

Deno.test("readMigrationFolder() reads <name>/migration.sql beside files, in the order of the numbers", () => {
  const files = {
    "20250102000000_b/migration.sql": "SELECT 2;",
    "20250102000000_b/snapshot.json": "{}",
    "20250101000000_a/migration.sql": "SELECT 1;",
    "0001_first.sql": "SELECT 0;",
    "migration_lock.toml": "",
  };
  const { files: read, hasJournal, unlisted } = withFolder(files, readMigrationFolder);
  assertEquals([hasJournal, unlisted], [false, []]);
  assertEquals(read.map(({ tag, path, sql }) => [tag, path, sql]), [
    ["0001_first", "0001_first.sql", "SELECT 0;"],
    ["20250101000000_a", "20250101000000_a/migration.sql", "SELECT 1;"],
    ["20250102000000_b", "20250102000000_b/migration.sql", "SELECT 2;"],
  ]);
});

Deno.test("readMigrationFolder() orders folders like Prisma by dates and names, and refuses a file of that number", () => {
  const folders = {
    "20240304123642_view_improvement/migration.sql": "SELECT 2;",
    "20240304123643_view.sql/migration.sql": "SELECT 3;",
    "20240305_day/migration.sql": "SELECT 5;",
    "20240305120000_noon/migration.sql": "SELECT 4;",
    "20240306120000_noon/migration.sql": "SELECT 6;",
    "0001_first/migration.sql": "SELECT 0;",
    "20240304123642_view/migration.sql": "SELECT 1;",
  };
  const { files } = withFolder(folders, readMigrationFolder);
  assertEquals(
    files.map(({ sql }) => sql),
    Array.from({ length: 7 }, (_, at) => `SELECT ${at};`),
  );
  const mixed = { ...folders, "20240304123642_file.sql": "SELECT 3;" };
  assertThrows(() => withFolder(mixed, readMigrationFolder), MigrationError, "same number");
});

Deno.test("planSteps() finds everything that it cannot run, by line and column", () => {
  const cases: [sql: string, found: string[]][] = [
    ["", ["0001_a.sql contains no statement"]],
    ["BEGIN; SELECT 1; COMMIT; COMMIT", ["1:26 COMMIT"]],
    ["CREATE TABLE a (id int);\n  COMMIT; CREATE TABLE b (id int);\nBEGIN", [
      "2:3 COMMIT",
      "3:1 BEGIN",
    ]],
    ["\\connect other secret\n\n/* é */ ROLLBACK;", ["1:1 \\connect", "3:9 ROLLBACK"]],
  ];
  for (const [sql, found] of cases) {
    const { steps, findings } = plan(sql);
    assertEquals(steps, [], sql);
    assertEquals(
      findings.map(({ severity, file }) => [severity, file]),
      found.map(() => ["error", "0001_a.sql"]),
      sql,
    );
    const places = findings.map(({ file, line, column, statement, message }) =>
      line === undefined ? `${file} ${message}` : `${line}:${column} ${statement}`
    );
    assertEquals(places, found, sql);
  }
});
