import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { MigrationError, readMigrationFiles } from "../../../database/mod.ts";
import { planMigrations } from "../../../database/migrations/plan.ts";
import { planSteps } from "../../../database/migrations/steps.ts";

type Files = Record<string, string | Uint8Array>;

function withFolder<T>(files: Files, test: (folder: string) => T): T {
  const folder = Deno.makeTempDirSync();
  try {
    for (const [name, content] of Object.entries(files)) {
      if (name.includes("/")) Deno.mkdirSync(`${folder}/${name.split("/")[0]}`, { recursive: true });
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
  const sql = "CREATE TABLE a (t text DEFAULT '--> statement-breakpoint');\n--> statement-breakpoint\r\nSELECT 1;\n";
  const files = withFolder({
    "10_last.sql": "SELECT 10",
    "0002_b.sql": "\ufeffSELECT 2",
    "0001_a.sql": sql,
    "notes.txt": "not read",
    "meta/_journal.json": JSON.stringify({ entries: [{ tag: "0001_a" }] }),
  }, readMigrationFiles);
  assertEquals(files.map(({ tag }) => tag), ["0001_a", "0002_b", "10_last"]);
  assertEquals(files[0].hash, createHash("sha256").update(sql).digest("hex"));
  assertEquals(files[0].sql, sql);
  assertEquals(files[0].statements, ["CREATE TABLE a (t text DEFAULT '--> statement-breakpoint');", "SELECT 1;"]);
  assertEquals(files[1].statements, ["SELECT 2"]);
  assertEquals(files[1].hash, createHash("sha256").update("\ufeffSELECT 2").digest("hex"));
  assertEquals(withFolder({}, readMigrationFiles), []);
});

const faults: [name: string, files: Files, parts: string[]][] = [
  ["a file without a number", { "init.sql": "SELECT 1" }, ["init.sql", "<number>_<name>.sql"]],
  ["two files of one number", { "0001_a.sql": "SELECT 1", "1_b.sql": "SELECT 1" }, ["0001_a", "1_b", "same number"]],
  ["a file that is not UTF-8", { "0001_a.sql": new Uint8Array([0xff, 0xfe, 0x41]) }, ["0001_a.sql", "UTF-8"]],
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
  ["a name with a control character", { "0001_\u001b[2J.sql": "SELECT 1" }, ['"0001_\\u001b[2J.sql" has a control']],
  ["a folder with the name of a file", { "0001_a.sql/x": "" }, ["0001_a.sql cannot be read"]],
  ["a journal that is broken", { "0001_a.sql": "SELECT 1", "meta/_journal.json": "{" }, ["_journal.json"]],
];
for (const [name, files, parts] of faults) {
  Deno.test(`readMigrationFiles() refuses ${name}`, () => {
    const error = withFolder(files, (folder) => assertThrows(() => readMigrationFiles(folder), MigrationError));
    for (const part of parts) assertStringIncludes(error.message, part);
  });
}

Deno.test("readMigrationFiles() passes over a journal without entries, and entries without a tag", () => {
  for (const journal of ["{}", '{"entries": []}', '{"entries": [{}, null, {"tag": 7}, {"tag": "0001_a"}]}']) {
    const files = withFolder({ "0001_a.sql": "SELECT 1", "meta/_journal.json": journal }, readMigrationFiles);
    assertEquals(files.map(({ tag }) => tag), ["0001_a"], journal);
  }
});

Deno.test("readMigrationFiles() splits at breakpoints alone, and gives no statement of a file that holds none", () => {
  const cases: [sql: string, statements: string[]][] = [
    ["", []],
    [" \n\t", []],
    ["--> statement-breakpoint\n", []],
    ["SELECT 1 -- a note\n, 2;", ["SELECT 1 -- a note\n, 2;"]],
    ["SELECT 1 -- a\n, 2;\n--> statement-breakpoint\nSELECT 3", ["SELECT 1 -- a\n, 2;", "SELECT 3"]],
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
  return { tag, hash: createHash("sha256").update(sql).digest("hex"), appliedAt: new Date(0), executed: true };
}

Deno.test("planMigrations() tells pending, changed and unknown, and warns of gaps, late files and line endings", () => {
  withFolder({
    "0001_a.sql": "SELECT 1;\n",
    "0002_b.sql": "SELECT 2; -- changed",
    "0003_c.sql": "SELECT 3",
    "0004_d.sql": "SELECT 4;\r\n",
    "0007_e.sql": "SELECT 7",
  }, (folder) => {
    const status = planMigrations(readMigrationFiles(folder), [
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
    for (const part of ["0004_d.sql has other line endings", "0005_gone", "0003_c", "between 0004_d and 0007_e"]) {
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
    ["CREATE TABLE a (id int); INSERT INTO a VALUES (1);", true, "together together"],
    ["BEGIN; CREATE TABLE a (id int); COMMIT;", true, "together"],
    ["CREATE INDEX CONCURRENTLY i ON a (id); SELECT 1", false, "alone together"],
    ["create unique index concurrently i on a (id)", false, "alone"],
    ["DROP INDEX CONCURRENTLY i", false, "alone"],
    ["VACUUM a", false, "alone"],
    ["ALTER TYPE mood ADD VALUE 'sad'", false, "alone"],
    ["ALTER TYPE mood RENAME TO feeling", true, "together"],
    ["-- trellis: no-transaction\nSELECT 1; SELECT 2", false, "together together"],
    ["CREATE INDEX ASYNC i ON a (id)", true, "together"],
    ["SELECT 'CREATE INDEX CONCURRENTLY'", true, "together"],
  ];
  for (const [sql, atomic, runs] of cases) {
    const planned = plan(sql);
    assertEquals([planned.atomic, planned.steps.map(({ run }) => run).join(" ")], [atomic, runs], sql);
  }
});

Deno.test("planSteps() refuses what it cannot run", () => {
  const cases: [sql: string, part: string][] = [
    ["", "no statement"],
    ["-- nothing yet\n/* here */", "no statement"],
    ["CREATE TABLE a (id int); COMMIT; CREATE TABLE b (id int)", "transactions"],
    ["BEGIN; SELECT 1; COMMIT; SELECT 2", "transactions"],
    ["\\connect other", "psql"],
  ];
  for (const [sql, part] of cases) {
    const error = assertThrows(() => plan(sql), MigrationError);
    assertStringIncludes(error.message, part);
    assertStringIncludes(error.message, "0001_a.sql");
  }
});
