import { assertEquals, assertThrows } from "@std/assert";
import { assertNoSearchPath, withSettings } from "../../../database/migrations/session_settings.ts";
import type { DedicatedSession } from "../../../database/providers/provider.ts";

Deno.test("withSettings() repeats the settings before each query, script and transaction", async () => {
  const sent: string[] = [];
  const session = {
    query: (text: string) => Promise.resolve((sent.push(text), [])),
    script: (statements: readonly string[]) => Promise.resolve(void sent.push(...statements)),
    transaction: (work: (tx: never) => Promise<unknown>) => work(undefined as never),
  } as unknown as DedicatedSession;
  const repeating = withSettings(session, ["SET role a", "SET search_path = b"]);
  const settings = ["SET role a", "SET search_path = b"];
  await repeating.query("select 1");
  await repeating.script(["select 2"]);
  await repeating.transaction(() => Promise.resolve(void sent.push("select 3")));
  assertEquals(sent, [...settings, "select 1", ...settings, "select 2", ...settings, "select 3"]);
});

Deno.test("assertNoSearchPath() throws for a search path that the file sets, not for one that it resets", () => {
  assertNoSearchPath(["SET role a", "RESET search_path"]);
  for (const sql of ["SET search_path = b", "SET SCHEMA 'b'"]) {
    assertThrows(() => assertNoSearchPath([sql]), Error, "remove SET search_path");
  }
});
