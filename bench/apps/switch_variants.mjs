/**
 * The variants of the notes application that switches.mjs compares: replacements in the sources, by file,
 * added files, and a text that answers must contain. The first variant of a kind of request is the one
 * that the others are compared with.
 */
const GET = "src/functions/api/notes/index.get.ts";
const POST = "src/functions/api/notes/index.post.ts";
const SCHEMAS = "src/note_schemas.ts";
const QUERIES = "src/queries/notes.ts";
const AUTH = "src/auth.ts";

/** Puts text before a text of a file. */
const before = (text, added) => [text, `${added}${text}`];

/** Adds options to the configuration of the accounts. */
const withOptions = (options, imports = "") => ({
  [AUTH]: [
    before("import { getDb }", imports),
    before("  baseURL:", `  ${options}\n`),
  ],
});

const JOB = `import { defineJob } from "@trellis/fn/jobs";
import * as z from "zod";
const schema = z.object({ noteId: z.string() });
export const indexNote = defineJob({ name: "index-note", schema })(async function indexNote() {});`;

const MAILS = `import { createAccountMails } from "@trellis/fn/auth";
import { configureMail } from "@trellis/fn/mail";
import { getDb } from "./database.ts";
configureMail({ transport: { send: () => Promise.resolve() }, from: "notes@example.com" });
export const mails = createAccountMails({ getDb, appName: "Notes" });`;

const EVENTS = `import { pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
export const authEvent = pgTable("auth_events", {
  id: uuid("id").primaryKey().defaultRandom(),
  kind: text("kind").notNull(),
  userId: text("user_id"),
  actorId: text("actor_id"),
  address: text("address"),
  userAgent: text("user_agent"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
});`;

/** Table of the audit log. */
export const EVENTS_SQL = `create table auth_events (id uuid primary key default gen_random_uuid(),
  kind text not null, user_id text, actor_id text, address text, user_agent text,
  created_at timestamptz not null)`;

const ORGANIZATIONS = `import { AUTH_SESSION_COLUMNS } from "@trellis/fn/auth/schema";
import { pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
const createdAt = timestamp("created_at", { withTimezone: true }).notNull();
export const sessions = pgTable("sessions", {
  ...AUTH_SESSION_COLUMNS,
  activeOrganizationId: uuid("active_organization_id"),
});
export const organization = pgTable("organizations", {
  id: uuid("id").primaryKey(),
  name: text("name").notNull(),
  slug: text("slug").notNull(),
  createdAt,
});
export const member = pgTable("members", {
  id: uuid("id").primaryKey(),
  organizationId: uuid("organization_id").notNull(),
  userId: uuid("user_id").notNull(),
  role: text("role").notNull(),
  createdAt,
});`;

/** Tables of organizations, and the column of sessions. */
export const ORGANIZATIONS_SQL =
  `create table organizations (id uuid primary key, name text not null,
  slug text not null, created_at timestamptz not null default now());
create table members (id uuid primary key default gen_random_uuid(), organization_id uuid not null,
  user_id uuid not null, role text not null, created_at timestamptz not null default now());
create index members_user_id_idx on members (user_id);
alter table sessions add active_organization_id uuid`;

const KEYS = `import { boolean, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
const instant = (name: string) => timestamp(name, { withTimezone: true });
export const apikey = pgTable("api_keys", {
  id: text("id").primaryKey(),
  configId: text("config_id").notNull(),
  name: text("name"),
  start: text("start"),
  referenceId: text("reference_id").notNull(),
  prefix: text("prefix"),
  key: text("key").notNull(),
  refillInterval: integer("refill_interval"),
  refillAmount: integer("refill_amount"),
  lastRefillAt: instant("last_refill_at"),
  enabled: boolean("enabled"),
  rateLimitEnabled: boolean("rate_limit_enabled"),
  rateLimitTimeWindow: integer("rate_limit_time_window"),
  rateLimitMax: integer("rate_limit_max"),
  requestCount: integer("request_count"),
  remaining: integer("remaining"),
  lastRequest: instant("last_request"),
  expiresAt: instant("expires_at"),
  createdAt: instant("created_at").notNull(),
  updatedAt: instant("updated_at").notNull(),
  permissions: text("permissions"),
  metadata: text("metadata"),
});`;

/** Table of API keys. */
export const KEYS_SQL =
  `create table api_keys (id text primary key, config_id text not null, name text,
  start text, reference_id text not null, prefix text, key text not null, refill_interval integer,
  refill_amount integer, last_refill_at timestamptz, enabled boolean, rate_limit_enabled boolean,
  rate_limit_time_window integer, rate_limit_max integer, request_count integer, remaining integer,
  last_request timestamptz, expires_at timestamptz, created_at timestamptz not null,
  updated_at timestamptz not null, permissions text, metadata text);
create index api_keys_key_idx on api_keys (key)`;

