import { assertEquals, assertRejects } from "@std/assert";
import type { PgTransactionConfig } from "drizzle-orm/pg-core";
import { type DrizzleClient, withTransaction } from "../../../database/mod.ts";
import { createSessionClient } from "../../../database/session/client.ts";
import { ConnectionSlots } from "../../../database/session/connection_slots.ts";
import { setModes, type SqlDriver, withSavepoints } from "../../../database/session/driver.ts";
import type { TransactionRules } from "../../../database/session/transaction_state.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

/** Creates a client that records the texts of its statements. */
function createRecorder(rules?: TransactionRules): { db: DrizzleClient; sent: string[] } {
  const sent: string[] = [];
  const run: SqlDriver["run"] = ({ text }) => {
    sent.push(text);
    return Promise.resolve({ columns: [], rows: [], command: "SET", rowCount: null });
  };
  const driver: SqlDriver = {
    client: undefined,
    run,
    async transaction(work, modes) {
      await setModes({ run }, modes);
      return await work(withSavepoints({ run }));
    },
  };
  const db = createSessionClient(driver, new ConnectionSlots(1), { schema: undefined, rules });
  return { db, sent };
}

const CONFIGS: PgTransactionConfig[] = [
  undefined,
  "read committed",
  "serializable",
  "repeatable read",
].flatMap((isolationLevel) =>
  [undefined, "read only", "read write"].flatMap((accessMode) =>
    [undefined, true, false].map((deferrable) =>
      ({ isolationLevel, accessMode, deferrable }) as PgTransactionConfig
    )
  )
);

Deno.test("a transaction sends its settings as drizzle does", async () => {
  for (const config of CONFIGS) {
    const { db, sent } = createRecorder();
    const { isolationLevel = "repeatable read" } = config;
    const expected = { ...config, isolationLevel };
    await withTransaction(db, async (tx) => void await tx.setTransaction(expected), config);
    assertEquals(sent.length, 2);
    assertEquals(sent[0], sent[1]);
  }
});

Deno.test("a transaction sends no settings and no savepoint to a server without them", async () => {
  const { db, sent } = createRecorder({ savepoints: false, settings: false });
  const config: PgTransactionConfig = {
    isolationLevel: "repeatable read",
    accessMode: "read write",
  };
  assertEquals(await withTransaction(db, () => Promise.resolve(1), config), 1);
  const other = { ...config, isolationLevel: "serializable" } as const;
  const work = () => Promise.reject(new Error("not called"));
  await assertRejects(() => withTransaction(db, work, other), ConfigurationError, "serializable");
  await assertRejects(
    () => withTransaction(db, (tx) => withTransaction(tx, work)),
    ConfigurationError,
    "savepoints",
  );
  assertEquals(sent, []);
});
