// deno-lint-ignore-file no-console
/**
 * Measures a session check with the active organization and the user's role, on PostgreSQL, with the environment of
 * a Lambda function: against the same join by hand, once with postgres.js and once prepared with drizzle on the
 * client of `getDrizzleClient`, and against better-auth. Each is in a handler; better-auth's getSession is not.
 * The subjects run in turn in each round.
 *
 *   deno run -A bench/session_access.ts
 */
import { organization as organizationPlugin } from "better-auth/plugins";
import { and, eq, sql } from "drizzle-orm";
import { pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import postgres from "postgres";
import { createAuth } from "../auth/accounts/instance.ts";
import { AUTH_MIGRATION_SQL } from "../auth/tables/migration.ts";
import { AUTH_SESSION_COLUMNS } from "../auth/tables/columns.ts";
import { defineAuth } from "../auth/define_auth.ts";
import { authUsers as user } from "../auth/tables/schema.ts";
import { closeDrizzleClient, getDrizzleClient } from "../database/providers/client.ts";
import { defineApiHandler } from "../validation/define_api_handler.ts";
import { setLogOutput } from "../observability/output.ts";
import { createLambdaContext } from "../testing/context.ts";
import { createRestApiEvent } from "../testing/events.ts";
import { startPostgres } from "../tests/support/postgres.ts";

setLogOutput(() => {});
// settings are read once in a Lambda sandbox
Deno.env.set("AWS_EXECUTION_ENV", "AWS_Lambda_nodejs24.x");
const ROUNDS = 40;
const CALLS = 100;

const organization = pgTable("organizations", {
  id: uuid("id").primaryKey(),
  name: text("name").notNull(),
  slug: text("slug").notNull(),
  logo: text("logo"),
  metadata: text("metadata"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
});
const member = pgTable("members", {
  id: uuid("id").primaryKey().defaultRandom(),
  organizationId: uuid("organization_id").notNull(),
  userId: uuid("user_id").notNull(),
  role: text("role").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
});
const invitation = pgTable("invitations", {
  id: uuid("id").primaryKey(),
  organizationId: uuid("organization_id").notNull(),
  email: text("email").notNull(),
  role: text("role"),
  status: text("status").notNull(),
  expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
  inviterId: uuid("inviter_id").notNull(),
});
const session = pgTable("sessions", {
  ...AUTH_SESSION_COLUMNS,
  activeOrganizationId: uuid("active_organization_id"),
});

const SETUP = `
  ALTER TABLE sessions ADD active_organization_id uuid;
  CREATE TABLE organizations (id uuid PRIMARY KEY, name text NOT NULL, slug text NOT NULL, logo text, metadata text,
    created_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE members (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), organization_id uuid NOT NULL,
    user_id uuid NOT NULL, role text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX members_user_id_idx ON members (user_id);
  INSERT INTO organizations (id, name, slug) SELECT gen_random_uuid(), 'Org ' || i, 'org-' || i FROM generate_series(1, 200) i;
  INSERT INTO users (name, email) SELECT 'User ' || i, 'u' || i || '@example.com' FROM generate_series(1, 2000) i;
  INSERT INTO members (organization_id, user_id, role) SELECT o.id, u.id, 'owner' FROM users u,
    LATERAL (SELECT id FROM organizations WHERE slug = 'org-' || (1 + length(u.email) % 200)) o;
  INSERT INTO sessions (expires_at, token, user_id, active_organization_id)
    SELECT now() + interval '30 days', md5(u.email), u.id, m.organization_id FROM users u JOIN members m ON m.user_id = u.id;
  ANALYZE`;

const JOIN =
  `SELECT s.id, s.token, s.expires_at, u.id AS user_id, u.email, u.name, u.image, u.email_verified,
    s.created_at, s.updated_at, o.id AS organization_id, o.name AS organization, o.slug, m.id AS member_id, m.role
  FROM sessions s JOIN users u ON u.id = s.user_id
  LEFT JOIN organizations o ON o.id = s.active_organization_id
  LEFT JOIN members m ON m.organization_id = o.id AND m.user_id = u.id
  WHERE s.token = $1 LIMIT 1`;

const server = await startPostgres();
const hand = postgres(server.url, { max: 1, onnotice: () => {} });
await hand.unsafe(AUTH_MIGRATION_SQL);
await hand.unsafe(SETUP);
const [{ token }] = await hand`SELECT md5('u7@example.com') AS token`;
const db = await getDrizzleClient({ provider: "postgres", connectionString: server.url });
const config = {
  secret: "Zr8vY2kQ0b7Xn4Wm1Tj6Lp3Hs9Dg5FcA-bench",
  baseURL: "http://localhost:3000",
  schema: { session, organization, member, invitation },
  plugins: [organizationPlugin()],
};
const auth = createAuth(db, config);
const headers = new Headers({ authorization: `Bearer ${token}` });
const event = createRestApiEvent({ headers: { authorization: `Bearer ${token}` } });
const context = createLambdaContext();
const respond = () => ({ statusCode: 200, body: "" });
const options = { logging: { level: "SILENT" }, metrics: false, tracing: false } as const;
const handler = defineApiHandler({
  ...options,
  auth: defineAuth(() => Promise.resolve(db), config).session({ organization: { role: "owner" } }),
})(respond);

const prepared = db.select({
  id: session.id,
  token: session.token,
  expiresAt: session.expiresAt,
  userId: user.id,
  email: user.email,
  name: user.name,
  image: user.image,
  emailVerified: user.emailVerified,
  createdAt: session.createdAt,
  updatedAt: session.updatedAt,
  organizationId: organization.id,
  organization: organization.name,
  slug: organization.slug,
  memberId: member.id,
  role: member.role,
}).from(session).innerJoin(user, eq(user.id, session.userId))
  .leftJoin(organization, eq(organization.id, session.activeOrganizationId))
  .leftJoin(member, and(eq(member.organizationId, organization.id), eq(member.userId, user.id)))
  .where(eq(session.token, sql.placeholder("token"))).prepare("by_hand");

const drizzleHandler = defineApiHandler(options)(async function checkByDrizzle() {
  const [row] = await prepared.execute({ token });
  if (!(row.expiresAt > new Date()) || row.role !== "owner") throw new Error("refused");
  return respond();
});
const handHandler = defineApiHandler(options)(async function checkByHand() {
  const [row] = await hand.unsafe(JOIN, [token], { prepare: true });
  if (!(row.expires_at > new Date()) || row.role !== "owner") throw new Error("refused");
  return respond();
});

const subjects: Record<string, () => Promise<unknown>> = {
  "by hand, postgres.js": () => handHandler(event, context),
  "by hand, drizzle": () => drizzleHandler(event, context),
  "organization option": () => handler(event, context),
  "better-auth getSession": () => auth.api.getSession({ headers }),
};

/** The times of single calls in microseconds, rounds of all subjects in turn. */
const times = new Map(Object.keys(subjects).map((name) => [name, [] as number[]]));
for (let round = -5; round < ROUNDS; round++) {
  for (const [name, run] of Object.entries(subjects)) {
    for (let call = 0; call < CALLS; call++) {
      const start = performance.now();
      await run();
      if (round >= 0) times.get(name)!.push((performance.now() - start) * 1000);
    }
  }
}
const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1];
const bases = [...times.keys()].slice(0, 2).map((name) => median(times.get(name)!));
for (const [name, values] of times) {
  const value = median(values);
  const ratios = bases.map((base) => `${(value / base).toFixed(2)} ×`);
  console.log(`${name}: ${value.toFixed(0)} µs, ${ratios.join(" / ")}`);
}
await Promise.all([closeDrizzleClient(), hand.end()]);
await server.stop();
