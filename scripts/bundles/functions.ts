/** A small function whose bundle has a limit. */
export interface Bundle {
  readonly name: string;
  /** The function's source. */
  readonly source: string;
  /** Goal for the minified size in kilobytes (1,000 bytes). */
  readonly goal: number;
  /** Limit: the reached size plus a margin. */
  readonly ceiling: number;
  /** Limit of the compressed size in kilobytes. */
  readonly gzipCeiling?: number;
  /**
   * Parts of paths. Chunks that start at such a file are counted although they are loaded later.
   */
  readonly loads?: readonly string[];
}

const checkedValue = (zod: string) =>
  `import { validateSchema } from "@trellis/fn/validation";
import * as z from "${zod}";
const Note = z.object({ title: z.string(), done: z.optional(z.boolean()), tags: z.array(z.string()) });
export const check = (value) => validateSchema(Note, value);`;

const ZOD_HANDLER = (zod: string) =>
  `import { defineApiHandler } from "@trellis/fn/validation";
import { buildValidatedResponse } from "@trellis/fn/core";
import * as z from "${zod}";
const Note = z.object({ title: z.string(), done: z.optional(z.boolean()), tags: z.array(z.string()) });
export const handler = defineApiHandler({ schema: Note })(function createNote({ body, context }) {
  return buildValidatedResponse(context, 201, body, Note);
});`;

const SERVER = `{ provider: "serverless-pg", connectionString: process.env.DATABASE_URL }`;
const CLUSTER = `{ provider: "distsql", endpoint: process.env.DATABASE_ENDPOINT, username: "app" }`;

interface SessionHandler {
  readonly header?: string;
  /** Options of the handler after the first one. */
  readonly options: string;
  readonly database?: string;
}

const sessionHandler = ({ header = "", options, database = SERVER }: SessionHandler) =>
  `import { defineAuth } from "@trellis/fn/auth";
import { createQueryFactory, DatabaseOperation, getDrizzleClient } from "@trellis/fn/database";
import { eq } from "@trellis/fn/database/orm";
import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
${header}
const notes = pgTable("notes", { id: uuid("id").primaryKey(), userId: uuid("user_id").notNull(), title: text("title").notNull() });
const getDb = () => getDrizzleClient(${database});
const { defineQuery } = createQueryFactory(getDb);
const { session } = defineAuth(getDb, { secret: process.env.AUTH_SECRET, baseURL: "https://api.example.com" });
const listNotes = defineQuery({ tables: [{ table: notes, operations: [DatabaseOperation.Select] }] },
  async function listNotes(db, userId) { return await db.select().from(notes).where(eq(notes.userId, userId)); });
export const handler = defineApiHandler({ auth: session()${options} })(
  async function getNotes({ userId, context }) {
    return buildValidatedResponse(context, 200, { notes: await listNotes(userId) });
  });`;

/** Modules that the provider loads when it connects. */
const DRIVER = ["database/providers/serverless_pg", "/postgres/"];

/** The functions that are checked. */
export const BUNDLES: readonly Bundle[] = [
  {
    name: "./errors, all of it",
    goal: 8,
    ceiling: 10,
    source: `export * from "@trellis/fn/errors";`,
  },
  {
    name: "./client, without openapi-fetch",
    goal: 2.5,
    ceiling: 4,
    gzipCeiling: 2,
    source: `export * from "@trellis/fn/client";`,
  },
  {
    name: "./validation with one zod schema",
    goal: 110,
    ceiling: 110,
    source: checkedValue("zod"),
  },
  {
    name: "./validation with one zod/mini schema",
    goal: 40,
    ceiling: 40,
    source: checkedValue("zod/mini"),
  },
  { name: "a handler with a zod schema", goal: 125, ceiling: 170, source: ZOD_HANDLER("zod") },
  {
    name: "a handler with a zod/mini schema",
    goal: 68,
    ceiling: 100,
    source: ZOD_HANDLER("zod/mini"),
  },
  {
    name: "a session handler with drizzle and postgres.js",
    goal: 260,
    ceiling: 323,
    source: sessionHandler({ options: "" }),
    loads: DRIVER,
  },
  {
    name: "the same with Aurora DSQL, which needs IAM tokens",
    goal: 260,
    ceiling: 317,
    source: sessionHandler({ options: "", database: CLUSTER }),
    loads: ["database/providers/distsql", "database/providers/load_postgres", "/postgres/"],
  },
  {
    name: "the same with a zod query schema",
    goal: 300,
    ceiling: 417,
    source: sessionHandler({
      header: `import * as z from "zod";`,
      options: ", querySchema: z.object({ limit: z.coerce.number().default(20) })",
    }),
    loads: DRIVER,
  },
];
