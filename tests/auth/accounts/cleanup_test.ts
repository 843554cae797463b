import { assertEquals, assertRejects } from "@std/assert";
import type { PGlite } from "@electric-sql/pglite";
import { jwt, organization } from "better-auth/plugins";
import { drizzle } from "drizzle-orm/pglite";
import { getTableColumns } from "drizzle-orm";
import { createAuthCleanupHandler, removeExpiredAuthRows } from "../../../auth/accounts/cleanup.ts";
import type { AuthDatabase } from "../../../auth/better_auth/better_auth_types.ts";
import { type BetterAuthInstance, createAuth } from "../../../auth/accounts/instance.ts";
import { closeDrizzleClient, getDrizzleClient } from "../../../database/providers/client.ts";
import { sql } from "../../../database/orm.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { createFakeClock, createLambdaContext, createScheduleEvent } from "../../../testing/mod.ts";
import { LAB_OPTIONS, shareProviders } from "../../support/provider_lab.ts";
import { withSteppedClock } from "../../support/step_clock.ts";
import { SECRET } from "../auth_database.ts";
import { generateSchema } from "../plugins/generated_schema.ts";
import { openPluginLab } from "../plugins/plugin_lab.ts";

const CONFIG = { secret: SECRET, baseURL: "http://localhost:3000" };
const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 0, 31);
const clock = createFakeClock({ nowMs: NOW });

const daysAgo = (days: number) => new Date(NOW - days * DAY_MS);

interface Opened {
  readonly pglite: PGlite;
  readonly auth: BetterAuthInstance;
  count(table: string): Promise<number>;
}

async function open(): Promise<Opened> {
  const plugins = [organization(), jwt()];
  const options = { plugins, audit: true, rateLimit: { storage: "database" } } as const;
  const { pglite, authSchema } = await openPluginLab({ ...options, plugins });
  return {
    pglite,
    auth: createAuth(drizzle({ client: pglite }), {
      ...CONFIG,
      ...options,
      plugins,
      schema: authSchema,
    }),
    count: async (table) =>
      Number(
        (await pglite.query<{ count: number }>(`SELECT count(*) FROM ${table}`)).rows[0].count,
      ),
  };
}

async function addSessions(pglite: PGlite, count: number, expiresAt: Date): Promise<void> {
  await pglite.query(
    `INSERT INTO sessions (token, expires_at, user_id)
     SELECT gen_random_uuid()::text, $1, gen_random_uuid() FROM generate_series(1, ${count})`,
    [expiresAt],
  );
}

Deno.test("removeExpiredAuthRows() removes what expired before its retention, in every table that expires", async () => {
  const { pglite, auth, count } = await open();
  try {
    await addSessions(pglite, 3, daysAgo(31));
    await addSessions(pglite, 2, daysAgo(29));
    await addSessions(pglite, 1, daysAgo(-5));
    const verification = (at: Date) =>
      pglite.query(
        "INSERT INTO verification (identifier, value, expires_at) VALUES ('a', 'b', $1)",
        [at],
      );
    await verification(daysAgo(2));
    await verification(daysAgo(0.5));
    const limit = (key: string, at: Date) =>
      pglite.query("INSERT INTO rate_limits (key, count, last_request) VALUES ($1, 1, $2)", [
        key,
        at.getTime(),
      ]);
    await limit("old", daysAgo(2));
    await limit("new", daysAgo(0.1));
    await pglite.query(
      "INSERT INTO jwks (public_key, private_key, created_at, expires_at) VALUES ('p', 'k', now(), NULL), ('p', 'k', now(), $1)",
      [daysAgo(40)],
    );
    await pglite.query("INSERT INTO auth_events (kind, created_at) VALUES ('sign-in', $1)", [
      daysAgo(900),
    ]);
    assertEquals(await removeExpiredAuthRows(auth, { clock }), {
      removed: { session: 3, verification: 1, invitation: 0, jwks: 1, rateLimit: 1 },
      isComplete: true,
    });
    assertEquals(
      await Promise.all(
        ["sessions", "verification", "rate_limits", "jwks", "auth_events"].map(count),
      ),
      [
        3,
        1,
        1,
        1,
        1,
      ],
    );
    const { removed } = await removeExpiredAuthRows(auth, {
      clock,
      retentionDays: { session: 0, jwks: Infinity, authEvent: 365 },
    });
    assertEquals([removed.session, removed.authEvent, removed.jwks], [2, 1, undefined]);
  } finally {
    await pglite.close();
  }
});

