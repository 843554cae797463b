import { assert, assertEquals } from "@std/assert";
import {
  STABLE_FUNCTIONS,
  SYNTAX_WORDS,
  TIME_FUNCTIONS,
  VOLATILE_FUNCTIONS,
} from "../../../distsql/syntax/known_functions.ts";
import { withMigrationLab } from "../../database/migrations/migration_support.ts";

/** In the lists by their own names, and in the catalog not at all: the parser replaces them, or a later version has them. */
const WITHOUT_ENTRY = ["trim", "normalize", "json_array", "erf", "erfc"];

Deno.test("STABLE_FUNCTIONS and the other lists agree with the catalog of PostgreSQL", async () => {
  await withMigrationLab({}, async ({ rows }) => {
    const volatility = new Map<string, string>();
    const found = await rows(
      "SELECT proname::text AS name, string_agg(DISTINCT provolatile::text, '' ORDER BY provolatile::text) AS kinds, " +
        "bool_or(prokind IN ('a', 'w')) AS is_aggregate FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace GROUP BY 1",
    );
    for (const { name, kinds } of found) volatility.set(String(name), String(kinds));
    const isSteady = (name: string): boolean =>
      ["i", "s", "is"].includes(volatility.get(name) ?? "none");
    const unsteady = [...STABLE_FUNCTIONS, ...TIME_FUNCTIONS].filter((name) => !isSteady(name));
    assertEquals(unsteady.filter((name) => !WITHOUT_ENTRY.includes(name)), []);
    assertEquals([...VOLATILE_FUNCTIONS].filter((name) => volatility.get(name) !== "v"), []);
    // aggregates are in no list: they belong to queries, which are refused
    for (const { name, is_aggregate } of found) {
      if (is_aggregate === true) assert(!STABLE_FUNCTIONS.has(String(name)), String(name));
    }
  });
});

Deno.test("STABLE_FUNCTIONS and the other lists leave out what reads tables, the catalog or settings", () => {
  const reading =
    "query_to_xml table_to_xml schema_to_xml database_to_xml cursor_to_xml ts_stat ts_rewrite currval lastval " +
    "setval set_config current_setting pg_relation_size pg_table_size pg_get_viewdef has_table_privilege obj_description " +
    "col_description to_regclass txid_current pg_current_xact_id pg_sleep pg_notify pg_read_file lo_import lo_get dblink " +
    "current_query pg_advisory_lock nextval_if pg_stat_get_tuples_inserted row_security_active pg_sequence_last_value";
  for (const name of reading.split(" ")) {
    assert(
      !STABLE_FUNCTIONS.has(name) && !VOLATILE_FUNCTIONS.has(name),
      name,
    );
  }
});

Deno.test("SYNTAX_WORDS agree with the key words of PostgreSQL", async () => {
  await withMigrationLab({}, async ({ rows }) => {
    const words = await rows(
      "SELECT upper(word) AS word, catcode::text AS kind FROM pg_get_keywords()",
    );
    const kinds = new Map(words.map(({ word, kind }) => [String(word), String(kind)]));
    assertEquals([...SYNTAX_WORDS].filter((word) => !kinds.has(word)), []);
  });
});
