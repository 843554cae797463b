import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { createLeanImportMap } from "../../support/lean_import_map.ts";

/** The suites that must pass with the client of a bundle without drizzle, too. */
const SUITES = [
  "database/precompiled/lean_client_suite.ts",
  "database/queries/query_factory_test.ts",
  "database/send_ahead_test.ts",
  "database/session/ended_transaction_test.ts",
  "database/session/lazy_schema_test.ts",
  "database/session/session_test.ts",
  "database/transaction_test.ts",
  "idempotency/distsql_test.ts",
  "jobs/distsql_test.ts",
  "jobs/round_trips_test.ts",
  "cli/build/precompiled_statements_test.ts",
];

Deno.test("the client without drizzle passes the suites of drizzle's client", async () => {
  const map = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(map, JSON.stringify(await createLeanImportMap()));
    const files = SUITES.map((path) => fileURLToPath(new URL(`../../${path}`, import.meta.url)));
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "-A", "--no-check", "--import-map", map, ...files],
    }).output();
    const decoder = new TextDecoder();
    assertEquals(code, 0, decoder.decode(stdout) + decoder.decode(stderr));
  } finally {
    await Deno.remove(map);
  }
});
