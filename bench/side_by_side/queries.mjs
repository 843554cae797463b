/**
 * The query wrapper (metrics, span, retry): over an empty function, and over one prepared query on PostgreSQL, beside
 * drizzle alone and retry libraries. Runs in a copy of the harness: see ../side_by_side.ts.
 */
import { interleaveInvocations, processorMs } from "./interleave_invocations.mjs";
import retry from "async-retry";
import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/postgres-js";
import pRetry from "p-retry";
import postgres from "postgres";
import { closeDrizzleClient, createQueryFactory, getDrizzleClient, withQueryMetrics } from "@trellis/fn/database";
import { DDL, FILL, user } from "../lib/auth-schema.mjs";
import { startPostgres } from "../lib/pg.mjs";
import { table } from "../lib/stats.mjs";

const byId = (db) => db.select().from(user).where(eq(user.id, sql.placeholder("id")));

/** drizzle with all that it does for a query, and nothing to wait for. */
const casesAtOnce = () => {
  const row = ["u7", "User 7", "u7@example.com", true, null, "2026-01-01 00:00:00", "2026-01-01 00:00:00"];
  const db = drizzle({ options: { parsers: {}, serializers: {} }, unsafe: () => ({ values: async () => [row] }) });
  const prepared = byId(db).prepare("user_by_id");
  const { defineQuery, definePreparedQuery } = createQueryFactory(() => db);
  const tables = [{ table: user, operations: ["SELECT"] }];
  const find = (client, id) => byId(client).prepare("user_by_id").execute({ id });
  const defined = defineQuery({ tables, name: "findUser" }, (_client, id) => prepared.execute({ id }));
  const definedPrepared = definePreparedQuery({ tables, name: "findUser" }, find);
  return {
    "prepared query": () => prepared.execute({ id: "u7" }),
    "withQueryMetrics": () => withQueryMetrics("findUser", () => prepared.execute({ id: "u7" })),
    "defineQuery": () => defined("u7"),
    "definePreparedQuery": () => definedPrepared("u7"),
    "built for each call": () => find(db, "u7"),
  };
};

export const run = async ({ quick = false, log = () => {} } = {}) => {
  const how = quick ? { rounds: 9, warmMs: 400, targetMs: 40 } : { rounds: 41, warmMs: 1000, targetMs: 60 };
  log("empty function");
  const work = () => Promise.resolve("User 7");
  const empty = await interleaveInvocations({
    "await fn()": () => work(),
    "withQueryMetrics": () => withQueryMetrics("findUser", work),
    "p-retry": () => pRetry(work, { retries: 3 }),
    "async-retry": () => retry(work, { retries: 3 }),
  }, { ...how, now: processorMs });
  log("a driver that answers at once");
  const atOnce = await interleaveInvocations(casesAtOnce(), { ...how, now: processorMs });
  log("PostgreSQL");
  const server = await startPostgres();
  const plain = postgres(server.url(), { max: 1, onnotice: () => {} });
  const database = { provider: "serverless-pg", connectionString: server.url() };
  try {
    await plain.unsafe(DDL + FILL);
    const theirs = byId(drizzle(plain)).prepare("user_by_id");
    const db = await getDrizzleClient(database);
    const ours = byId(db).prepare("user_by_id");
    const { definePreparedQuery } = createQueryFactory(() => getDrizzleClient(database));
    const tables = [{ table: user, operations: ["SELECT"] }];
    const defined = definePreparedQuery(
      { tables },
      (client, id) => byId(client).prepare("user_by_id").execute({ id }),
    );
    const cases = {
      "prepared query on our client": async () => (await ours.execute({ id: "u7" }))[0].name,
      "withQueryMetrics": async () => (await withQueryMetrics("findUser", () => ours.execute({ id: "u7" })))[0].name,
      "definePreparedQuery": async () => (await defined("u7"))[0].name,
      "drizzle .prepare() on postgres.js": async () => (await theirs.execute({ id: "u7" }))[0].name,
      "p-retry": async () => (await pRetry(() => ours.execute({ id: "u7" }), { retries: 3 }))[0].name,
    };
    for (const [name, query] of Object.entries(cases)) {
      if (await query() !== "User 7") throw new Error(name);
    }
    const onPostgres = await interleaveInvocations(cases, how);
    return { version: server.version, empty: Object.values(empty), atOnce: Object.values(atOnce), onPostgres: Object.values(onPostgres) };
  } finally {
    await plain.end();
    await closeDrizzleClient(database);
    await server.stop();
  }
};

const part = (title, rows) =>
  table([[title, "name"], ["µs", "us", 2], ["± %", (r) => r.spread * 100, 0], ["µs over the first", "over", 1]], rows);

export const report = ({ version, empty, atOnce, onPostgres }) =>
  `${part("an empty async function, processor time", empty)}\n\n${
    part("drizzle over a driver that answers at once, processor time", atOnce)
  }\n\n${part(`PostgreSQL ${version}, one row by key`, onPostgres)}`;
