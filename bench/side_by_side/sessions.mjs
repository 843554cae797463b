/**
 * `validateSession` on PostgreSQL beside one prepared join by hand and better-auth's getSession, round trips counted by a
 * proxy, and the first session of a fresh process. Runs in a copy of the harness: see ../side_by_side.ts.
 */
import { inInvocation } from "./in_invocation.mjs";
import { interleaveInvocations } from "./interleave_invocations.mjs";
import { trellisBuild } from "./trellis_build.mjs";
import { createHmac } from "node:crypto";
import { betterAuth } from "better-auth/minimal";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { bearer } from "better-auth/plugins/bearer";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { AUTH_MIGRATION_SQL, createAuth, validateSession } from "@trellis/fn/auth";
import { closeDrizzleClient, getDrizzleClient } from "@trellis/fn/database";
import * as schema from "../lib/auth-schema.mjs";
import { bundle } from "../lib/bundle.mjs";
import { coldStarts } from "../lib/cold.mjs";
import { countRoundTrips, preparing, startPostgres } from "../lib/pg.mjs";
import { table } from "../lib/stats.mjs";

const SECRET = "Zr8vY2kQ0b7Xn4Wm1Tj6Lp3Hs9Dg5FcA";
const TOKEN = "b7e2c1d4a5f60718293a4b5c6d7e8f90";
const EMAIL = "u7@example.com";
const FILL = `
INSERT INTO users (name, email) SELECT 'User ' || i, 'u' || i || '@example.com' FROM generate_series(1, 2000) i;
INSERT INTO sessions (expires_at, token, user_id) SELECT now() + interval '30 days', CASE name WHEN 'User 7' THEN '${TOKEN}' ELSE md5(email) END, id FROM users;
UPDATE session SET token = '${TOKEN}' WHERE id = 's7';
ANALYZE;`;
const JOIN =
  `SELECT s.id, s.token, s.expires_at, u.id AS user_id, u.email, u.name, u.image, u.email_verified FROM sessions s
 JOIN users u ON u.id = s.user_id WHERE s.token = $1 AND s.expires_at > now() LIMIT 1`;
const one = { max: 1, onnotice: () => {} };
const must = (email, what) => {
  if (email !== EMAIL) throw new Error(`${what}: ${email}`);
};

const casesOn = async (url, ends) => {
  const sql = postgres(url, one);
  const plain = postgres(url, one);
  const forced = preparing(postgres(url, one));
  const database = { provider: "serverless-pg", connectionString: url };
  const db = await getDrizzleClient(database);
  ends.push(() => sql.end(), () => plain.end(), () => forced.end(), () => closeDrizzleClient(database));
  const auth = createAuth(db, { secret: SECRET, baseURL: "http://localhost:3000" });
  const theirs = (client, more) =>
    betterAuth({
      baseURL: "http://localhost:3000",
      secret: SECRET,
      plugins: [bearer()],
      database: drizzleAdapter(drizzle(client, { schema }), { provider: "pg", schema }),
      logger: { disabled: true },
      telemetry: { enabled: false },
      ...more,
    });
  const usual = theirs(plain);
  const best = theirs(forced, { advanced: { database: { joins: true } } });
  const headers = () => new Headers({ authorization: `Bearer ${TOKEN}` });
  const signed = `${TOKEN}.${createHmac("sha256", SECRET).update(TOKEN).digest("base64")}`;
  return {
    "one prepared join by hand": async () => (await sql.unsafe(JOIN, [TOKEN], { prepare: true }))[0].email,
    "validateSession": async () => (await validateSession(auth, TOKEN)).user.email,
    "validateSession, signed token": async () => (await validateSession(auth, signed)).user.email,
    "better-auth getSession": async () => (await usual.api.getSession({ headers: headers() })).user.email,
    "better-auth getSession, joins, forced to prepare": async () =>
      (await best.api.getSession({ headers: headers() })).user.email,
  };
};

const ANSWER = `export const handlers = { W: async () => ({ statusCode: (await run()) === '${EMAIL}' ? 200 : 500 }) };`;
const OURS =
  `import { createAuth, validateSession } from '@trellis/fn/auth'; import { getDrizzleClient } from '@trellis/fn/database';
const run = async () => { const db = await getDrizzleClient({ provider: 'serverless-pg', connectionString: process.env.DATABASE_URL });
 return (await validateSession(createAuth(db, { secret: '${SECRET}', baseURL: 'http://localhost:3000' }), process.env.TOKEN)).user.email; };`;
