import { withoutMargins } from "./margin.ts";

/** The files that every template has: the connection to the database, and a health route with its test. */
export const COMMON_FILES: Readonly<Record<string, string>> = withoutMargins({
  "src/database.ts":
    `|import { createQueryFactory, type DatabaseConfig, getDrizzleClient } from "@trellis/fn/database";
|import { getOptionalEnv } from "@trellis/fn/env";
|import * as schema from "./schema.ts";
|
|const endpoint = getOptionalEnv("DATABASE_ENDPOINT");
|
|/** Aurora DSQL if an endpoint is set, else an embedded PostgreSQL in a folder or in memory. */
|export const databaseConfig = (endpoint === undefined
|  ? { provider: "embedded-pg", connectionString: getOptionalEnv("DATABASE_URL", ".trellis/pg"), schema }
|  : {
|    provider: "distsql",
|    endpoint,
|    region: getOptionalEnv("DATABASE_REGION"),
|    username: getOptionalEnv("DATABASE_USERNAME"),
|    ca: getOptionalEnv("DATABASE_CA"),
|    schema,
|  }) satisfies DatabaseConfig;
|
|export const getDb = () => getDrizzleClient(databaseConfig);
|
|export const { defineQuery, defineStatement } = createQueryFactory(getDb);
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

/** Variables of the environment, for `.env`. */
export const ENV_EXAMPLE: Readonly<Record<"auth" | "database", string>> = withoutMargins({
  auth: `|# Secret that signs sessions: at least 32 random characters.
|AUTH_SECRET=
|# Public URL of the routes in auth/.
|AUTH_BASE_URL=http://localhost:8787/auth
`,
  database: `|# Deployed only: host name of the cluster and database role of the function.
|DATABASE_ENDPOINT=
|DATABASE_USERNAME=
`,
});
