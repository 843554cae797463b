import { assertEquals, assertThrows } from "@std/assert";
import { compareTags, hashText, type MigrationFile } from "../../../database/migrations/files.ts";
import type { MigrationFolder } from "../../../database/migrations/folder.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import {
  type AppliedMigration,
  assertNothingChanged,
  planMigrations,
} from "../../../database/migrations/plan.ts";

function file(tag: string, sql = "SELECT 1"): MigrationFile {
  return { tag, path: `${tag}.sql`, sql, hash: hashText(sql), statements: [] };
}

function numbered(...files: MigrationFile[]): MigrationFolder {
  return { files, hasJournal: false, unlisted: [] };
}

function row(tag: string, sql = "SELECT 1"): AppliedMigration {
  return { tag, hash: hashText(sql), appliedAt: new Date(0), executed: true };
}

function warnings(files: string[], rows: string[] = []): string[] {
  return planMigrations(numbered(...files.map((tag) => file(tag))), rows.map((tag) => row(tag)))
    .warnings;
}

Deno.test("planMigrations() has nothing to say of a folder and a database in order", () => {
  const tags = ["0001_a", "0002_b", "0003_c"];
  for (const applied of [0, 1, 2, 3]) {
    const status = planMigrations(
      numbered(...tags.map((tag) => file(tag))),
      tags.slice(0, applied).map((tag) => row(tag)),
    );
    assertEquals([status.pending, status.changed, status.unknown, status.warnings], [
      tags.slice(applied),
      [],
      [],
      [],
    ]);
  }
});

Deno.test("planMigrations() names what only the database has", () => {
  assertEquals(warnings(["0001_a"], ["0001_a", "0002_b"]), [
    "the database has migrations that the folder does not contain: 0002_b",
  ]);
  assertEquals(warnings([], ["0002_b", "0001_a"]), [
    "the database has migrations that the folder does not contain: 0001_a, 0002_b",
  ]);
});

Deno.test("planMigrations() names what will run after a higher number", () => {
  assertEquals(warnings(["1_a", "2_b", "3_c", "4_d"], ["2_b", "3_c"]), [
    "will run after 3_c, although their numbers are lower: 1_a",
  ]);
  assertEquals(warnings(["1_a", "2_b", "3_c", "4_d"], ["4_d", "1_a"]), [
    "will run after 4_d, although their numbers are lower: 2_b, 3_c",
  ]);
});

Deno.test("planMigrations() misses numbers that count one by one, and lets time stamps be", () => {
  const cases: [files: string[], between: string[]][] = [
    [["0001_a", "0003_b", "0004_c"], ["0001_a and 0003_b"]],
    [["0000_a", "0001_b", "0005_c", "0009_d"], ["0001_b and 0005_c", "0005_c and 0009_d"]],
    [["0007_first"], []],
    [["1_a", "99999_b"], ["1_a and 99999_b"]],
    [["1_a", "100000_b"], []],
    [["20260101120000_a", "20260102120000_b"], []],
  ];
  for (const [files, between] of cases) {
    const expected = between.map((two) =>
      `no file has a number between ${two}: a file may be missing`
    );
    assertEquals(warnings(files), expected, files.join(" "));
  }
  assertEquals(warnings(["1_a", "3_b", "5_c"], ["1_a", "3_b"]), [
    "no file has a number between 3_b and 5_c: a file may be missing",
  ]);
  assertEquals(warnings(["1_a", "3_b"], ["1_a", "3_b"]), []);
});

Deno.test("planMigrations() takes other line endings and a byte order mark for the same content", () => {
  const texts = ["a\nb\n", "a\r\nb\r\n", "\ufeffa\nb\n", "\ufeffa\r\nb\r\n"];
  for (const now of texts) {
    for (const then of texts) {
      const status = planMigrations(numbered(file("1_a", now)), [row("1_a", then)]);
      const told = now === then ? [] : ["1_a.sql has other line endings than when it was applied"];
      assertEquals([status.changed, status.warnings], [[], told], JSON.stringify([now, then]));
    }
    assertEquals(planMigrations(numbered(file("1_a", now)), [row("1_a", "a\nc\n")]).changed, [
      "1_a",
    ]);
  }
});

Deno.test("compareTags() goes by the number, then by the name; what has no number comes first", () => {
  const cases: [a: string, b: string, expected: number][] = [
    ["2_a", "10_a", -1],
    ["10_a", "0002_a", 1],
    ["0001_a", "1_b", -1],
    ["1_b", "1_a", 1],
    ["1_a", "1_a", 0],
    ["no number", "0001_a", -1],
    ["90071992547409931_a", "90071992547409930_a", 1],
  ];
  for (const [a, b, expected] of cases) assertEquals(compareTags(a, b), expected, `${a} ${b}`);
});

Deno.test("assertNothingChanged() names the files that changed", () => {
  const status = planMigrations(numbered(file("1_a"), file("2_b"), file("3_c")), [
    row("1_a"),
    row("2_b", "x"),
    row("3_c", "y"),
  ]);
  const error = assertThrows(() => assertNothingChanged(status), MigrationError);
  assertEquals([error.code, error.tag], ["MIGRATION", "2_b"]);
  assertEquals(
    error.message,
    "2_b.sql, 3_c.sql changed after being applied: restore the applied content and put the change into a new migration",
  );
  assertNothingChanged(planMigrations(numbered(file("1_a")), [row("1_a")]));
});

function journaled(tags: string[], unlisted: string[] = []): MigrationFolder {
  return { files: tags.map((tag) => file(tag)), hasJournal: true, unlisted };
}

Deno.test("planMigrations() follows the journal's order, whatever the numbers say", () => {
  const tags = ["0002_b", "0000_a", "0000_other", "named"];
  const status = planMigrations(journaled(tags), [row("named"), row("0000_a")]);
  assertEquals(status.applied.map(({ tag }) => tag), ["0000_a", "named"]);
  assertEquals(status.pending, ["0002_b", "0000_other"]);
  assertEquals(status.warnings, [
    "will run after named, although the journal lists them before it: 0002_b, 0000_other",
  ]);
  // numbers that are missing between listed files say nothing
  assertEquals(planMigrations(journaled(["0000_a", "0007_b"]), []).warnings, []);
});

Deno.test("planMigrations() names files that the journal does not list, and never runs them", () => {
  const status = planMigrations(journaled(["0000_a"], ["0001_b", "0002_c"]), [
    row("0000_a"),
    row("0002_c"),
  ]);
  assertEquals([status.pending, status.unlisted, status.unknown], [[], ["0001_b", "0002_c"], [
    "0002_c",
  ]]);
  assertEquals(status.findings.map(({ severity, rule, file }) => [severity, rule, file]), [
    ["warning", "migration-unlisted", "0001_b.sql"],
    ["warning", "migration-unlisted", "0002_c.sql"],
  ]);
  assertEquals(status.warnings, [
    "0001_b.sql is not listed in meta/_journal.json, so it is never run",
    "0002_c.sql is applied, but meta/_journal.json does not list it: a new database would not get it",
  ]);
});

Deno.test("planMigrations() reports a journal that lists fewer files than were applied", () => {
  // a merge dropped the entry and the file
  const status = planMigrations(journaled(["0000_a", "0002_c"]), [row("0000_a"), row("0001_b")]);
  assertEquals([status.pending, status.unknown], [["0002_c"], ["0001_b"]]);
  assertEquals(status.warnings, [
    "the database has migrations that the folder does not contain: 0001_b",
  ]);
});
