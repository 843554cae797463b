import {
  createQueryFactory,
  type DatabaseConfig,
  DatabaseOperation,
  getDrizzleClient,
} from "@trellis/fn/database";
import { desc, eq } from "@trellis/fn/database/orm";
import { getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";
import * as schema from "./schema.ts";

/** PGlite in a folder for development, PostgreSQL by its URL in production. */
export const databaseConfig = {
  ...(getOptionalEnv("STAGE", "local") === "local"
    ? { provider: "embedded-pg", connectionString: getOptionalEnv("DATABASE_URL", ".data/pg") }
    : { provider: "postgres", connectionString: getRequiredEnv("DATABASE_URL") }),
  schema,
} satisfies DatabaseConfig;

export const getDb = () => getDrizzleClient(databaseConfig);

const { defineQuery } = createQueryFactory(getDb);
const { notes } = schema;

export const listNotes = defineQuery(
  { tables: [{ table: notes, operations: [DatabaseOperation.Select] }] },
  async function listNotes(db, userId: string, limit: number) {
    return await db.select().from(notes).where(eq(notes.userId, userId)).orderBy(
      desc(notes.createdAt),
    ).limit(limit);
  },
);

export const createNote = defineQuery(
  { tables: [{ table: notes, operations: [DatabaseOperation.Select, DatabaseOperation.Insert] }] },
  async function createNote(db, note: { userId: string; title: string }) {
    const [created] = await db.insert(notes).values(note).returning();
    return created!;
  },
);