Deno.test("removeExpiredAuthRows() removes in batches, stops in time, and the next run continues", async () => {
  const { pglite, auth, count } = await open();
  try {
    await addSessions(pglite, 2500, daysAgo(60));
    let calls = 0;
    const stopping = { now: () => ++calls > 3 ? NOW + 1000 : NOW, sleep: () => Promise.resolve() };
    const first = await removeExpiredAuthRows(auth, {
      clock: stopping,
      stopAtMs: NOW + 500,
      batchSize: 1000,
    });
    assertEquals([first.removed.session, first.isComplete], [2000, false]);
    assertEquals(await count("sessions"), 500);
    const second = await removeExpiredAuthRows(auth, { clock, batchSize: 1000 });
    assertEquals([second.removed.session, second.isComplete], [500, true]);
  } finally {
    await pglite.close();
  }
});

Deno.test("removeExpiredAuthRows() stops at the same moment when the machine's clock is set", async () => {
  const { pglite, auth } = await open();
  try {
    await addSessions(pglite, 3, daysAgo(60));
    for (const offsetMs of [3_600_000, -3_600_000]) {
      await withSteppedClock(async (setMs) => {
        const running = removeExpiredAuthRows(auth, {
          stopAtMs: Date.now() + 60_000,
          batchSize: 1,
        });
        setMs(offsetMs);
        assertEquals((await running).isComplete, true);
      });
    }
    await addSessions(pglite, 200, daysAgo(60));
    await withSteppedClock(async (setMs) => {
      const running = removeExpiredAuthRows(auth, { stopAtMs: Date.now() + 1, batchSize: 1 });
      setMs(-3_600_000);
      assertEquals((await running).isComplete, false);
    });
  } finally {
    await pglite.close();
  }
});

Deno.test("removeExpiredAuthRows() rejects unknown tables and sizes above the limit of a transaction", async () => {
  const { pglite, auth } = await open();
  try {
    for (
      const [options, message] of [
        [{ retentionDays: { user: 1 } }, "retentionDays.user is no table that expires"],
        [
          { retentionDays: { session: -1 } },
          "retentionDays.session must be a number from 0, got -1",
        ],
        [{ batchSize: 3001 }, "a whole number from 1 to 3000"],
      ] as const
    ) {
      await assertRejects(() => removeExpiredAuthRows(auth, options), ConfigurationError, message);
    }
  } finally {
    await pglite.close();
  }
});

Deno.test("createAuthCleanupHandler() removes expired rows on a schedule and stops before the timeout", async () => {
  const { pglite, auth, count } = await open();
  try {
    await addSessions(pglite, 10, new Date(Date.now() - 40 * DAY_MS));
    const handler = createAuthCleanupHandler(() => auth, {
      batchSize: 4,
      retentionDays: { session: 35 },
    });
    const late = createLambdaContext({ timeoutMs: 1000 });
    assertEquals((await handler(createScheduleEvent(), late)).isComplete, false);
    assertEquals(await count("sessions"), 10);
    const result = await handler(createScheduleEvent(), createLambdaContext());
    assertEquals([result.removed.session, result.isComplete], [10, true]);
  } finally {
    await pglite.close();
  }
});

const lab = shareProviders();

Deno.test({
  name: "removeExpiredAuthRows() removes expired sessions on every provider",
  ...LAB_OPTIONS,
  async fn(test) {
    const { statements } = await generateSchema({});
    for (const { name, config } of (await lab()).targets) {
      await test.step(name, async () => {
        const db = await getDrizzleClient(config);
        for (const statement of statements) {
          const isIndex = statement.startsWith("CREATE INDEX");
          const text = isIndex && name === "distsql"
            ? statement.replace("CREATE INDEX", "CREATE INDEX ASYNC").replace(" USING btree", "")
            : statement;
          await db.execute(sql.raw(text.replace(/;$/, "")));
        }
        const auth = createAuth(db as unknown as AuthDatabase, CONFIG);
        await auth.api.signUpEmail({
          body: { name: "Ada", email: "ada@example.com", password: "correct horse battery" },
        });
        await db.execute(sql`INSERT INTO sessions (token, expires_at, user_id)
          SELECT gen_random_uuid()::text, ${daysAgo(90)}, id FROM users`);
        const { removed } = await removeExpiredAuthRows(auth, { clock });
        assertEquals(removed, { session: 1, verification: 0 });
        await closeDrizzleClient(config);
      });
    }
  },
});

Deno.test("removeExpiredAuthRows() concerns every table of better-auth that has an expiry", async () => {
  const { authSchema } = await generateSchema({ plugins: [organization(), jwt()] });
  const expiring = Object.entries(authSchema).filter(([, table]) =>
    "expiresAt" in getTableColumns(table as Parameters<typeof getTableColumns>[0])
  );
  assertEquals(expiring.map(([model]) => model), ["session", "verification", "invitation", "jwks"]);
});
