import { withoutMargins } from "./margin.ts";

/** The files that every template has: the use of the database in tests, and a health route with its test. */
export const COMMON_FILES: Readonly<Record<string, string>> = withoutMargins({
  "tests/setup.ts": `|import { createTestDatabase } from "@trellis/fn/testing";
|import process from "node:process";
|import { fileURLToPath } from "node:url";
|
|// import this file first: functions read the environment when they are loaded
|process.env.DATABASE_URL = "memory://tests";
|process.env.AUTH_SECRET = "only for tests: 32 characters or more";
|// a handler that fails writes its error, which its response does not have
|process.env.LOG_LEVEL = "ERROR";
|process.env.METRICS_DISABLED = "true";
|
|/** Runs a test with a new database that has all tables. */
|export async function withDatabase(fn: () => Promise<void>): Promise<void> {
|  const migrationsFolder = fileURLToPath(new URL("../migrations", import.meta.url));
|  const database = await createTestDatabase({ migrationsFolder, connectionString: process.env.DATABASE_URL });
|  try {
|    await fn();
|  } finally {
|    await database.close();
|  }
|}
`,
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
  "tests/health.test.ts": `|import "./setup.ts";
|import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
|import assert from "node:assert/strict";
|import { test } from "node:test";
|import { handler } from "../src/functions/api/health.get.ts";
|
|test("GET /health responds", async () => {
|  const response = await handler(createRestApiEvent(), createLambdaContext());
|  assert.equal(response.statusCode, 200);
|  assert.deepEqual(JSON.parse(response.body), { status: "ok" });
|});
`,
});
