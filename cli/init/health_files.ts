import { withoutMargins } from "./margin.ts";

/** The files that every template has: a health route and its test. */
export const HEALTH_FILES: Readonly<Record<string, string>> = withoutMargins({
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
