import { withoutMargins } from "./margin.ts";

/** The files that every template has: a health route with its test. */
export const COMMON_FILES: Readonly<Record<string, string>> = withoutMargins({
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
