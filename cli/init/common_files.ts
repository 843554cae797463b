import { withoutMargins } from "./margin.ts";

/** A health route without a database, with its test. */
const PLAIN_HEALTH: Readonly<Record<string, string>> = withoutMargins({
  "src/functions/api/health.get.ts":
    `|import { defineApiHandler, reply } from "@trellis/fn/validation";
|import * as z from "zod";
|
|export const handler = defineApiHandler({
|  responses: { 200: z.object({ status: z.literal("ok") }) },
|  openapi: { summary: "Check the health of the service", tags: ["service"] },
|  timeout: 5,
|})(() => reply(200, { status: "ok" }));
`,
  "tests/health.test.ts": `|import { createTestClient } from "@trellis/fn/testing";
|import assert from "node:assert/strict";
|import { test } from "node:test";
|
|test("GET /health responds", async () => {
|  await using api = await createTestClient({ migrations: false });
|  const { body } = await api.get("/health", { expect: 200 });
|  assert.deepEqual(body, { status: "ok" });
|});
`,
});

/** A health route that asks the database, with its test. `trellis deploy` requests it at the end. */
const DATABASE_HEALTH: Readonly<Record<string, string>> = withoutMargins({
  "src/functions/api/health.get.ts": `|import { sql } from "@trellis/fn/database/orm";
|import { logError } from "@trellis/fn/observability";
|import { defineApiHandler, reply } from "@trellis/fn/validation";
|import * as z from "zod";
|import { defineQuery } from "../../database.ts";
|
|const ping = defineQuery({ tables: [] }, async function ping(db) {
|  await db.execute(sql\`select 1\`);
|});
|
|/** Asks the database, for a second. The reason of a failure is in the log. */
|async function isDatabaseUp(): Promise<boolean> {
|  const late = new Promise<"late">((resolve) => {
|    AbortSignal.timeout(1000).addEventListener("abort", () => resolve("late"));
|  });
|  const answer = await Promise.race([ping().then(() => "up", () => "down"), late]);
|  if (answer === "late") logError("the database did not answer within a second");
|  return answer === "up";
|}
|
|export const handler = defineApiHandler({
|  responses: {
|    200: z.object({ status: z.literal("ok") }),
|    503: z.object({ status: z.string(), database: z.string() }),
|  },
|  openapi: { summary: "Check the health of the service and its database", tags: ["service"] },
|  timeout: 5,
|})(async () => {
|  if (await isDatabaseUp()) return reply(200, { status: "ok" });
|  return reply(503, { status: "down", database: "down" });
|});
`,
  "tests/health.test.ts": `|import { createTestClient } from "@trellis/fn/testing";
|import assert from "node:assert/strict";
|import { test } from "node:test";
|
|test("GET /health asks the database", async () => {
|  await using api = await createTestClient();
|  const { body } = await api.get("/health", { expect: 200 });
|  assert.deepEqual(body, { status: "ok" });
|});
`,
});

/**
 * Returns the files that every template has: a health route with its test.
 *
 * @param hasTables True if the project has migrations.
 */
export function commonFiles(hasTables: boolean): Readonly<Record<string, string>> {
  return hasTables ? DATABASE_HEALTH : PLAIN_HEALTH;
}
