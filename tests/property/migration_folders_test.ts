import { stripMark } from "../../sql/text_position.ts";
import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { readdirSync } from "node:fs";
import fc from "fast-check";
import { createHash } from "node:crypto";
import { readMigrationFiles, readMigrationFolder } from "../../database/migrations/folder.ts";
import { MigrationError } from "../../database/migrations/migration_error.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import { planMigrations } from "../../database/migrations/plan.ts";
import { planSteps } from "../../database/migrations/steps.ts";
import { type Entry, entry, withFolder } from "./files.ts";
import { properties } from "./seeded.ts";
import { anyCharacter } from "../support/any_character.ts";

const { property } = properties("migration folders", 200);

const sql = fc.oneof(
  fc.array(
    fc.constantFrom(
      "CREATE TABLE a (id int);",
      "--> statement-breakpoint",
      "CREATE INDEX i ON a (id DESC);",
      "INSERT INTO a VALUES ('--> statement-breakpoint');",
      "-- trellis: no-transaction",
      "BEGIN;",
      "'",
      "$$",
      "/*",
      "\r\n",
      "\0",
      "",
    ),
    { maxLength: 6 },
  ).map((lines) => lines.join("\n")),
  fc.string({ unit: anyCharacter }),
);
const number = fc.oneof(
  fc.nat(12).map(String),
  fc.nat(12).map((value) => String(value).padStart(4, "0")),
  fc.constantFrom("", "-1", "1.5", "0x1", "٣", "20260101000000", "9".repeat(120)),
);
const title = fc.oneof(
  fc.string({ maxLength: 10 }),
  fc.string({ unit: anyCharacter, maxLength: 6 }),
  fc.constantFrom(
    "",
    "a",
    "a.b",
    "é",
    "e\u0301",
    "a\nb",
    "..",
    "a'; DROP TABLE a; --",
    "__proto__",
  ),
).map((text) => text.replaceAll(/[\0/]/g, ""));
const name = fc.oneof(
  {
    arbitrary: fc.tuple(number, title).map(([digits, rest]) => `${digits}_${rest}.sql`),
    weight: 6,
  },
  { arbitrary: fc.nat(40).map((value) => `${String(value).padStart(4, "0")}_m.sql`), weight: 6 },
  {
    arbitrary: fc.constantFrom(
      "notes.txt",
      ".sql",
      "0001_a.SQL",
      "0001_a.sql~",
      "snapshot.json",
      "sub/0002_b.sql",
    ),
    weight: 1,
  },
);
const journal = fc.oneof(
  fc.constantFrom(
    "",
    "{",
    "null",
    "[]",
    '{"entries":5}',
    '{"entries":[null]}',
    '{"entries":[{"tag":"0001_m"}]}',
  ),
  fc.jsonValue().map((value) => JSON.stringify({ entries: value })),
);
const folder = fc.tuple(
  fc.dictionary(name, entry(sql), { maxKeys: 5 }),
  fc.option(entry(journal), { nil: undefined, freq: 4 }),
).map(([files, meta]): Record<string, Entry> => ({
  ...files,
  ...(meta && { "meta/_journal.json": meta }),
}));

/** Names a file of the folder, or the folder, and is one line. */
function assertClear(error: unknown, path: string, names: readonly string[]): void {
  assertInstanceOf(error, MigrationError);
  const { message } = error;
  assert(
    message.includes(JSON.stringify(path)) ||
      names.some((each) =>
        message.includes(each.replace(/\.sql$/, "")) || message.includes(JSON.stringify(each))
      ),
    `${message} names no file of ${JSON.stringify(names)}`,
  );
  assert(message.includes(": "), `${message} says nothing of what to do`);
}

/** A finding names its file, and its position is where the statement begins. */
function assertPlaced(
  { file, line, column, statement, advice }: PlanFinding,
  tag: string,
  sql: string,
): void {
  assertEquals(file, `${tag}.sql`);
  assert(advice !== "");
  if (line === undefined || column === undefined || statement === undefined) {
    return assertEquals(line, undefined);
  }
  const rest = [...sql.split(/\r\n|\r|\n/)[line - 1]].slice(column - 1).join("");
  const [word] = /^[\p{L}\p{N}_\\]*/u.exec(statement)!;
  assert(rest.startsWith(word), `${line}:${column} ${statement} of ${JSON.stringify(sql)}`);
}

