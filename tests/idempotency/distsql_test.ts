import { assertEquals } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  getDrizzleClient,
  sanitizeForDistSql,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import {
  createTransactionStore,
  IDEMPOTENCY_MIGRATION_SQL,
  removeExpiredRecords,
} from "../../idempotency/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { onEachEngine } from "../support/each_engine.ts";

/** Sends duplicates of several requests at once. */
async function raceOn(config: DatabaseConfig): Promise<void> {
  const getDb = () => getDrizzleClient(config);
  const db = await getDb();
  for (const statement of IDEMPOTENCY_MIGRATION_SQL.split("--> statement-breakpoint")) {
    const text = config.provider === "distsql" ? sanitizeForDistSql(statement) : statement;
    await db.execute(sql.raw(text!));
  }
  await db.execute(sql`CREATE TABLE orders (id text PRIMARY KEY, key text)`);
  const handler = defineApiHandler({
    idempotency: { store: createTransactionStore(getDb), leaseSeconds: 1 },
  })(async function createOrder({ event, tx }) {
    const id = crypto.randomUUID();
    const key = event.headers["Idempotency-Key"]!;
    await tx.execute(sql`INSERT INTO orders VALUES (${id}, ${key})`);
    return { statusCode: 201, body: id };
  });
  async function send(key: string): Promise<string> {
    for (let tries = 0; tries < 100; tries++) {
      const event = createRestApiEvent({ method: "POST", headers: { "Idempotency-Key": key } });
      const { statusCode, body } = await handler(event, createLambdaContext());
      if (statusCode === 201) return body;
      await new Promise((resolve) => setTimeout(resolve, 20 * Math.random()));
    }
    throw new Error(`no answer for ${key}`);
  }
  const answers = await Promise.all(
    Array.from({ length: 24 }, async (_, i) => [`k-${i % 3}`, await send(`k-${i % 3}`)] as const),
  );
  assertEquals(new Set(answers.map((answer) => answer.join(" "))).size, 3);
  const { rows } = await db.execute(sql`SELECT key FROM orders ORDER BY key`);
  assertEquals(rows.map(({ key }) => key), ["k-0", "k-1", "k-2"]);
  await db.execute(sql`UPDATE idempotency_records SET expires_at = now()`);
  assertEquals(await removeExpiredRecords(getDb), 3);
  await closeDrizzleClient(config);
}

Deno.test({
  name: "createTransactionStore() applies racing requests once where transactions read snapshots",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () => onEachEngine((_name, config) => raceOn(config)),
});
