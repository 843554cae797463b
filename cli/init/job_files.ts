import { IDEMPOTENCY_MIGRATION_SQL } from "../../idempotency/migration.ts";
import { JOBS_MIGRATION_SQL } from "../../jobs/migration.ts";
import { withoutMargins } from "./margin.ts";

/** The template `jobs`: orders that a background job ships. */
export const JOB_FILES: Readonly<Record<string, string>> = {
  "migrations/0001_jobs.sql": JOBS_MIGRATION_SQL,
  "migrations/0002_idempotency.sql": IDEMPOTENCY_MIGRATION_SQL,
  ...withoutMargins({
    "src/schema.ts":
      `|import { index, integer, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
|
|export const orders = pgTable("orders", {
|  id: uuid("id").primaryKey().defaultRandom(),
|  item: text("item").notNull(),
|  quantity: integer("quantity").notNull(),
|  shippedAt: timestamp("shipped_at", { withTimezone: true }),
|  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
|}, (table) => [index("orders_created_at_idx").on(table.createdAt)]);
`,
    "migrations/0003_orders.sql": `|CREATE TABLE "orders" (
|  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
|  "item" text NOT NULL,
|  "quantity" integer NOT NULL,
|  "shipped_at" timestamp with time zone,
|  "created_at" timestamp with time zone DEFAULT now() NOT NULL
|);
|--> statement-breakpoint
|CREATE INDEX "orders_created_at_idx" ON "orders" ("created_at");
`,
    "src/queries/orders.ts": `|import type { Params } from "@trellis/fn/database";
|import { desc, eq, sql } from "@trellis/fn/database/orm";
|import { defineStatement } from "../database.ts";
|import { orders } from "../schema.ts";
|
|// drizzle builds each statement once; its tables become the grants of the functions that call it
|export const listOrders = defineStatement(
|  "listOrders",
|  (db, p: Params<{ limit: number }>) => db.select().from(orders).orderBy(desc(orders.createdAt)).limit(p.limit),
|);
|
|export const createOrder = defineStatement(
|  "createOrder",
|  (db, p: Params<{ item: string; quantity: number }>) =>
|    db.insert(orders).values({ item: p.item, quantity: p.quantity }).returning(),
|  { map: ([order]) => order },
|);
|
|export const markShipped = defineStatement(
|  "markShipped",
|  (db, p: Params<{ id: string }>) => db.update(orders).set({ shippedAt: sql\`now()\` }).where(eq(orders.id, p.id)),
|);
`,
    "src/jobs.ts": `|import { defineJob } from "@trellis/fn/jobs";
|import * as z from "zod";
|import { markShipped } from "./queries/orders.ts";
|
|// its writes and its end are one transaction: they happen exactly once
|export const shipOrder = defineJob({
|  name: "ship-order",
|  schema: z.object({ orderId: z.uuid() }),
|  transaction: true,
|})(async function shipOrder({ payload, tx }) {
|  await markShipped.on(tx, { id: payload.orderId });
|});
`,
    "src/functions/schedule/jobs_relay.ts":
      `|import { defineJobRelayHandler } from "@trellis/fn/jobs";
|import { getDb } from "../../database.ts";
|import { shipOrder } from "../../jobs.ts";
|
|// runs due jobs: each minute when deployed, at once in trellis dev
|export const handler = defineJobRelayHandler({ getDb, jobs: [shipOrder] });
`,
    "src/functions/schedule/idempotency_cleanup.ts":
      `|import { removeExpiredRecords } from "@trellis/fn/idempotency";
|import { defineScheduleHandler } from "@trellis/fn/triggers";
|import { getDb } from "../../database.ts";
|
|// once a day: removes stored responses after their 24 hours
|export const handler = defineScheduleHandler()(() => removeExpiredRecords(getDb));
`,
    "src/functions/api/orders/index.get.ts":
      `|import { defineApiHandler, reply } from "@trellis/fn/validation";
|import { OrderList, OrderQuery } from "../../../orders_schemas.ts";
|import { listOrders } from "../../../queries/orders.ts";
|
|export const handler = defineApiHandler({
|  querySchema: OrderQuery,
|  responses: { 200: OrderList },
|  openapi: { summary: "List orders, newest first", tags: ["orders"] },
|})(async ({ query }) => reply(200, { orders: await listOrders(query) }));
`,
    "src/functions/api/orders/index.post.ts":
      `|import { createTransactionStore } from "@trellis/fn/idempotency";
|import { defineApiHandler, reply } from "@trellis/fn/validation";
|import { getDb } from "../../../database.ts";
|import { shipOrder } from "../../../jobs.ts";
|import { Order, OrderInput } from "../../../orders_schemas.ts";
|import { createOrder } from "../../../queries/orders.ts";
|
|// anyone can call it: add an option auth before you deploy something of value
|export const handler = defineApiHandler({
|  schema: OrderInput,
|  responses: { 201: Order },
|  // a client that repeats the request with its Idempotency-Key gets the first response
|  idempotency: { store: createTransactionStore(getDb) },
|  openapi: { summary: "Create an order", tags: ["orders"] },
|})(async ({ body, tx }) => {
|  // the order, its job and the stored response are one transaction
|  const order = await createOrder.on(tx, body);
|  await shipOrder.enqueue(tx, { orderId: order.id });
|  return reply(201, order);
|});
`,
    "src/orders_schemas.ts": `|import * as z from "zod";
|
|export const OrderInput = z.strictObject({
|  item: z.string().trim().min(1).max(200),
|  quantity: z.number().int().min(1).max(1000).default(1),
|});
|
|export const OrderQuery = z.object({ limit: z.coerce.number().int().min(1).max(100).default(20) });
|
|export const Order = z.object({
|  id: z.uuid(),
|  item: z.string(),
|  quantity: z.number(),
|  shippedAt: z.date().nullable(),
|  createdAt: z.date(),
|});
|
|export const OrderList = z.object({ orders: z.array(Order) });
`,
    "tests/orders.test.ts": `|import { createTestClient } from "@trellis/fn/testing";
|import assert from "node:assert/strict";
|import { test } from "node:test";
|
|test("an order that is sent twice is created and shipped once", async () => {
|  await using api = await createTestClient();
|  const request = {
|    headers: { "Idempotency-Key": "order-1" },
|    body: { item: "Tea", quantity: 2 },
|    expect: 201,
|  };
|  const first = await api.post("/orders", request);
|  const second = await api.post("/orders", request);
|  assert.deepEqual(second.body, first.body);
|  assert.equal(second.headers.get("Idempotency-Replayed"), "true");
|
|  const { body: before } = await api.get("/orders");
|  assert.deepEqual([before.orders.length, before.orders[0].shippedAt], [1, null]);
|  await api.runJobs();
|  const { body: after } = await api.get("/orders");
|  assert.notEqual(after.orders[0].shippedAt, null);
|});
`,
  }),
};