const NO_LIMITS = withOptions("rateLimit: { enabled: false },");
const AUDIT = {
  changes: withOptions(
    "audit: true,\n  schema: { user: authUsers, authEvent },",
    'import { authUsers } from "@trellis/fn/auth/schema";\nimport { authEvent } from "./auth_event.ts";\n',
  ),
  added: { "src/auth_event.ts": EVENTS },
};

const list = { kind: "list", built: "NotesGet" };
const note = { kind: "create", built: "NotesPost" };
const signIn = { kind: "signIn", built: "Auth" };
const signUp = { kind: "signUp", built: "Auth" };

export const VARIANTS = [
  { ...list, name: "`GET /notes`", changes: {}, answer: `"title":"A ` },
  {
    ...list,
    name: 'the same with `session({ organization: { role: "owner" } })`',
    changes: {
      ...withOptions(
        "schema: { session: sessions, organization, member },",
        'import { member, organization, sessions } from "./organizations.ts";\n',
      ),
      [GET]: [
        ["session()", 'session({ organization: { role: "owner" } })'],
        before("userId })", "organization, "),
        before("notes, next });", "role: organization.role, "),
      ],
      [SCHEMAS]: [before("next: z.", "role: z.string(), ")],
    },
    answer: '"role":"owner"',
    added: { "src/organizations.ts": ORGANIZATIONS },
  },
  {
    ...list,
    name: "the same with `apiKey()`",
    changes: {
      [AUTH]: [
        before(
          "import { getDb }",
          'import { authUsers } from "@trellis/fn/auth/schema";\nimport { apikey } from "./api_keys.ts";\n',
        ),
        before("  baseURL:", "  schema: { user: authUsers, apikey },\n"),
        ["{ session,", "{ apiKey, session,"],
      ],
      [GET]: [
        ["session()", "apiKey()"],
        ["import { session }", "import { apiKey }"],
        before("userId })", "apiKey, "),
        before("notes, next });", "key: apiKey.name, "),
      ],
      [SCHEMAS]: [before("next: z.", "key: z.string(), ")],
    },
    answer: '"key":"bench"',
    added: { "src/api_keys.ts": KEYS },
  },
  { ...note, name: "`POST /notes`", changes: {} },
  {
    ...note,
    name: "the same, enqueues a job",
    changes: {
      [QUERIES]: [
        before("import { defineQuery", 'import { indexNote } from "../jobs.ts";\n'),
        before("    return created;", "    await indexNote.enqueue(tx, { noteId: created.id });\n"),
      ],
    },
    added: { "src/jobs.ts": JOB },
  },
  {
    ...note,
    name: "the same with `idempotency` and a transaction store",
    changes: {
      [QUERIES]: [["    transaction: true,\n", ""]],
      [POST]: [
        before(
          "import { createNote }",
          'import { createTransactionStore } from "@trellis/fn/idempotency";\nimport { getDb } from "../../../database.ts";\n',
        ),
        [
          "schema: NoteInput,",
          "schema: NoteInput,\n  idempotency: { store: createTransactionStore(getDb) },",
        ],
        ["body, userId }", "body, userId, tx }"],
        ["createNote({", "createNote.on(tx, {"],
      ],
    },
  },
  {
    ...note,
    name: "the same with `rateLimit` by user",
    changes: {
      [POST]: [
        before(
          "import { createNote }",
          'import { configureRateLimits } from "@trellis/fn/database";\nimport { getDb } from "../../../database.ts";\n',
        ),
        before("export const handler", "configureRateLimits(getDb);\n"),
        [
          "schema: NoteInput,",
          'schema: NoteInput,\n  rateLimit: { limit: 1_000_000, windowSeconds: 60, by: "user" },',
        ],
      ],
    },
  },
  { ...signIn, name: "sign-in", changes: {} },
  { ...signIn, name: "the same with `rateLimit: { enabled: false }`", changes: NO_LIMITS },
  { ...signIn, name: "the same with `audit`", ...AUDIT },
  { ...signUp, name: "sign-up", changes: {} },
  { ...signUp, name: "the same with `rateLimit: { enabled: false }`", changes: NO_LIMITS },
  { ...signUp, name: "the same with `audit`", ...AUDIT },
  {
    ...signUp,
    name: "the same with a mail that verifies the address",
    changes: withOptions(
      'mail: async () => (await import("./mails.ts")).mails,\n  emailVerification: { sendOnSignUp: true },',
    ),
    added: { "src/mails.ts": MAILS },
  },
];