const THEIRS =
  `import postgres from 'postgres'; import { drizzle } from 'drizzle-orm/postgres-js'; import { eq } from 'drizzle-orm'; import { session, user } from './lib/auth-schema.mjs';
const run = async () => { const db = drizzle(postgres(process.env.DATABASE_URL, { max: 1, onnotice() {} }));
 const r = await db.select({ session, user }).from(session).innerJoin(user, eq(user.id, session.userId)).where(eq(session.token, process.env.TOKEN)); return r[0].user.email; };`;
const BETTER_AUTH =
  `import postgres from 'postgres'; import { drizzle } from 'drizzle-orm/postgres-js'; import * as schema from './lib/auth-schema.mjs';
import { betterAuth } from 'better-auth/minimal'; import { drizzleAdapter } from 'better-auth/adapters/drizzle'; import { bearer } from 'better-auth/plugins/bearer';
const run = async () => { const db = drizzle(postgres(process.env.DATABASE_URL, { max: 1, onnotice() {} }), { schema });
 const auth = betterAuth({ baseURL: 'http://localhost:3000', secret: '${SECRET}', database: drizzleAdapter(db, { provider: 'pg', schema }), plugins: [bearer()], logger: { disabled: true }, telemetry: { enabled: false } });
 return (await auth.api.getSession({ headers: new Headers({ authorization: 'Bearer ' + process.env.TOKEN }) })).user.email; };`;
const external = [
  "@aws-sdk/*",
  "pg-native",
  "@neondatabase/serverless",
  "@electric-sql/pglite",
  "libpg-query",
  "typescript",
];
const COLD = {
  "drizzle + postgres.js": { code: THEIRS },
  "ours, by trellis build without names": { code: OURS, built: { keepNames: false } },
  "ours, by trellis build": { code: OURS, built: {} },
  "ours, by esbuild in chunks": { code: OURS, split: true },
  "better-auth/minimal + drizzle": { code: BETTER_AUTH },
};

export const run = async ({ quick = false, log = () => {} } = {}) => {
  const how = quick ? { rounds: 9, warmMs: 500, targetMs: 40 } : { rounds: 31, warmMs: 1000, targetMs: 60 };
  const server = await startPostgres();
  const proxy = await countRoundTrips(server.port);
  const ends = [];
  try {
    const setup = postgres(server.url(), one);
    await setup.unsafe(schema.DDL + schema.FILL);
    for (const statement of AUTH_MIGRATION_SQL.split("--> statement-breakpoint")) await setup.unsafe(statement);
    await setup.unsafe(FILL);
    await setup.end();
    log("warm");
    const cases = await casesOn(server.url(), ends);
    for (const [name, check] of Object.entries(cases)) must(await inInvocation(check), name);
    const times = await interleaveInvocations(cases, how);
    log("round trips");
    for (const [name, check] of Object.entries(await casesOn(proxy.url(), ends))) {
      await inInvocation(check);
      await inInvocation(check);
      const before = proxy.count();
      await inInvocation(check);
      times[name].trips = proxy.count() - before;
    }
    const warm = Object.values(times);
    const cold = [];
    for (const [name, { code, split, built }] of Object.entries(COLD)) {
      const file = `trellis-session-${cold.length}`;
      const made = built === undefined
        ? await bundle({ name: file, code: `${code}\n${ANSWER}`, external, split })
        : trellisBuild(file, `${code}\n${ANSWER}\nexport const handler = handlers.W;`, built);
      cold.push({ name, kb: made.kb, gzipKb: made.gzipKb, file: made.outfile });
    }
    log("cold");
    const env = { DATABASE_URL: server.url(), TOKEN };
    const got = await coldStarts(cold.map(({ name, file }) => ({ key: name, args: [file, "W"] })), quick ? 7 : 30, env);
    for (const row of cold) {
      const { ratioTo, ...times } = got.get(row.name);
      Object.assign(row, times, { ratio: ratioTo(cold[0].name) });
      if (row.status !== 200) throw new Error(`${row.name}: the first session was ${row.status}`);
    }
    return { warm, cold, version: server.version };
  } finally {
    for (const end of ends) await end();
    await proxy.stop();
    await server.stop();
  }
};

export const report = ({ warm, cold, version }) =>
  `${
    table([
      [`PostgreSQL ${version}, loopback`, "name"],
      ["µs", "us", 1],
      ["± %", (r) => r.spread * 100, 0],
      ["× by hand", "ratio", 2],
      ["round trips", "trips", 0],
    ], warm)
  }\n\n${
    table([
      ["import, connect, first session", "name"],
      ["KB min", "kb", 0],
      ["KB gzip", "gzipKb", 0],
      ["import ms", "init", 1],
      ["session ms", "first", 1],
      ["both ms", "both", 1],
      ["best ms", "best", 1],
      ["× drizzle + postgres.js", "ratio", 2],
    ], cold)
  }`;
