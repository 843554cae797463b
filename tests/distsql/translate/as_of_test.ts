import { assertEquals, assertThrows } from "@std/assert";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { DIST_SQL_CAPABILITIES } from "../../../distsql/registry/capabilities.ts";
import { classifyStatement } from "../../../distsql/translate/classify.ts";
import { sanitizeForDistSql, translateForDistSql } from "../../../distsql/translate/sanitize.ts";

/** A statement, the last day of the old rule, and what the old rule gives: SQL, `null`, or an error's code. */
const CASES: [string, string, string | null][] = [
  [
    "CREATE TABLE b (id uuid PRIMARY KEY, a_id uuid, CONSTRAINT fk FOREIGN KEY (a_id) REFERENCES a (id), note text);",
    "2026-08-25",
    "CREATE TABLE b (id uuid PRIMARY KEY, a_id uuid, note text);",
  ],
  [
    "CREATE TABLE b (id uuid PRIMARY KEY, a_id uuid REFERENCES a ON DELETE SET NULL DEFERRABLE NOT NULL, FOREIGN KEY (x) REFERENCES y);",
    "2026-08-25",
    "CREATE TABLE b (id uuid PRIMARY KEY, a_id uuid NOT NULL);",
  ],
  ["ALTER TABLE b ADD CONSTRAINT fk FOREIGN KEY (a_id) REFERENCES a (id);", "2026-08-25", null],
  [
    "ALTER TABLE b ADD COLUMN a uuid REFERENCES a;",
    "2026-08-25",
    "ALTER TABLE b ADD COLUMN a uuid;",
  ],
  ["CREATE INDEX i ON t (a) WHERE b > 0;", "2026-09-14", "CREATE INDEX ASYNC i ON t (a);"],
  ["CREATE UNIQUE INDEX i ON t (a) WHERE b > 0;", "2026-09-14", "UNSUPPORTED_STATEMENT"],
  ["CREATE STATISTICS s ON a, b FROM t;", "2026-08-26", null],
];

for (const [sql, lastDay, expected] of CASES) {
  Deno.test(`sanitizeForDistSql() knows the rule of ${lastDay} for ${sql}`, () => {
    const nextDay = new Date(Date.parse(lastDay) + 86_400_000);
    if (expected !== null && /^[A-Z_]+$/.test(expected)) {
      const error = assertThrows(() => sanitizeForDistSql(sql, { asOf: lastDay })) as {
        code?: string;
      };
      assertEquals(error.code, expected);
    } else assertEquals(sanitizeForDistSql(sql, { asOf: lastDay }), expected);
    assertEquals(
      sanitizeForDistSql(sql, { asOf: nextDay }),
      sanitizeForDistSql(sql),
      "the day after has today's rule",
    );
  });
}

Deno.test("translateForDistSql() warns when an earlier day's rule drops what protects data", () => {
  for (
    const sql of [
      "ALTER TABLE b ADD FOREIGN KEY (a) REFERENCES a",
      "CREATE TABLE b (a int REFERENCES a, PRIMARY KEY (a))",
    ]
  ) {
    const { warnings } = translateForDistSql(sql, { asOf: "2026-08-25" });
    assertEquals(warnings.map((warning) => warning.id), ["foreign-key-dropped"]);
  }
  assertEquals(
    classifyStatement("ALTER TABLE b ADD FOREIGN KEY (a) REFERENCES a", { asOf: "2026-08-25" })
      .type,
    "unsupported_strip",
  );
});

Deno.test("sanitizeForDistSql() refuses a day whose rules are not known", () => {
  for (const asOf of ["2026-08-24", new Date("2026-02-01")]) {
    assertThrows(
      () => sanitizeForDistSql("SELECT 1", { asOf }),
      ConfigurationError,
      "the rules before 2026-08-25 are not known",
    );
  }
});

Deno.test("DIST_SQL_CAPABILITIES has a day and a source for each entry", () => {
  for (const [name, { since, source }] of Object.entries(DIST_SQL_CAPABILITIES)) {
    assertEquals([/^2026-\d\d-\d\d$/.test(since), source.length > 0], [true, true], name);
  }
});
