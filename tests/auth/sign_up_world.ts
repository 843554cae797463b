import { boolean, integer, jsonb, numeric, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { type AuthConfig, type BetterAuthInstance, createAuth } from "../../auth/mod.ts";
import {
  AUTH_MIGRATION_SQL,
  AUTH_USER_COLUMNS,
  authAccounts,
  authSessions,
} from "../../auth/tables/schema.ts";
import { executeRows, RATE_LIMIT_MIGRATION_SQL } from "../../database/mod.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { sql } from "../../database/orm.ts";
import { SECRET } from "./auth_database.ts";

/** Users with columns that better-auth fills, that the database fills, and of several types. */
const users = pgTable("users", {
  ...AUTH_USER_COLUMNS,
  locale: text("locale").notNull().default("en"),
  nick: text("nick"),
  age: integer("age"),
  ratio: numeric("ratio", { precision: 10, scale: 3 }),
  bornAt: timestamp("born_at", { withTimezone: true }),
  settings: jsonb("settings"),
  isHidden: boolean("is_hidden"),
  score: integer("score").notNull().default(7),
});

const USERS_SQL = `CREATE TABLE "users" (
  "id" uuid PRIMARY KEY NOT NULL, "name" text NOT NULL, "email" text NOT NULL,
  "email_verified" boolean DEFAULT false NOT NULL, "image" text,
  "created_at" timestamp with time zone DEFAULT now() NOT NULL,
  "updated_at" timestamp with time zone DEFAULT now() NOT NULL,
  "locale" text DEFAULT 'en' NOT NULL, "nick" text, "age" integer, "ratio" numeric(10, 3),
  "born_at" timestamp with time zone, "settings" jsonb, "is_hidden" boolean,
  "score" integer DEFAULT 7 NOT NULL,
  CONSTRAINT "users_email_unique" UNIQUE("email"),
  CONSTRAINT "refused_users" CHECK (name <> 'refused by users'))`;

/** The tables, with constraints that refuse some sign-ups. */
export const SIGN_UP_TABLES: readonly string[] = [
  USERS_SQL,
  ...AUTH_MIGRATION_SQL.split("--> statement-breakpoint").slice(1).map((statement) =>
    statement
      .replace(
        'CONSTRAINT "sessions_token',
        `CONSTRAINT "refused_sessions" CHECK (user_agent <> 'refused by sessions'), $&`,
      )
      .replace(
        'CONSTRAINT "accounts_provider',
        `CONSTRAINT "refused_accounts" CHECK (password <> 'refused by accounts'), $&`,
      )
  ),
  ...RATE_LIMIT_MIGRATION_SQL.split("--> statement-breakpoint"),
];

const BASE = "https://api.example.com";
let instances = 0;

/** Creates an instance. */
export function openSignUps(db: DrizzleClient): BetterAuthInstance {
  return createAuth(
    db,
    {
      secret: SECRET,
      baseURL: BASE,
      appName: `sign-ups ${++instances}`,
      schema: { user: users, account: authAccounts, session: authSessions },
      emailAndPassword: {
        enabled: true,
        password: { hash: createMeeting(), verify: () => Promise.resolve(false) },
      },
      session: { cookieCache: { enabled: true } },
      rateLimit: { customRules: { "/**": { max: 100_000, window: 60 } } },
      accountLimits: { messages: { limit: 3, windowSeconds: 3600 } },
      user: {
        additionalFields: {
          locale: { type: "string", required: false },
          nick: {
            type: "string",
            required: false,
            transform: {
              input: (value) => typeof value === "string" ? value.trim() : value,
              output: (value) => typeof value === "string" ? `@${value}` : value,
            },
          },
          age: { type: "number", required: false, defaultValue: () => 40 },
          ratio: { type: "string", required: false },
          bornAt: { type: "date", required: false },
          settings: { type: "json", required: false },
          isHidden: { type: "boolean", required: false, returned: false },
        },
      },
    } satisfies AuthConfig,
  );
}

/**
 * Returns a function that hashes passwords. Two sign-ups with a password `both at once` wait for each
 * other, but not for long: the other one may wait for the connection.
 */
function createMeeting(): (password: string) => Promise<string> {
  const waiting = new Map<string, () => void>();
  return function hash(password) {
    const other = waiting.get(password);
    other?.();
    if (other !== undefined || !password.startsWith("both at once")) {
      return Promise.resolve(password);
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(password), 500);
      waiting.set(password, () => {
        clearTimeout(timer);
        resolve(password);
      });
    });
  };
}

/** Sends a sign-up. */
export function sendSignUp(
  auth: BetterAuthInstance,
  body: unknown,
  userAgent = "tests",
): Promise<Response> {
  return auth.handler(
    new Request(`${BASE}/api/auth/sign-up/email`, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": userAgent },
      body: JSON.stringify(body),
    }),
  );
}

const TABLES = ["users", "accounts", "sessions"] as const;

/** Deletes the rows of all sign-ups. */
export async function clearSignUps(db: DrizzleClient): Promise<void> {
  for (const table of [...TABLES, "rate_limits"]) {
    await db.execute(sql`delete from ${sql.identifier(table)}`);
  }
}

/** Returns the numbers of users, accounts and sessions. */
export async function countRows(db: DrizzleClient): Promise<number[]> {
  const counts = TABLES.map(async (table) => {
    const [{ count }] = await executeRows<{ count: string }>(
      db,
      sql`select count(*) from ${sql.identifier(table)}`,
    );
    return Number(count);
  });
  return await Promise.all(counts);
}
