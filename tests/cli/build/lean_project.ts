/** A project whose functions are bundled with and without drizzle. */

const SCHEMA = `import { relations } from "drizzle-orm";
import { integer, jsonb, pgEnum, pgTable, text, timestamp, unique, uuid } from "./columns.ts";
export { authSessions, authUsers } from "@trellis/fn/auth/schema";
export { rateLimits } from "@trellis/fn/database";
export { trellisJobs } from "@trellis/fn/jobs";

const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });
export const color = pgEnum("color", ["red", "blue"]);
export const labels = pgTable("labels", {
  id: uuid("id").primaryKey().defaultRandom(),
  name: text("name").notNull(),
  since: instant("since").$defaultFn(() => new Date()),
});
export const notes = pgTable("notes", {
  id: integer("id").primaryKey(),
  labelId: uuid("label_id").references(() => labels.id),
  title: text("title").notNull(),
  color: color("color"),
  meta: jsonb("meta"),
  tags: text("tags").array(),
  at: instant("at").defaultNow(),
}, (t) => [unique("notes_title_key").on(t.title)]);
export const notesRelations = relations(notes, ({ one }) => ({
  label: one(labels, { fields: [notes.labelId], references: [labels.id] }),
}));
`;

const DATABASE =
  `import { createQueryFactory, type DatabaseConfig, getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
import * as schema from "./schema.ts";
console.log("the configuration is read");
const config = {
  provider: "serverless-pg",
  connectionString: getRequiredEnv("DATABASE_URL"),
  schema,
} satisfies DatabaseConfig;
export const getDb = () => getDrizzleClient(config);
export const queries = createQueryFactory(getDb);
export const { defineQuery, definePreparedQuery } = queries;
`;

const QUERIES = `import { DatabaseOperation, sendAhead } from "@trellis/fn/database";
import { asc, eq, sql } from "@trellis/fn/database/orm";
import { defineQuery, definePreparedQuery, queries } from "./database.ts";
import * as schema from "./schema.ts";
import { labels, notes } from "./schema.ts";

const { Select, Insert } = DatabaseOperation;
const { labelId: _, ...NOTE } = { id: notes.id, labelId: notes.labelId, title: notes.title, tags: notes.tags, at: notes.at };
const given = sql.placeholder;
const NEW = { id: given("id"), title: given("title"), color: given("color"), meta: given("meta"), tags: given("tags") };
const LABEL = "22222222-2222-4333-8444-555555555555";
const byId = [asc(notes.id)];
const reads = { tables: [{ table: notes, operations: [Select] }] };

export const listNotes = definePreparedQuery(reads, function listNotes(db, limit: number) {
  return db.select({ ...NOTE, label: labels.name, color: schema.notes.color, meta: notes.meta }).from(notes)
    .leftJoin(labels, eq(labels.id, notes.labelId)).orderBy(...byId)
    .limit(given("limit")).prepare("list_notes").execute({ limit });
});
export const findNote = queries.definePreparedQuery(reads, async function findNote(db, id: number) {
  const [note] = await db.select(NOTE).from(notes).where(eq(notes.id, sql.placeholder("id")))
    .prepare("find_note").execute({ id });
  return note;
});
export const addNote = definePreparedQuery(
  {
    tables: [{ table: notes, operations: [Select, Insert] }],
    transaction: true,
    constraints: { notes_title_key: { field: "title", message: "is taken" } },
  },
  async function addNote(tx, note: { id: number; title: string; color: string | null; meta: unknown; tags: string[] | null }) {
    const [added] = await tx.insert(notes).values(NEW).returning().prepare("add_note").execute(note as never);
    return added;
  },
);
export const addTwice = definePreparedQuery(
  { tables: [{ table: notes, operations: [Insert] }], transaction: true },
  async function addTwice(tx, id: number) {
    const statement = tx.insert(notes).values({ id: given("id"), title: given("title") }).prepare("add_twice");
    await statement.execute({ id, title: "twice" });
    sendAhead(tx, statement, { id, title: "again" });
  },
);
export const addLabel = definePreparedQuery(
  { tables: [{ table: labels, operations: [Insert] }] },
  async function addLabel(db) {
    const [label] = await db.insert(labels).values({ id: LABEL, name: "work", since: null }).returning({ name: labels.name })
      .prepare("add_label").execute();
    return label;
  },
);
// not used by the functions without drizzle
export const unused = defineQuery(reads, (db) => db.select().from(notes).where(eq(notes.id, 1)));
`;

