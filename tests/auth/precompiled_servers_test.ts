import { assertEquals, assertStringIncludes } from "@std/assert";
import { pgTable, text } from "drizzle-orm/pg-core";
import { resolveApiKeyOptions } from "../../auth/api_key_options.ts";
import * as keys from "../../auth/api_key_statements.ts";
import { planUsage } from "../../auth/api_key_usage.ts";
import type { AuthDatabase } from "../../auth/better_auth_types.ts";
import type { AuthSettings } from "../../auth/config.ts";
import { AUTH_MIGRATION_SQL } from "../../auth/migration.ts";
import * as organization from "../../auth/organization_query.ts";
import * as leanKeys from "../../auth/precompiled/api_key_statements.ts";
import * as leanOrganization from "../../auth/precompiled/own_organization_query.ts";
import * as leanSessions from "../../auth/precompiled/own_session_query.ts";
import * as leanWrites from "../../auth/precompiled/own_session_writes.ts";
import * as sessions from "../../auth/prepare_session_query.ts";
import { SESSION_TABLES } from "../../auth/default_tables.ts";
import { AUTH_SESSION_COLUMNS } from "../../auth/schema.ts";
import * as writes from "../../auth/session_writes.ts";
import { closeDrizzleClient, type DatabaseConfig, getDrizzleClient } from "../../database/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { startPostgres } from "../support/postgres.ts";
import { API_KEY_TABLE, apikey } from "./api_keys_database.ts";
import { toLeanSchema } from "./lean_schema.ts";

const at = (ms: number) => new Date(1_900_000_000_000 + ms);

const OWN = {
  session: pgTable("visits", {
    ...AUTH_SESSION_COLUMNS,
    activeOrganizationId: text("active_organization_id"),
  }),
  organization: pgTable("companies", { id: text("id"), name: text("name"), slug: text("slug") }),
  member: pgTable("employees", {
    id: text("id"),
    organizationId: text("organization_id"),
    userId: text("user_id"),
    role: text("role"),
  }),
};

const TABLES = [
  ...AUTH_MIGRATION_SQL.split("--> statement-breakpoint").slice(0, 1),
  `CREATE TABLE visits (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), expires_at timestamptz NOT NULL,
    token text NOT NULL UNIQUE, created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(), ip_address text, user_agent text, user_id uuid NOT NULL,
    active_organization_id text)`,
  "CREATE TABLE companies (id text PRIMARY KEY, name text, slug text)",
  "CREATE TABLE employees (id text PRIMARY KEY, organization_id text, user_id text, role text)",
  API_KEY_TABLE.split(";")[0],
];

const USER = "7d3f0a52-0c0b-4b6e-8f3a-1e2d3c4b5a69";
const ROWS = [
  `INSERT INTO users (id, name, email) VALUES ('${USER}', 'Ada', 'ada@example.com')`,
  `INSERT INTO visits (token, user_id, expires_at, active_organization_id) VALUES
    ('member', '${USER}', '2999-01-01 00:00:00.000123Z', 'c1'), ('stranger', '${USER}', '2999-01-01', 'c2'),
    ('nobody', '${USER}', '2999-01-01', NULL)`,
  "INSERT INTO companies VALUES ('c1', 'One', 'one'), ('c2', 'Two', 'two')",
  `INSERT INTO employees VALUES ('e1', 'c1', '${USER}', 'owner')`,
  `INSERT INTO api_keys (id, config_id, reference_id, key, remaining, refill_interval, refill_amount, rate_limit_enabled,
    rate_limit_time_window, rate_limit_max, request_count, created_at, updated_at) VALUES
    ('k1', 'default', 'u1', 'k1', 1, 1000, 3, true, 1000, 2, 0, '2020-01-01', '2020-01-01')`,
];
const COUNTERS = "SELECT remaining, request_count, last_request, last_refill_at FROM api_keys";
const TIMES = "SELECT token, expires_at, updated_at FROM visits ORDER BY token";

