/** Prints what works with the version of drizzle that the import map gives, as JSON. */
import { PGlite } from "@electric-sql/pglite";
import { eq } from "drizzle-orm";
import { integer, jsonb, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/pglite";
import { createAuth } from "../../auth/accounts/instance.ts";
import { AUTH_MIGRATION_SQL } from "../../auth/tables/migration.ts";
import { validateSession } from "../../auth/sessions/sessions.ts";
import {
  createQueryFactory,
  DatabaseOperation,
  type DrizzleClient,
  getDrizzleClient,
  type Params,
  RATE_LIMIT_MIGRATION_SQL,
  withTransaction,
} from "../../database/mod.ts";
import {
  getPrimaryKey,
  getTableNames,
  isKind,
  isTable,
} from "../../database/session/drizzle_table.ts";
import { createRateLimitStore } from "../../database/rate_limits/store.ts";
import { sql } from "../../database/session/plain_sql.ts";
import { runSql, runSqlRows } from "../../database/session/run_sql.ts";
import { defineJob, JOBS_MIGRATION_SQL } from "../../jobs/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import * as z from "zod";

setLogOutput(() => {});
const client = new PGlite();
const db = drizzle({ client }) as object as DrizzleClient;
for (const migration of [AUTH_MIGRATION_SQL, RATE_LIMIT_MIGRATION_SQL, JOBS_MIGRATION_SQL]) {
  for (const statement of migration.split("--> statement-breakpoint")) await client.exec(statement);
}
await client.exec(`create table notes (id int, title text, tags text[], data jsonb, at timestamptz);
  insert into users (id, name, email, email_verified)
    values ('00000000-0000-4000-8000-000000000001', 'Ada', 'ada@example.com', true);
  insert into sessions (id, token, user_id, expires_at)
    values ('00000000-0000-4000-8000-000000000002', 'token', '00000000-0000-4000-8000-000000000001', now() + '6 days')`);

const notes = pgTable("notes", {
  id: integer("id").notNull(),
  title: text("title"),
  tags: text("tags").array(),
  data: jsonb("data"),
  at: timestamp("at", { withTimezone: true }),
}, (table) => [primaryKey({ columns: [table.title, table.id] })]);
const key = pgTable("keys", { id: uuid("id").primaryKey() });
const { defineQuery, defineStatement } = createQueryFactory(() => db);
const addNote = defineQuery(
  { tables: [{ table: notes, operations: [DatabaseOperation.Insert] }], transaction: true },
  async function addNote(tx, id: number, title: string) {
    await tx.insert(notes).values({ id, title, tags: ["a"], data: { id }, at: new Date(0) });
  },
);
const findNote = defineStatement(
  "findNote",
  (db, p: Params<{ title: string }>) => db.select().from(notes).where(eq(notes.title, p.title)),
);
const job = defineJob({ name: "ship", schema: z.number() })(() => {});

const STEPS: Record<string, () => unknown> = {
  "names": () => [getTableNames(notes), isTable(notes), isKind(notes.id, "PgColumn")],
  "statements": async () => await runSqlRows(db, sql`select ${1}::int as n`),
  "transactions": async () => {
    await runSql(db, sql`create table amounts (n int)`);
    await withTransaction(
      db,
      async (tx) => void await runSql(tx, sql`insert into amounts values (1)`),
    );
    const undone = withTransaction(db, async (tx) => {
      await runSql(tx, sql`insert into amounts values (2)`);
      throw new Error("undo");
    });
    await undone.catch(() => {});
    return await runSqlRows(db, sql`select n from amounts`);
  },
  "a failure that a transaction hid": () =>
    withTransaction(db, async (tx) => {
      await runSql(tx, sql`insert into amounts values ('no number')`).then(undefined, () => {});
    }).then(() => "committed", () => "rolled back"),
  "queries and statements": async () => {
    await addNote(1, "ada");
    await addNote(2, "bob");
    return [await findNote({ title: "ada" }), await findNote({ title: "bob" })];
  },
  "limits": async () => {
    const store = createRateLimitStore(db);
    const take = async () => (await store.take("key", { limit: 1, windowSeconds: 60 })).allowed;
    return [await take(), await take()];
  },
  "jobs": async () => {
    await job.enqueue(db, 5);
    return await runSqlRows(db, sql`select name, payload from trellis_jobs`);
  },
  "a session in the built-in tables": async () => {
    const auth = createAuth(db, { secret: "s".repeat(32), baseURL: "http://localhost:3000" });
    const { user, session } = await validateSession(auth, "token");
    return [user.email, session.expiresAt instanceof Date];
  },
  "columns": () => getPrimaryKey(key).map(({ name }) => name),
  "getDrizzleClient": async () => {
    const own = await getDrizzleClient({
      provider: "embedded-pg",
      connectionString: "memory://",
      instrument: false,
      schema: { notes },
    });
    await runSql(
      own,
      sql`create table notes (id int, title text, tags text[], data jsonb, at timestamptz)`,
    );
    await addNote.on(own, 3, "eve");
    return [
      await findNote.on(own, { title: "eve" }),
      await own.select().from(notes),
      await own.query.notes.findFirst(),
    ];
  },
  "auth/schema": async () => (await import("../../auth/tables/schema.ts")).authUsers.email.name,
};

const results: Record<string, unknown> = {};
for (const [name, run] of Object.entries(STEPS)) {
  try {
    results[name] = await run();
  } catch (error) {
    results[name] = (error as Error).message;
  }
}
// deno-lint-ignore no-console -- the test reads it
console.log(JSON.stringify(results));
Deno.exit();