const TEXT_QUERIES = `import { defineQuery } from "./database.ts";
const tables = [{ table: "notes", operations: ["SELECT" as const] }];
export const readText = defineQuery({ tables }, (db, text: string) => db.execute(text));
export const readRelated = defineQuery({ tables }, (db) => db.query.notes.findMany({ with: { label: true }, orderBy: (t, { asc }) => asc(t.id) }));
`;

/** One function with an operation for each use of the database. */
const OPERATIONS = `import { buildValidatedResponse } from "@trellis/fn/core";
import { withTransaction } from "@trellis/fn/database";
import { DatabaseError, TransactionMisuseError, UniqueViolationError } from "@trellis/fn/database";
import { AppError } from "@trellis/fn/errors";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";
import { getDb } from "../../database.ts";
import { addLabel, addNote, addTwice, findNote, listNotes } from "../../queries.ts";
import { readRelated, readText } from "../../text_queries.ts";

const CLASSES = { AppError, DatabaseError, TransactionMisuseError, UniqueViolationError };
const Input = z.object({ operations: z.array(z.string().max(20)).max(20) });
const note = (id: number, title: string) => ({ id, title, color: "red", meta: { a: [1, null] }, tags: ["x", "y, z"] });

const operations: Record<string, () => Promise<unknown>> = {
  list: () => listNotes(10),
  find: () => findNote(1),
  missing: () => findNote(99),
  add: () => addNote(note(2, "second")),
  taken: () => addNote(note(3, "first")),
  wrong: () => addNote({ ...note(4, "fourth"), color: "green" }),
  none: () => addNote({ id: 5, title: "fifth" } as never),
  twice: () => addTwice(6),
  noted: () => addLabel(),
  text: async () => (await readText("select count(*)::int as n from notes")).rows,
  textError: () => readText("select nothing from notes"),
  related: () => readRelated(),
  nested: async () => {
    const db = await getDb();
    return await withTransaction(db, async (tx) => {
      const added = await addNote.on(tx, note(7, "seventh"));
      const { rows: [seen] } = await tx.execute("select title from notes where id = 7");
      const failed = await addNote.on(tx, note(8, "first")).catch((error) => error.statusCode);
      return [added.id, seen, failed, await listNotes.on(tx, 20)];
    });
  },
  rollback: async () => {
    const db = await getDb();
    const failed = await withTransaction(db, async (tx) => {
      await addNote.on(tx, note(9, "ninth"));
      await tx.execute("insert into notes (id, title) values (10, 'first')");
    }).catch(describe);
    return [failed, await findNote(9) ?? null];
  },
  drizzle: async () => {
    const db = await getDb();
    return await db.transaction(async (tx) => {
      const found = await findNote.on(tx, 1);
      const inner = await tx.transaction(async (deeper) => (await deeper.query.notes.findFirst())?.title);
      return [found?.title, inner];
    });
  },
  afterwards: async () => {
    const db = await getDb();
    let leaked: typeof db | undefined;
    await withTransaction(db, async (tx) => void (leaked = tx as never));
    return [await findNote.on(leaked!, 1).catch(describe), await leaked!.execute("select 1 as n").catch(describe)];
  },
};

function describe(error: Error): object {
  const classes = Object.entries(CLASSES).filter(([, each]) => error instanceof each).map(([name]) => name);
  const { name, message, code, sqlState, constraint, cause } = error as any;
  return { name, message, code, sqlState, constraint, classes, cause: cause?.name };
}

export const handler = defineApiHandler({ schema: Input })(async function run({ context, body }) {
  if (body.operations[0] === "answer") return buildValidatedResponse(context, 201, await addNote(note(3, "first")));
  const results: unknown[] = [];
  for (const name of body.operations) results.push(await operations[name]().catch(describe) ?? null);
  return buildValidatedResponse(context, 200, results);
});
`;

const route = (imports: string, expression: string): string =>
  `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
${imports}
export const handler = defineApiHandler({})(async function run({ context }) {
  return buildValidatedResponse(context, 200, { value: ${expression} });
});
`;
const API = "src/functions/api";

