import { withoutMargins } from "./margin.ts";

/** The files that every template has: a health route and the environment of its test. */
export const HEALTH_FILES: Readonly<Record<string, string>> = withoutMargins({
  "src/functions/api/health.get.ts": `|import { buildValidatedResponse } from "@trellis/fn/core";
|import { defineApiHandler } from "@trellis/fn/validation";
|import * as z from "zod";
|
|const Health = z.object({ status: z.literal("ok") });
|
|export const handler = defineApiHandler({
|  responseSchema: Health,
|  openapi: { summary: "Check the health of the service", tags: ["service"] },
|  timeout: 5,
|})(function health({ context }) {
|  return buildValidatedResponse(context, 200, { status: "ok" }, Health);
|});
`,
  "tests/environment.ts": `|import process from "node:process";
|
|// must be imported first: functions read the environment when they are loaded
|process.env.AUTH_SECRET = "only for tests: 32 characters or more";
|// a handler that fails writes its error, which its response does not have
|process.env.LOG_LEVEL = "ERROR";
|process.env.METRICS_DISABLED = "true";
`,
  "tests/health.test.ts": `|import "./environment.ts";
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
