/**
 * The variants of the notes application that switches.mjs compares: replacements in the sources, by file,
 * and added files. The first variant of a kind of request is the one that the others are compared with.
 */
const POST = "src/functions/api/notes/index.post.ts";
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

const NO_LIMITS = withOptions("rateLimit: { enabled: false },");
const AUDIT = {
  changes: withOptions(
    "audit: true,\n  schema: { user: authUsers, authEvent },",
    'import { authUsers } from "@trellis/fn/auth/schema";\nimport { authEvent } from "./auth_event.ts";\n',
  ),
  added: { "src/auth_event.ts": EVENTS },
};

const note = { kind: "create", built: "NotesPost" };
const signIn = { kind: "signIn", built: "Auth" };
const signUp = { kind: "signUp", built: "Auth" };

export const VARIANTS = [
  { ...note, name: "`POST /notes`", changes: {} },
  {
    ...note,
    name: "the same, enqueues a job",
    changes: {
      [QUERIES]: [
        before("import { definePreparedQuery", 'import { indexNote } from "../jobs.ts";\n'),
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
          "schema: NoteInput }",
          "schema: NoteInput, idempotency: { store: createTransactionStore(getDb) } }",
        ],
        ["context, body, userId }", "context, body, userId, tx }"],
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
          "schema: NoteInput }",
          'schema: NoteInput, rateLimit: { limit: 1_000_000, windowSeconds: 60, by: "user" } }',
        ],
      ],
    },
  },
  { ...signIn, name: "sign-in", changes: {} },
  { ...signIn, name: "the same without limits", changes: NO_LIMITS },
  { ...signIn, name: "the same with `audit`", ...AUDIT },
  { ...signUp, name: "sign-up", changes: {} },
  { ...signUp, name: "the same without limits", changes: NO_LIMITS },
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
