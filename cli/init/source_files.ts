import { withoutMargin } from "./margin.ts";

/**
 * Renders the configuration of a new project.
 *
 * @param name The project name; it is a literal, so that resources keep their names if the folder
 * is renamed.
 * @param withCi True if roles of a workflow deploy the project.
 */
export function renderConfig(name: string, withCi: boolean): string {
  const boundary = withCi
    ? `|    // infra-ci/ creates this policy: its roles cannot create others without it
|    permissionsBoundary: "${name}-functions",
`
    : "";
  return withoutMargin(`|import { defineConfig } from "@trellis/fn/cli";
|
|// parsed, not executed: use literals and constants only
|export default defineConfig({
|  infra: {
|    projectName: "${name}",
${boundary}|    environment: {
|      AUTH_SECRET: { secret: true },
|      AUTH_BASE_URL: { api: "/auth" },
|    },
|    // each stage has its own state; add a domain with { domain: "api.example.com", hostedZoneId: "Z…" }
|    stages: { dev: {}, prod: {} },
|    // state: { bucket: "your-state-bucket", region: "eu-central-1" },
|  },
|  build: {
|    // Lambda has these clients
|    external: ["@aws-sdk/client-secrets-manager", "@aws-sdk/client-ssm"],
|    // maximum bundle size in bytes, checked by trellis build --check
|    budgets: { "*": 450_000, AuthByProxy: 1_000_000, Health: 200_000 },
|  },
|});
`);
}

/** The database and session files of a new project. */
export const DATABASE_FILES: Readonly<Record<string, string>> = {
  ".env.example": withoutMargin(
    `|# Copy to .env to override settings. trellis dev generates missing secrets. Never commit .env.
|
|# Secret that signs sessions: at least 32 random characters.
|AUTH_SECRET=
|# Public URL of the routes in auth/.
|AUTH_BASE_URL=http://localhost:8787/auth
|# Deployed only: host name of the cluster and database role of the function.
|DATABASE_ENDPOINT=
|DATABASE_USERNAME=
`,
  ),
  "src/schema.ts": withoutMargin(
    `|import { index, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
|
|export { authAccounts, authSessions, authUsers, authVerification } from "@trellis/fn/auth/schema";
|
|export const notes = pgTable("notes", {
|  id: uuid("id").primaryKey().defaultRandom(),
|  userId: uuid("user_id").notNull(),
|  title: text("title").notNull(),
|  body: text("body").notNull(),
|  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
|}, (table) => [index("notes_user_id_created_at_idx").on(table.userId, table.createdAt)]);
`,
  ),
  "migrations/0002_notes.sql": withoutMargin(`|CREATE TABLE "notes" (
|  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
|  "user_id" uuid NOT NULL,
|  "title" text NOT NULL,
|  "body" text NOT NULL,
|  "created_at" timestamp with time zone DEFAULT now() NOT NULL
|);
|--> statement-breakpoint
|CREATE INDEX "notes_user_id_created_at_idx" ON "notes" ("user_id","created_at");
`),
  "src/database.ts": withoutMargin(
    `|import { createQueryFactory, type DatabaseConfig, getDrizzleClient } from "@trellis/fn/database";
|import { getOptionalEnv } from "@trellis/fn/env";
|import * as schema from "./schema.ts";
|
|const endpoint = getOptionalEnv("DATABASE_ENDPOINT");
|
|/** Aurora DSQL if an endpoint is set, else an embedded PostgreSQL in a folder or in memory. */
|export const databaseConfig = (endpoint === undefined
|  ? { provider: "embedded-pg", connectionString: getOptionalEnv("DATABASE_URL", ".trellis/pg"), schema }
|  : {
|    provider: "distsql",
|    endpoint,
|    region: getOptionalEnv("DATABASE_REGION"),
|    username: getOptionalEnv("DATABASE_USERNAME"),
|    ca: getOptionalEnv("DATABASE_CA"),
|    schema,
|  }) satisfies DatabaseConfig;
|
|export const getDb = () => getDrizzleClient(databaseConfig);
|
|export const { defineQuery } = createQueryFactory(getDb);
`,
  ),
  "src/auth.ts": withoutMargin(
    `|import { type AuthConfig, configureSessionAuth } from "@trellis/fn/auth";
|import { getOptionalEnv, getRequiredEnv, loadSources } from "@trellis/fn/env";
|import { getDb } from "./database.ts";
|
|// deployed: reads AUTH_SECRET from AWS Secrets Manager; locally .env or a generated value is used
|await loadSources();
|
|const baseURL = getOptionalEnv("AUTH_BASE_URL", "http://localhost:8787/auth");
|
|export const authConfig: AuthConfig = {
|  secret: getRequiredEnv("AUTH_SECRET"),
|  baseURL,
|  // localhost has no https
|  useSecureCookies: baseURL.startsWith("https://"),
|};
|
|configureSessionAuth(getDb, authConfig);
`,
  ),
  "src/queries/notes.ts": withoutMargin(`|import { DatabaseOperation } from "@trellis/fn/database";
|import { desc, eq, type InsertModel } from "@trellis/fn/database/orm";
|import { defineQuery } from "../database.ts";
|import { notes } from "../schema.ts";
|
|const { Select, Insert } = DatabaseOperation;
|
|type NewNote = Pick<InsertModel<typeof notes>, "userId" | "title" | "body">;
|
|// the declared tables become the grants of the functions that call the query
|export const listNotes = defineQuery(
|  { tables: [{ table: notes, operations: [Select] }] },
|  async function listNotes(db, userId: string, limit: number) {
|    return await db.select().from(notes).where(eq(notes.userId, userId)).orderBy(desc(notes.createdAt)).limit(limit);
|  },
|);
|
|export const createNote = defineQuery(
|  { tables: [{ table: notes, operations: [Select, Insert] }] },
|  async function createNote(db, note: NewNote) {
|    const [created] = await db.insert(notes).values(note).returning();
|    return created;
|  },
|);
`),
  "scripts/apply_permissions.ts": withoutMargin(
    `|import { applyPermissions, closeDrizzleClient } from "@trellis/fn/database";
|import { getRequiredEnv } from "@trellis/fn/env";
|import process from "node:process";
|
|// run at each deployment, after the migrations and before the new code
|const { applied, skipped, errors } = await applyPermissions({
|  permissionsFolder: "permissions",
|  database: { provider: "distsql", endpoint: getRequiredEnv("DATABASE_ENDPOINT"), isAdmin: true, instrument: false },
|});
|await closeDrizzleClient();
|console.log(applied + " applied, " + skipped + " skipped");
|for (const error of errors) console.error(error);
|if (errors.length > 0) process.exitCode = 1;
`,
  ),
};