/** Runs the statements in one of their forms on new rows, and returns their results. */
async function runAll(db: AuthDatabase, isLean: boolean): Promise<unknown[]> {
  const client = db as unknown as { execute(sql: string): Promise<{ rows: unknown[] }> };
  const execute = async (sql: string) => (await client.execute(sql)).rows;
  for (const table of ["users", "visits", "companies", "employees", "api_keys"]) {
    await execute(`DELETE FROM ${table}`);
  }
  for (const row of ROWS) await execute(row);
  const own = isLean ? toLeanSchema(OWN) : OWN;
  const settings = {
    schema: { ...SESSION_TABLES, ...own },
    library: {},
  } as unknown as AuthSettings;
  const find = (isLean ? leanSessions : sessions).prepareSessionQuery(db, settings);
  const findWithOrganization = (isLean ? leanOrganization : organization)
    .prepareOrganizationQuery(db, settings, settings.schema as never);
  const { extendSession, endSession } = isLean ? leanWrites : writes;
  const results: unknown[] = [];
  for (const token of ["member", "stranger", "nobody", "unknown"]) {
    const [found] = await find.execute({ token });
    const withoutTimes = { ...found, id: "", createdAt: "", updatedAt: "" };
    const [{ joined } = {}] = await findWithOrganization.execute({ token });
    results.push(withoutTimes, joined);
    const session = { token, expiresAt: found?.expiresAt ?? at(0) };
    const changes = { expiresAt: at(1), updatedAt: at(2) };
    results.push(await extendSession(db, settings, session, changes));
    results.push(await extendSession(db, settings, session, changes));
  }
  results.push((await endSession(db, settings, "member", at(0))).length);
  results.push((await endSession(db, settings, "member", at(0))).length, await execute(TIMES));
  const { table } = resolveApiKeyOptions({
    schema: isLean ? toLeanSchema({ apikey }) : { apikey },
  });
  const statements = (isLean ? leanKeys : keys).getKeyStatements(db, table);
  for (const ms of [0, 1, 2, 3, 1003, 2004, 2005]) {
    const [row] = await statements.find.execute({ key: "k1" });
    const now = at(ms);
    const plan = planUsage(row, {}, now.getTime());
    const used = await statements.getUsage(row, plan)?.execute({
      id: row.id,
      now,
      windowStart: new Date(now.getTime() - 1000),
      rateLimitMax: row.rateLimitMax,
      lastRefillAt: row.lastRefillAt,
      refilled: 20,
    });
    results.push(row, used, await execute(COUNTERS));
  }
  return results;
}

async function compareOn(config: DatabaseConfig, migrate: (sql: string[]) => Promise<unknown>) {
  await migrate(TABLES);
  const db = await getDrizzleClient(config);
  const drizzle = await runAll(db, false);
  assertEquals(await runAll(db, true), drizzle);
  assertStringIncludes(JSON.stringify(drizzle), '"slug":"one","memberId":"e1","role":"owner"');
}

Deno.test({
  name: "statements of auth without drizzle give the rows of drizzle's on every server",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(test) {
    const unmute = setLogOutput(() => {});
    const onClient = (config: DatabaseConfig) => async (statements: string[]) => {
      const db = await getDrizzleClient(config);
      for (const statement of statements) await db.execute(statement);
    };
    await test.step("PGlite", async () => {
      const config: DatabaseConfig = { provider: "embedded-pg" };
      await compareOn(config, onClient(config));
      await closeDrizzleClient();
    });
    await test.step("PostgreSQL", async () => {
      const server = await startPostgres();
      const config: DatabaseConfig = { provider: "postgres", connectionString: server.url };
      await compareOn(config, onClient(config));
      await closeDrizzleClient();
      await server.stop();
    });
    await test.step("Aurora DSQL", async () => {
      await withDistSqlLab(({ config, migrate }) =>
        compareOn(
          config,
          (statements) => migrate([statements.join("\n--> statement-breakpoint\n")]),
        )
      );
    });
    unmute();
  },
});
