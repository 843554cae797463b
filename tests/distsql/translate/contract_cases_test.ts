import { assertEquals } from "@std/assert";
import { classifyStatement } from "../../../distsql/translate/classify.ts";
import { translateForDistSql } from "../../../distsql/translate/sanitize.ts";

interface ContractCase {
  id: string;
  sql: string;
  class: string;
  accept_class_too?: string[];
  expected: "unchanged" | "strip" | "error" | string | string[] | null;
  await_job_after?: number[];
  warn: boolean;
  legacy?: { until: string; expected: string };
}

const FILE = new URL("../../../../shared/contract/distsql_cases.json", import.meta.url);

function readCases(): ContractCase[] {
  try {
    return JSON.parse(Deno.readTextFileSync(FILE)).cases;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    Deno.test.ignore(
      "recorded statements: ../shared/contract/distsql_cases.json is not here",
      () => {},
    );
    return [];
  }
}

/** Spaces and the last semicolon do not count. */
function normal(sql: string): string {
  return sql.replace(/\s+/g, " ").replace(/\s*([(),])\s*/g, "$1").replace(/\s*;\s*$/, "").trim();
}

for (const one of readCases()) {
  Deno.test(`translateForDistSql() agrees with the recorded statement ${one.id}`, () => {
    const { statements, refusals, warnings } = translateForDistSql(one.sql);
    const types = [one.class, ...one.accept_class_too ?? []].map((type) =>
      type === "error" ? "unsupported_strip" : type
    );
    assertEquals(types.includes(classifyStatement(one.sql).type), true);
    if (one.expected === "error" || one.expected === null) {
      assertEquals(
        refusals[0].code,
        one.expected === null ? "RECREATION_REQUIRED" : "UNSUPPORTED_STATEMENT",
      );
      return;
    }
    const expected = one.expected === "unchanged"
      ? [one.sql]
      : one.expected === "strip"
      ? []
      : [one.expected].flat();
    assertEquals(statements.map((statement) => normal(statement.sql)), expected.map(normal));
    assertEquals(
      statements.flatMap((statement, index) => statement.job ? [index] : []),
      one.await_job_after ?? [],
    );
    assertEquals(warnings.length > 0, one.warn);
    if (one.legacy) {
      const earlier = translateForDistSql(one.sql, { asOf: one.legacy.until });
      assertEquals(earlier.statements.map((statement) => normal(statement.sql)), [
        normal(one.legacy.expected),
      ]);
    }
  });
}
