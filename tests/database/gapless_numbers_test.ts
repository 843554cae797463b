import { assert, assertEquals } from "@std/assert";
import {
  closeDrizzleClient,
  createQueryFactory,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { sql } from "../../database/orm.ts";
import { onEachEngine } from "../support/each_engine.ts";

const counters = pgTable("invoice_counters", {
  tenantId: text("tenant_id").primaryKey(),
  last: integer("last").notNull(),
});
const invoices = pgTable("invoices", {
  id: text("id").primaryKey(),
  tenantId: text("tenant_id").notNull(),
  number: integer("number").notNull(),
});

Deno.test("a counter with one row for each tenant numbers without gaps on both engines", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  await onEachEngine(async (name, base) => {
    const config = { ...base, maxConnections: 8 };
    const db = await getDrizzleClient(config);
    await db.execute(
      sql`CREATE TABLE invoice_counters (tenant_id text PRIMARY KEY, last int NOT NULL)`,
    );
    await db.execute(
      sql`CREATE TABLE invoices (id text PRIMARY KEY, tenant_id text NOT NULL, number int NOT NULL)`,
    );
    const { defineQuery } = createQueryFactory(() => db);
    const createInvoice = defineQuery(
      { name: "createInvoice", transaction: true, retry: { maxRetries: 50, baseDelayMs: 5 } },
      async (tx, { tenantId, fails }: { tenantId: string; fails: boolean }) => {
        const [{ number }] = await tx.insert(counters).values({ tenantId, last: 1 })
          .onConflictDoUpdate({
            target: counters.tenantId,
            set: { last: sql`${counters.last} + 1` },
          })
          .returning({ number: counters.last });
        await tx.insert(invoices).values({ id: crypto.randomUUID(), tenantId, number });
        if (fails) throw new Error("rolled back");
      },
    );
    const outcomes = await Promise.allSettled(
      Array.from(
        { length: 80 },
        (_, at) => createInvoice({ tenantId: at % 2 === 0 ? "a" : "b", fails: at % 5 === 0 }),
      ),
    );
    for (const tenant of ["a", "b"]) {
      const rows = await executeRows<{ number: number }>(
        db,
        sql`SELECT number FROM invoices WHERE tenant_id = ${tenant} ORDER BY number`,
      );
      assert(rows.length > 0, name);
      assertEquals(rows.map(({ number }) => Number(number)), rows.map((_, at) => at + 1), name);
    }
    assertEquals(outcomes.filter(({ status }) => status === "rejected").length, 16, name);
    await closeDrizzleClient(config);
  });
});
