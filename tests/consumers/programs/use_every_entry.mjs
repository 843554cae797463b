// deno-lint-ignore-file no-console
// Uses each entry point of the package as its readers do. Runs on Node, Bun and Deno; prints one line of JSON.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import * as trellis from "@trellis/fn";
import { createAuth, validateCodeHostWebhook } from "@trellis/fn/auth";
import { createGatewayJwtAuth } from "@trellis/fn/auth/jwt";
import { AUTH_MIGRATION_SQL, authUsers } from "@trellis/fn/auth/schema";
import { resolveModulesPath } from "@trellis/fn/cli";
import { UserStatus } from "@trellis/fn/core";
import {
  createQueryFactory,
  DatabaseOperation,
  getDrizzleClient,
  getTablePermissions,
  RequiresTable,
  sanitizeForDistSql,
} from "@trellis/fn/database";
import { eq, sql } from "@trellis/fn/database/orm";
import { splitStatements } from "@trellis/fn/distsql";
import { defineEnv } from "@trellis/fn/env";
import { isAppError, NotFoundError, UnauthorizedError } from "@trellis/fn/errors";
import { createClient } from "@trellis/fn/client";
import { createTransactionStore } from "@trellis/fn/idempotency";
import { defineJob, JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
import { defineMail } from "@trellis/fn/mail";
import { createConnectionStore } from "@trellis/fn/realtime";
import { defineRouter } from "@trellis/fn/router";
import { streamResponse } from "@trellis/fn/streaming";
import { defineQueueHandler } from "@trellis/fn/triggers";
import { defineUpload } from "@trellis/fn/uploads";
import { MetricUnit, setLogOutput } from "@trellis/fn/observability";
import { createLambdaContext, createQueueEvent, createRestApiEvent } from "@trellis/fn/testing";
import { startDistSqlServer } from "@trellis/fn/testing/distsql";
import { defineWorkflow, WORKFLOWS_MIGRATION_SQL } from "@trellis/fn/workflows";
import { defineApiHandler, toJsonSchema, validateSchema, z } from "@trellis/fn/validation";

setLogOutput(() => {});

// .
assert.equal(trellis.defineApiHandler, defineApiHandler);
const handler = trellis.defineApiHandler({ schema: z.object({ n: z.coerce.number() }) })(
  function twice({ body, context }) {
    return trellis.buildValidatedResponse(context, 200, { twice: body.n * 2 });
  },
);
const good = await handler(
  createRestApiEvent({ method: "POST", body: { n: "21" } }),
  createLambdaContext(),
);
assert.equal(good.body, '{"twice":42}');
const bad = await handler(
  createRestApiEvent({ method: "POST", body: { n: "x" } }),
  createLambdaContext(),
);
assert.equal(bad.statusCode, 400);
assert.deepEqual(Object.keys(JSON.parse(bad.body).errors), ["n"]);

// ./auth, ./auth/jwt, ./auth/schema
assert.equal(
  createGatewayJwtAuth({ issuer: "https://a.example", audience: "a" }).mode,
  "gateway-jwt",
);
const payload = '{"ref":"main"}';
const signature = "sha256=" + createHmac("sha256", "secret").update(payload).digest("hex");
await validateCodeHostWebhook(payload, signature, "secret");
await assert.rejects(
  () => validateCodeHostWebhook(payload + " ", signature, "secret"),
  UnauthorizedError,
);
assert.equal(typeof createAuth, "function");
assert.match(AUTH_MIGRATION_SQL, /CREATE TABLE IF NOT EXISTS "users"/);
assert.match(String(eq(authUsers.email, sql`lower(${"A"})`).constructor.name), /SQL/);

// ./distsql
assert.equal(splitStatements("select 1; select 2").length, 2);

// ./database, ./database/orm: what needs no server, and a driver that is not installed
assert.equal(
  sanitizeForDistSql('CREATE INDEX "i" ON "t" ("a")'),
  'CREATE INDEX ASYNC "i" ON "t" ("a")',
);
const { defineQuery } = createQueryFactory(() => Promise.reject(new Error("not connected")));
const query = defineQuery(
  { tables: [{ table: authUsers, operations: [DatabaseOperation.Select] }] },
  async function listUsers(db) {
    return await db.select().from(authUsers);
  },
);
await assert.rejects(query);
class Entity {}
assert.deepEqual(getTablePermissions(Entity), []);
assert.equal(typeof RequiresTable([]), "function");
if (process.env.EXPECT_MISSING !== undefined) {
  const providers = {
    "@electric-sql/pglite": { provider: "embedded-pg" },
    "@neondatabase/serverless": {
      provider: "branching-pg",
      connectionString: "postgres://u:p@localhost/d",
    },
    "@aws-sdk/dsql-signer": {
      provider: "distsql",
      endpoint: "localhost:1",
      region: "eu-west-1",
      username: "u",
    },
    "@aws-sdk/client-rds-data": {
      provider: "serverless-pg",
      connectionString: "rds-data://arn:aws:rds:eu-west-1:1:cluster:c?secretArn=arn:s&database=d",
    },
  };
  for (const [name, config] of Object.entries(providers)) {
    await assert.rejects(() => getDrizzleClient(config), (error) => {
      assert.ok(isAppError(error, "CONFIGURATION"), String(error));
      assert.match(
        error.message,
        new RegExp(
          `^Provider ${config.provider}.* needs the package ${name}, .*npm install "${name}@`,
        ),
      );
      return true;
    });
  }
}

// ./testing/distsql
assert.equal(typeof startDistSqlServer, "function");

// ./cli
assert.ok(existsSync(join(await resolveModulesPath(), "function", "main.tf")));

// ./core
const queue = defineQueueHandler({ schema: z.object({ id: z.string() }) })(function work({ body }) {
  if (body.id === "b") throw new NotFoundError("b is gone");
});
const failures = await queue(
  createQueueEvent([{ body: { id: "a" } }, { body: { id: "b" } }]),
  createLambdaContext(),
);
assert.equal(failures.batchItemFailures.length, 1);
assert.equal(UserStatus.Anonymous, "Anonymous");

// ./router
const router = defineRouter({ "POST /twice": handler });
const routed = await router(
  createRestApiEvent({ method: "POST", path: "/twice", body: { n: "4" } }),
  createLambdaContext(),
);
assert.equal(routed.body, '{"twice":8}');

// ./jobs, ./mail, ./idempotency, ./uploads, ./realtime, ./streaming, ./client
const job = defineJob({ name: "count", schema: z.object({ n: z.number() }) })(() => {});
assert.equal(typeof job.enqueue, "function");
assert.match(JOBS_MIGRATION_SQL, /CREATE TABLE/);
assert.match(WORKFLOWS_MIGRATION_SQL, /CREATE TABLE/);
for (
  const define of [
    createClient,
    createConnectionStore,
    createTransactionStore,
    defineMail,
    defineUpload,
    defineWorkflow,
    streamResponse,
  ]
) {
  assert.equal(typeof define, "function");
}

// ./env, ./observability, ./validation
const env = defineEnv({ PORT: { schema: z.coerce.number(), default: 1 } }, {
  source: { PORT: "8080" },
});
assert.equal(env.PORT, 8080);
assert.equal(MetricUnit.Count, "Count");
assert.deepEqual(validateSchema(z.object({ a: z.string() }), {}).success, false);
assert.equal(toJsonSchema(z.object({ a: z.string() })).type, "object");

const runtime = process.versions.bun
  ? `bun ${process.versions.bun}`
  : globalThis.Deno
  ? `deno ${globalThis.Deno.version.deno}`
  : `node ${process.versions.node}`;
console.log(JSON.stringify({ runtime, ok: true }));
