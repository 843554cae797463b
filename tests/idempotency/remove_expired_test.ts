import { assertEquals, assertRejects } from "@std/assert";
import { sql } from "../../database/orm.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { removeExpiredRecords } from "../../idempotency/mod.ts";
import { createTestDatabase } from "../../testing/mod.ts";
import { createRecordsTable } from "./stores.ts";

Deno.test("removeExpiredRecords() deletes expired records in batches and keeps all others", async () => {
  const { db, close } = await createTestDatabase();
  try {
    await createRecordsTable(db);
    await db.execute(sql`INSERT INTO idempotency_records
      SELECT n::text, '', '', NULL, now(), now() + (n - 26) * interval '1 hour'
      FROM generate_series(1, 30) n`);
    const getDb = () => db;
    assertEquals(await removeExpiredRecords(getDb, { batchSize: 10, maxBatches: 2 }), 20);
    assertEquals(await removeExpiredRecords(getDb, { batchSize: 10 }), 6);
    assertEquals(await removeExpiredRecords(getDb), 0);
    const { rows } = await db.execute(sql`SELECT id FROM idempotency_records ORDER BY id`);
    assertEquals(rows.map(({ id }) => id), ["27", "28", "29", "30"]);
    await assertRejects(() => removeExpiredRecords(getDb, { batchSize: 0 }), ConfigurationError);
  } finally {
    await close();
  }
});