/** The files of the project, without the configuration of the package manager. */
export const LEAN_FILES: Readonly<Record<string, string>> = {
  "trellis.config.ts": "export default { build: { precompile: true } };\n",
  "src/columns.ts": 'export * from "drizzle-orm/pg-core";\n',
  "src/schema.ts": SCHEMA,
  "src/database.ts": DATABASE,
  "src/queries.ts": QUERIES,
  "src/text_queries.ts": TEXT_QUERIES,
  [`${API}/operations.post.ts`]: OPERATIONS,
  // without statements of its own
  [`${API}/me.get.ts`]: `import { configureSessionAuth } from "@trellis/fn/auth";
import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { getDb } from "../../database.ts";
configureSessionAuth(getDb, { secret: "0123456789abcdef0123456789abcdef", baseURL: "http://localhost" });
export const handler = defineApiHandler({ auth: "session" })(function me({ context, session }) {
  return buildValidatedResponse(context, 200, session);
});
`,
  // without a database
  [`${API}/ping.get.ts`]: route("", '"pong"'),
  [`${API}/sql.get.ts`]: route(
    `import { sql } from "@trellis/fn/database/orm";\nimport { getDb } from "../../database.ts";`,
    "(await (await getDb()).execute(sql`select 1 as n`)).rows",
  ),
  [`${API}/column.get.ts`]: route(
    `import { findNote } from "../../queries.ts";\nimport { notes as table } from "../../schema.ts";`,
    "[(await findNote(1))?.title, table.title.name]",
  ),
  [`${API}/unused.get.ts`]: route(
    `import { unused } from "../../queries.ts";`,
    "(await unused()).length",
  ),
  "src/changed.ts": `import { definePreparedQuery } from "./database.ts";
import { notes } from "./schema.ts";
const FIELDS: Record<string, typeof notes.title> = { title: notes.title };
FIELDS.again = notes.title;
export const changed = definePreparedQuery({ tables: [] }, (db) => db.select(FIELDS).from(notes).prepare("changed").execute());
`,
  [`${API}/changed.get.ts`]: route(
    `import { changed } from "../../changed.ts";`,
    "(await changed()).length",
  ),
  "src/registered.ts": `import { integer, pgTable } from "drizzle-orm/pg-core";
import { definePreparedQuery } from "./database.ts";
const tables: object[] = [];
const register = <T extends object>(table: T): T => (tables.push(table), table);
export const registered = register(pgTable("notes", { id: integer("id") }));
export const count = definePreparedQuery({ tables: [] }, (db) => db.select().from(registered).prepare("count").execute());
export const size = () => tables.length;
`,
  [`${API}/registered.get.ts`]: route(
    `import { count, size } from "../../registered.ts";`,
    "[(await count()).length, size()]",
  ),
  "src/own_auth.ts": `import { configureSessionAuth } from "@trellis/fn/auth";
import { authSessions, authUsers } from "@trellis/fn/auth/schema";
import { getDb } from "./database.ts";
configureSessionAuth(getDb, {
  secret: "0123456789abcdef0123456789abcdef",
  baseURL: "http://localhost",
  schema: { user: authUsers, session: authSessions },
});
`,
  [`${API}/owner.get.ts`]: `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../own_auth.ts";
export const handler = defineApiHandler({ auth: "session" })(function me({ context, session }) {
  return buildValidatedResponse(context, 200, session);
});
`,
  // the configuration is used for something else
  [`${API}/shared.get.ts`]: route(
    `import { getDrizzleClient } from "@trellis/fn/database";
import * as schema from "../../schema.ts";
const config = { provider: "serverless-pg" as const, connectionString: process.env.DATABASE_URL!, schema };`,
    "[Object.keys(config.schema), (await (await getDrizzleClient(config)).execute('select 1 as n')).rows]",
  ),
  // a table whose code must not be in both files
  "src/guarded.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
export const guarded = pgTable("notes", { id: integer("id"), title: text("title").$defaultFn(() => process.env.TITLE!) });
export const getGuarded = () => getDrizzleClient({ provider: "serverless-pg", connectionString: process.env.DATABASE_URL!, schema: { guarded } });
`,
  [`${API}/guarded.get.ts`]: route(
    `import { getGuarded } from "../../guarded.ts";`,
    "(await (await getGuarded()).query.guarded.findMany()).length",
  ),
};
