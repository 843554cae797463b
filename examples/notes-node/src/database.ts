import {
  createQueryFactory,
  type DatabaseConfig,
  getDrizzleClient,
  type Params,
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

const { defineStatement } = createQueryFactory(getDb);
const { notes } = schema;

export const listNotes = defineStatement(
  "listNotes",
  (db, p: Params<{ userId: string; limit: number }>) =>
    db.select().from(notes).where(eq(notes.userId, p.userId)).orderBy(desc(notes.createdAt))
      .limit(p.limit),
);

export const createNote = defineStatement(
  "createNote",
  (db, p: Params<{ userId: string; title: string }>) =>
    db.insert(notes).values({ userId: p.userId, title: p.title }).returning(),
  { map: ([note]) => note! },
);
