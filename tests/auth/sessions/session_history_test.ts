import { assert, assertEquals } from "@std/assert";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { betterAuth } from "better-auth/minimal";
import { admin } from "better-auth/plugins/admin";
import { boolean, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import fc from "fast-check";
import { createHmac } from "node:crypto";
import {
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  createAuth,
  validateSession,
} from "../../../auth/mod.ts";
import { isAppError } from "../../../errors/mod.ts";
import { AUTH_SCHEMA_MAPPING } from "../../../auth/tables/schema.ts";
import { atTime, openAuthDatabase, SECRET } from "../auth_database.ts";
import { testSeed } from "../../support/seed.ts";

const DAY = 86_400;
const START_MS = Date.UTC(2030, 4, 6, 7, 8, 9, 123);
const USER = "0b9f2c1e-6a54-4c53-9a57-0d6f2b3c4d5e";
const BASE_URL = "http://localhost:3000";
const HISTORIES = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 10_000 : 24;

const { pglite, db } = await openAuthDatabase();
globalThis.addEventListener("unload", () => void pglite.close());
await pglite.exec(
  `ALTER TABLE users ADD role text, ADD banned boolean, ADD ban_reason text, ADD ban_expires timestamptz;
  ALTER TABLE sessions ADD impersonated_by text`,
);
await pglite.query("INSERT INTO users (id, name, email) VALUES ($1, 'Ada', 'ada@example.com')", [
  USER,
]);

const user = pgTable("users", {
  ...AUTH_USER_COLUMNS,
  role: text("role"),
  banned: boolean("banned"),
  banReason: text("ban_reason"),
  banExpires: timestamp("ban_expires", { withTimezone: true }),
});
const session = pgTable("sessions", {
  ...AUTH_SESSION_COLUMNS,
  impersonatedBy: text("impersonated_by"),
});

interface Settings {
  expiresIn: number;
  updateAge: number;
}

/** How a session came about: by sign-in, by sign-in with `rememberMe: false`, as an impersonation, with a length of its own. */
type Kind = "remembered" | "unremembered" | "impersonation" | "own";

interface Step {
  afterMs: number;
  /** Whether another column is changed first, which better-auth notes in `updated_at`. */
  touch: boolean;
}

function startTheirs({ expiresIn, updateAge }: Settings) {
  return betterAuth({
    secret: SECRET,
    baseURL: BASE_URL,
    session: { expiresIn, updateAge },
    advanced: { useSecureCookies: false, database: { generateId: () => crypto.randomUUID() } },
    database: drizzleAdapter(db, {
      provider: "pg",
      schema: { ...AUTH_SCHEMA_MAPPING, user, session },
    }),
    plugins: [admin()],
  });
}

const signed = (value: string) =>
  encodeURIComponent(`${value}.${createHmac("sha256", SECRET).update(value).digest("base64")}`);

/** One session twice: `theirs` is used by cookie at better-auth, `ours` by token at validateSession(). */
async function createTwins(kind: Kind, settings: Settings, ownSeconds: number) {
  const auth = startTheirs(settings);
  const { internalAdapter } = await auth.$context;
  await pglite.exec("DELETE FROM sessions");
  const forgets = kind === "unremembered" || kind === "impersonation";
  // as the routes of better-auth and of its admin plugin do it
  const row = await atTime(START_MS, () => {
    const expiresAt = new Date(START_MS + ownSeconds * 1000);
    if (kind === "impersonation") {
      return internalAdapter.createSession(USER, true, { impersonatedBy: USER, expiresAt }, true);
    }
    if (kind === "own") return internalAdapter.createSession(USER, false, { expiresAt }, true);
    return internalAdapter.createSession(USER, forgets);
  });
  await pglite.query(
    `INSERT INTO sessions (token, expires_at, created_at, updated_at, user_id, impersonated_by)
    SELECT 'ours', expires_at, created_at, updated_at, user_id, impersonated_by FROM sessions`,
  );
  const cookie = [`better-auth.session_token=${signed(row.token)}`];
  if (forgets) cookie.push(`better-auth.dont_remember=${signed("true")}`);
  return {
    auth,
    headers: new Headers({ cookie: cookie.join("; ") }),
    endMs: row.expiresAt.getTime(),
  };
}

type Ends = { ours?: number; theirs?: number };

async function replay(kind: Kind, settings: Settings, ownSeconds: number, steps: Step[]) {
  const { auth, headers, endMs } = await createTwins(kind, settings, ownSeconds);
  const ours = createAuth(db, {
    secret: SECRET,
    baseURL: BASE_URL,
    sessionExpiresIn: settings.expiresIn,
    sessionUpdateAge: settings.updateAge,
    schema: { user, session },
  });
  const ends: (Ends & { nowMs: number })[] = [];
  let nowMs = START_MS;
  for (const { afterMs, touch } of steps) {
    nowMs += afterMs;
    if (touch) {
      await pglite.query("UPDATE sessions SET updated_at = $1", [
        new Date(nowMs - 1).toISOString(),
      ]);
    }
    const theirs = await atTime(nowMs, () => auth.api.getSession({ headers }));
    const found = await atTime(nowMs, () => validateSession(ours, "ours")).catch(
      (error: unknown) => {
        if (isAppError(error, "UNAUTHORIZED")) return undefined;
        throw error;
      },
    );
    ends.push({
      nowMs,
      theirs: theirs?.session.expiresAt.getTime(),
      ours: found?.session.expiresAt.getTime(),
    });
  }
  return { createdEndMs: endMs, ends };
}

const seconds = fc.oneof(
  fc.integer({ min: 2, max: 7200 }),
  fc.integer({ min: 2, max: 40 * DAY }),
  fc.constant(30 * DAY),
);
const history = fc.record({
  kind: fc.constantFrom<Kind>("remembered", "unremembered", "impersonation", "own"),
  expiresIn: seconds,
  updateShare: fc.double({ min: 0, max: 1.2, noNaN: true }),
  ownShare: fc.double({ min: 0.01, max: 0.999, noNaN: true }),
  steps: fc.array(
    fc.record({ share: fc.double({ min: 0, max: 1.1, noNaN: true }), touch: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 12,
    },
  ),
});

Deno.test("validateSession() keeps no session alive for longer than better-auth by cookie, whatever its history", async () => {
  const seed = testSeed;
  const count = { extended: 0, refused: 0, checks: 0 };
  await fc.assert(
    fc.asyncProperty(history, async ({ kind, expiresIn, updateShare, ownShare, steps }) => {
      const own = Math.max(1, Math.floor(expiresIn * ownShare));
      const lengths = { remembered: expiresIn, unremembered: DAY, impersonation: own, own };
      // steps are shares of the session's length, so that sessions of every length live through several of them
      const pace = Math.min(lengths[kind], expiresIn) * 1000;
      const settings = { expiresIn, updateAge: Math.floor(updateShare * pace / 1000) };
      // the one case that no column shows: better-auth's day for those who are not remembered, changed by something else
      const touched = kind !== "unremembered" || expiresIn > DAY;
      const { createdEndMs, ends } = await replay(
        kind,
        settings,
        own,
        steps.map(({ share, touch }) => ({
          afterMs: 1 + Math.floor(share * pace),
          touch: touch && touched,
        })),
      );
      let previous: number = createdEndMs;
      for (const { nowMs, ours, theirs } of ends) {
        count.checks++;
        if (ours === undefined) {
          count.refused++;
          if (kind === "remembered") assertEquals(theirs, undefined);
          continue;
        }
        assert(theirs !== undefined && ours <= theirs, `${ours} is beyond better-auth's ${theirs}`);
        if (kind === "remembered") assertEquals(ours, theirs);
        if (ours === previous) continue;
        count.extended++;
        assert(
          ours > previous && ours <= nowMs + lengths[kind] * 1000,
          `${ours} after ${previous} at ${nowMs}`,
        );
        assert(
          kind === "remembered" || kind === "own",
          `a session of the kind ${kind} was extended`,
        );
        previous = ours;
      }
    }),
    { seed, numRuns: HISTORIES },
  );
  assert(count.extended > 0 && count.refused > 0);
  // deno-lint-ignore no-console -- the figures are part of the result
  console.info(`TRELLIS_SEED=${seed} ${HISTORIES} histories, ${JSON.stringify(count)}`);
});

Deno.test("validateSession() extends a session by its own length, again and again", async () => {
  const settings = { expiresIn: 30 * DAY, updateAge: 600 };
  const steps = Array.from({ length: 40 }, () => ({ afterMs: 1_000_000, touch: false }));
  const { createdEndMs, ends } = await replay("own", settings, 3600, steps);
  assertEquals(createdEndMs, START_MS + 3_600_000);
  for (const { nowMs, ours } of ends) assertEquals(ours, nowMs + 3_600_000);
});

Deno.test("validateSession() ends a session that was created short before sessionExpiresIn has passed", async () => {
  const settings = { expiresIn: 7200, updateAge: 60 };
  const steps = Array.from({ length: 16 }, () => ({ afterMs: 500_000, touch: false }));
  const { ends } = await replay("own", settings, 3600, steps);
  assertEquals(ends.map(({ ours }) => ours).at(-3), START_MS + 7_199_000);
  assertEquals(ends.at(-1)?.ours, undefined);
});

Deno.test("validateSession() leaves a session alone that is shorter than sessionUpdateAge", async () => {
  const steps = [{ afterMs: 3_599_999, touch: false }];
  const { ends } = await replay("own", { expiresIn: 30 * DAY, updateAge: DAY }, 3600, steps);
  assertEquals(ends[0].ours, START_MS + 3_600_000);
});
