import { assertEquals, assertNotStrictEquals, assertRejects } from "@std/assert";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import postgres from "postgres";
import {
  AUTH_MIGRATION_SQL,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  createAuth,
  defineAuth,
  expireSession,
  validateSession,
} from "../../../auth/mod.ts";
import { buildValidatedResponse } from "../../../core/mod.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  getDrizzleClient,
} from "../../../database/mod.ts";
import { UnauthorizedError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../../testing/mod.ts";
import { defineApiHandler } from "../../../validation/mod.ts";
import { startPostgres } from "../../support/postgres.ts";
import { atTime, SECRET } from "../auth_database.ts";

setLogOutput(() => {});
const config = { secret: SECRET, baseURL: "http://localhost:3000" };

/** Tables of the organization plugin; the session has the id as text, the organization as uuid. */
const sessions = pgTable("sessions", {
  ...AUTH_SESSION_COLUMNS,
  activeOrganizationId: text("active_organization_id"),
});
const organization = pgTable("organizations", {
  id: uuid("id").primaryKey(),
  name: text("name").notNull(),
  slug: text("slug").notNull(),
});
const member = pgTable("members", {
  id: uuid("id").primaryKey(),
  organizationId: uuid("organization_id").notNull(),
  userId: uuid("user_id").notNull(),
  role: text("role").notNull(),
});
const ORGANIZATION_TABLES = `ALTER TABLE sessions ADD active_organization_id text;
  CREATE TABLE organizations (id uuid PRIMARY KEY, name text NOT NULL, slug text NOT NULL);
  CREATE TABLE members (id uuid PRIMARY KEY, organization_id uuid NOT NULL, user_id uuid NOT NULL, role text NOT NULL)`;

/** A relay that counts how often the client speaks: once for each round trip. */
async function countRoundTrips(
  port: number,
): Promise<{ port: number; trips(): number; stop(): Promise<void> }> {
  let trips = 0;
  let serverSpoke = true;
  const sockets: Socket[] = [];
  const server: Server = createServer((client) => {
    const upstream = createConnection(port, "127.0.0.1");
    sockets.push(client, upstream);
    client.on("data", (data) => {
      if (serverSpoke) trips++;
      serverSpoke = false;
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      serverSpoke = true;
      client.write(data);
    });
    for (const [one, other] of [[client, upstream], [upstream, client]]) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    trips: () => trips,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

Deno.test("a session on PostgreSQL over postgres.js", async (test) => {
  const server = await startPostgres();
  const relay = await countRoundTrips(server.port);
  const client = postgres(server.url.replace(`:${server.port}`, `:${relay.port}`), {
    max: 1,
    onnotice: () => {},
  });
  const other = postgres(server.url, { max: 4, onnotice: () => {} });
  const database: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: server.url.replace(`:${server.port}`, `:${relay.port}`),
    maxConnections: 1,
    instrument: false,
  };
  const own = await getDrizzleClient(database);
  const auth = createAuth(drizzle({ client }), config);
  try {
    await client.unsafe(AUTH_MIGRATION_SQL);
    const body = { name: "Ada", email: "ada@example.com", password: "correct horse battery" };
    const token = (await auth.api.signUpEmail({ body })).token!;

    await test.step("validateSession() takes one round trip once its query is prepared", async () => {
      const pooled = createAuth(own, config);
      await validateSession(pooled, token);
      const before = relay.trips();
      const { user, session } = await validateSession(pooled, token);
      assertEquals([user.email, session.expiresAt instanceof Date], [body.email, true]);
      assertEquals(relay.trips() - before, 1);
    });

    await test.step("a handler with the option organization takes one round trip, too", async () => {
      await client.unsafe(ORGANIZATION_TABLES);
      const id = crypto.randomUUID();
      await other`INSERT INTO organizations VALUES (${id}, 'Lab', 'lab')`;
      await other`INSERT INTO members SELECT gen_random_uuid(), ${id}, id, 'owner' FROM users`;
      await other`UPDATE sessions SET active_organization_id = ${id}`;
      const { session } = defineAuth(() => Promise.resolve(own), {
        ...config,
        schema: { session: sessions, organization, member },
      });
      const handler = defineApiHandler({ auth: session({ organization: { role: "owner" } }) })(
        ({ context, organization }) => buildValidatedResponse(context, 200, organization),
      );
      const call = () =>
        handler(
          createRestApiEvent({ headers: { authorization: `Bearer ${token}` } }),
          createLambdaContext(),
        );
      assertEquals((await call()).statusCode, 200);
      const before = relay.trips();
      const { slug, role } = JSON.parse((await call()).body);
      assertEquals([slug, role], ["lab", "owner"]);
      assertEquals(relay.trips() - before, 1);
    });

    await test.step("validateSession() keeps the queries of two sets of tables apart on one connection", async () => {
      const twin = createAuth(drizzle({ client }), {
        ...config,
        schema: { user: pgTable("users", AUTH_USER_COLUMNS) },
      });
      assertNotStrictEquals(twin, auth);
      for (const instance of [auth, twin, auth, twin]) {
        assertEquals((await validateSession(instance, token)).user.email, body.email);
      }
    });

    await test.step("validateSession() refuses bytes that PostgreSQL would not take, and the connection stays good", async () => {
      for (
        const bad of ["\0", "a\0b", "\ud800", "x".repeat(5000), "%00.x", "'; drop table users; --"]
      ) {
        await assertRejects(() => validateSession(auth, bad), UnauthorizedError);
      }
      assertEquals((await validateSession(auth, token)).user.email, body.email);
    });

    await test.step("validateSession() extends once for many at a time, and every one of them passes", async () => {
      await other`UPDATE sessions SET created_at = now() - interval '30 days', expires_at = now() + interval '1 hour'`;
      const busy = createAuth(drizzle({ client: other }), config);
      const results = await Promise.all(
        Array.from({ length: 8 }, () => validateSession(busy, token)),
      );
      const ends = results.map(({ session }) => session.expiresAt.getTime());
      assertEquals(ends.every((end) => end > Date.now() + 29 * 86_400_000), true);
      const [{ count }] = await other`SELECT count(*)::int FROM sessions`;
      assertEquals(count, 1);
    });

    await test.step("expireSession() succeeds for one of many at a time", async () => {
      const busy = createAuth(drizzle({ client: other }), config);
      const results = await atTime(
        Date.now(),
        () =>
          Promise.allSettled(
            Array.from({ length: 6 }, () => expireSession(busy, token, drizzle({ client: other }))),
          ),
      );
      assertEquals(results.filter(({ status }) => status === "fulfilled").length, 1);
      await assertRejects(() => validateSession(auth, token), UnauthorizedError);
    });
  } finally {
    await closeDrizzleClient(database);
    await client.end();
    await other.end();
    await relay.stop();
    await server.stop();
  }
});
