import { assertEquals, assertStrictEquals } from "@std/assert";
import { DIST_SQL_SOURCES } from "../../../distsql/registry/capabilities.ts";
import { DistSqlAction, DistSqlCategory } from "../../../distsql/registry/incompatibility.ts";
import {
  DIST_SQL_INCOMPATIBILITIES,
  getByAction,
  getByCategory,
  getIncompatibility,
  isActiveOn,
} from "../../../distsql/registry/incompatibilities.ts";
import { sanitizeForDistSql, translateForDistSql } from "../../../distsql/translate/sanitize.ts";
import { RECREATED, REFUSED, STRIPPED, TRANSLATED, UNCHANGED } from "../translate/corpus.ts";

Deno.test("DistSqlCategory and DistSqlAction have the interface's values", () => {
  const categories = [
    "DDL",
    "DML",
    "DataType",
    "Permission",
    "Index",
    "Transaction",
    "SystemCatalog",
    "Connection",
    "Function",
  ];
  const actions = ["Compatible", "Rewrite", "Strip", "Recreate", "Error", "Warn", "AppLayer"];
  assertEquals(
    Object.entries(DistSqlCategory).toSorted(),
    categories.map((name) => [name, name]).toSorted(),
  );
  assertEquals(
    Object.entries(DistSqlAction).toSorted(),
    actions.map((name) => [name, name]).toSorted(),
  );
});

Deno.test("DIST_SQL_INCOMPATIBILITIES has complete entries with unique ids", () => {
  const ids = DIST_SQL_INCOMPATIBILITIES.map((entry) => entry.id);
  assertEquals(new Set(ids).size, ids.length);
  for (const entry of DIST_SQL_INCOMPATIBILITIES) {
    assertEquals(/^[a-z]+(?:-[a-z0-9]+)*$/.test(entry.id), true, entry.id);
    assertEquals(
      [entry.title.length > 0, entry.advice.length > 0, entry.source.length > 0],
      [true, true, true],
      entry.id,
    );
    for (const key of entry.source) {
      assertEquals(key in DIST_SQL_SOURCES, true, `${entry.id}: ${key}`);
    }
    for (const day of [entry.since, entry.until]) {
      assertEquals(day === undefined || /^\d{4}-\d\d-\d\d$/.test(day), true, entry.id);
    }
    if (entry.sqlState) assertEquals(/^[0-9A-Z]{5}$/.test(entry.sqlState), true, entry.id);
  }
});

Deno.test("getByCategory() and getByAction() divide the registry", () => {
  const categories = Object.values(DistSqlCategory).map((category) =>
    getByCategory(category).length
  );
  const actions = Object.values(DistSqlAction).map((action) => getByAction(action).length);
  const sum = (counts: number[]): number => counts.reduce((a, b) => a + b, 0);
  assertEquals([sum(categories), sum(actions)], [
    DIST_SQL_INCOMPATIBILITIES.length,
    DIST_SQL_INCOMPATIBILITIES.length,
  ]);
  assertEquals([Math.min(...categories) > 0, Math.min(...actions) > 0], [true, true]);
});

Deno.test("getIncompatibility() finds an entry by its id and gives undefined for another one", () => {
  assertStrictEquals(getIncompatibility("truncate")?.action, DistSqlAction.Rewrite);
  assertStrictEquals(getIncompatibility("no-such-entry"), undefined);
});

Deno.test("translateForDistSql() names rules that hold on the day, on any day", () => {
  const texts = [
    ...Object.values(TRANSLATED).map(([sql]) => sql),
    ...UNCHANGED,
    ...STRIPPED,
    ...[...REFUSED, ...RECREATED].map(([sql]) => sql),
  ];
  for (
    const asOf of ["2026-08-25", "2026-08-26", "2026-09-01", "2026-11-01"]
  ) {
    for (const sql of texts) {
      const { rules, refusals, warnings, statements } = translateForDistSql(sql, { asOf });
      for (const id of rules) {
        const entry = getIncompatibility(id);
        assertEquals(
          entry !== undefined && isActiveOn(entry, asOf),
          true,
          `${id} on ${asOf}: ${sql}`,
        );
      }
      for (const { id } of [...refusals, ...warnings]) assertEquals(rules.includes(id), true, id);
      if (refusals.length > 0 || statements.length === 0) continue;
      const once = sanitizeForDistSql(sql, { asOf })!;
      assertEquals(sanitizeForDistSql(once, { asOf }), once, `translated again on ${asOf}`);
    }
  }
});
