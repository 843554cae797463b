import { assertEquals } from "@std/assert";
import { stop } from "esbuild";
import { findFaults, loadedBy } from "../../scripts/check_imports.ts";

const { exports } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));

Deno.test({
  name: "findFaults() finds nothing that an entry point must not load",
  // esbuild runs in a separate process for all builds
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    try {
      assertEquals(await findFaults(exports), []);
      // what another entry point loads is a fault of this one
      const faults = await findFaults({ ...exports, "./errors": "./database/orm.ts" });
      assertEquals(faults, ["./errors loads drizzle-orm: load it with import() when it is needed"]);
      assertEquals(await loadedBy("errors/mod.ts"), []);
    } finally {
      await stop();
    }
  },
});