property(
  "readMigrationFiles() reads a folder whole and in order, or refuses it in one error that names a file",
  fc.asyncProperty(folder, async (entries) => {
    await withFolder(entries, (path) => {
      let read;
      try {
        read = readMigrationFolder(path);
      } catch (error) {
        return assertClear(error, path, Object.keys(entries));
      }
      const { files, hasJournal, unlisted } = read;
      assertEquals(readMigrationFiles(path).map(({ tag }) => tag), files.map(({ tag }) => tag));
      const numbers = hasJournal ? [] : files.map(({ tag }) => BigInt(/^\d+/.exec(tag)![0]));
      for (let at = 1; at < numbers.length; at++) {
        assert(numbers[at - 1] < numbers[at], "out of order");
      }
      // every .sql file is read or named
      const present = readdirSync(path).filter((name) => name.endsWith(".sql"));
      assertEquals(
        [...files.map(({ tag }) => `${tag}.sql`), ...unlisted.map((tag) => `${tag}.sql`)].sort(),
        present.sort(),
      );
      for (const { tag, sql, hash, statements } of files) {
        const source = entries[`${tag}.sql`];
        assert(source !== undefined, `${tag} is not in the folder`);
        if (source.kind === "text" && source.text.isWellFormed()) assertEquals(sql, source.text);
        assertEquals(hash, createHash("sha256").update(sql).digest("hex"));
        const letters = (text: string): string =>
          text.replaceAll(/--> statement-breakpoint.*|\s/g, "");
        assertEquals(letters(statements.join("\n")), letters(sql.replace(/^\ufeff/, "")));
      }
    });
  }),
);

property(
  "planMigrations() puts each file in one place, and planSteps() gives steps or one error that names the file",
  fc.asyncProperty(
    fc.dictionary(
      fc.nat(20).map((value) => `${value}_m.sql`),
      sql.map((text) => ({ kind: "text", text }) as const),
      {
        maxKeys: 5,
      },
    ),
    fc.array(fc.record({ at: fc.nat(20), changed: fc.boolean() }), { maxLength: 5 }),
    fc.constantFrom("distsql", "embedded-pg", "branching-pg"),
    async (entries, rows, provider) => {
      await withFolder(entries, (path) => {
        const folder = readMigrationFolder(path);
        const { files } = folder;
        const applied = [...new Map(rows.map((row) => [row.at, row])).values()].map(
          ({ at, changed }) => {
            const file = files.find(({ tag }) => tag === `${at}_m`);
            const hash = changed || file === undefined ? "0".repeat(64) : file.hash;
            return { tag: `${at}_m`, hash, appliedAt: new Date(0), executed: true };
          },
        );
        const status = planMigrations(folder, applied);
        const tags = files.map(({ tag }) => tag);
        const appliedTags = applied.map(({ tag }) => tag);
        assertEquals(
          new Set([...status.pending, ...status.applied.map(({ tag }) => tag)]),
          new Set([...tags, ...appliedTags]),
        );
        assertEquals(status.pending, tags.filter((tag) => !appliedTags.includes(tag)));
        assertEquals(
          status.unknown.toSorted(),
          appliedTags.filter((tag) => !tags.includes(tag)).toSorted(),
        );
        const differing = applied.filter(({ tag, hash }) =>
          files.some((file) => file.tag === tag && file.hash !== hash)
        );
        assertEquals(status.changed.toSorted(), differing.map(({ tag }) => tag).toSorted());
        const planned = planSteps(files, new Set(status.pending), provider, {});
        assertEquals(planned.map(({ file }) => file.tag), status.pending);
        for (const { file, steps, findings } of planned) {
          assert(steps.every((step) => step.sql.trim() !== ""));
          const refused = findings.filter(({ severity }) => severity === "error");
          if (refused.length > 0) assertEquals(steps, []);
          for (const finding of findings) assertPlaced(finding, file.tag, stripMark(file.sql));
        }
      });
    },
  ),
);
