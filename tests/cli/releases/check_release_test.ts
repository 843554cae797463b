import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { basename, join } from "node:path";
import { build } from "../../../cli/commands/build.ts";
import { checkCompat } from "../../../cli/commands/check_compat.ts";
import { generatePermissions } from "../../../cli/commands/generate_permissions.ts";
import { createManifest } from "../../../cli/releases/release_manifest.ts";
import { checkStatements } from "../../../cli/build/check_statements.ts";
import { findFunctionFiles } from "../../../cli/discovery/function_files.ts";
import { checkRelease } from "../../../cli/releases/check_release.ts";
import type { ReleaseManifest } from "../../../cli/releases/release_manifest.ts";
import { openReleaseRecord } from "../../../cli/releases/release_record.ts";
import { AUTH_MIGRATION_SQL } from "../../../auth/tables/migration.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../../database/rate_limits/migration.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { IDEMPOTENCY_MIGRATION_SQL } from "../../../idempotency/migration.ts";
import { CHANGES_MIGRATION_SQL } from "../../../jobs/changes/migration.ts";
import { JOBS_MIGRATION_SQL } from "../../../jobs/migration.ts";
import { SUBSCRIPTION_MIGRATION_SQL } from "../../../realtime/migration.ts";
import { WORKFLOWS_MIGRATION_SQL } from "../../../workflows/migration.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { denoProjectFiles } from "../build/project.ts";
import { runInProcess } from "../fixtures/run.ts";

const BASE = `CREATE TABLE notes (id int PRIMARY KEY, title text NOT NULL, n int);
CREATE TABLE users (id int PRIMARY KEY, name text);
CREATE TYPE mood AS ENUM ('a'); CREATE TABLE moods (m mood);`;

const RELEASE: ReleaseManifest = {
  version: 1,
  migrations: ["0001_base"],
  functions: [{
    name: "Notes",
    role: "fn_notes",
    grants: [
      'GRANT SELECT, INSERT, UPDATE ON "notes" TO "fn_notes"',
      'GRANT SELECT ("id", "name") ON "users" TO "fn_notes"',
      'GRANT SELECT ON "moods" TO "fn_notes"',
    ],
    statements: [
      { name: "find", place: "q.ts:1", sql: 'SELECT "id", "title" FROM "notes" WHERE "n" = $1' },
      { name: "add", place: "q.ts:2", sql: 'INSERT INTO "notes" ("id", "title") VALUES ($1, $2)' },
      { name: "set", place: "q.ts:3", sql: 'UPDATE "notes" SET "title" = $1 WHERE "id" = $2' },
      { name: "gone", place: "q.ts:4", sql: "SELECT 1 FROM elsewhere" },
    ],
    unchecked: ["list (q.ts:5): no test has run it"],
  }],
};

/** Checks the release against pending files; returns what breaks as `<file>:<line> <statement>: <reason>`. */
async function breaksOf(...files: string[]): Promise<string[]> {
  const named = Object.fromEntries(files.map((sql, at) => [`m/000${at + 2}_next.sql`, sql]));
  return await withTempFolder({ "m/0001_base.sql": BASE, ...named }, async (root) => {
    const { breaks, pending } = await checkRelease(RELEASE, join(root, "m"));
    assertEquals(pending.length, files.length);
    return breaks.map(({ file, line, statement, reason }) =>
      `${file.slice(0, 4)}:${line} ${statement}: ${reason}`
    );
  });
}

const cases: [files: string[], breaks: string[]][] = [
  [["ALTER TABLE notes ADD COLUMN body text, ADD COLUMN m int NOT NULL DEFAULT 1"], []],
  // expand and contract in two files: only the contraction breaks
  [
    [
      "ALTER TABLE notes ADD COLUMN name text; UPDATE notes SET name = title",
      "ALTER TABLE notes ALTER title DROP NOT NULL;\nALTER TABLE notes DROP COLUMN title",
    ],
    [
      '0003:2 find: column "title" does not exist',
      '0003:2 add: column "title" of relation "notes" does not exist',
      '0003:2 set: column "title" of relation "notes" does not exist',
    ],
  ],
  // the release sees nothing of a transaction before its end
  [[
    "BEGIN; ALTER TABLE moods RENAME TO old; CREATE VIEW moods AS SELECT * FROM old; " +
    "GRANT SELECT ON moods TO fn_notes; COMMIT",
  ], []],
  // a table that gets another name, with a view in its place
  [[
    "BEGIN; ALTER TABLE notes RENAME TO entries; CREATE VIEW notes WITH (security_invoker = true) AS " +
    "SELECT * FROM entries; GRANT SELECT, INSERT, UPDATE ON notes TO fn_notes; COMMIT",
  ], []],
  [
    [
      "BEGIN; ALTER TABLE notes RENAME TO entries; CREATE VIEW notes WITH (security_invoker = true) AS " +
      "SELECT * FROM entries; COMMIT",
    ],
    ["find", "add", "set", 'the grant of "notes"'].map((name) =>
      `0002:1 ${name}: permission denied for view notes`
    ),
  ],
  [["DROP TABLE moods;\nCREATE TABLE moods (m mood)"], [
    '0002:1 the grant of "moods": permission denied for table moods',
  ]],
  [["ALTER TABLE notes ALTER n TYPE text"], [
    "0002:1 find: its parameter $1 is text instead of integer",
  ]],
  [["ALTER TABLE users ALTER name TYPE varchar; ALTER TABLE notes ALTER n TYPE bigint"], []],
  [["ALTER TABLE notes ALTER id TYPE bigint"], [
    "0002:1 find: it gives id bigint instead of id integer",
  ]],
  [["SELECT 1;\nALTER TABLE notes ADD COLUMN kind text NOT NULL"], [
    "0002:2 add: it gives no kind, which is required",
  ]],
  [["ALTER TABLE users RENAME name TO full_name"], [
    '0002:1 the grant of "users": column "name" does not exist',
  ]],
  // the statements of a split file are seen one by one
  [
    ["ALTER TABLE users RENAME name TO x; CREATE INDEX i ON notes (n); ALTER TABLE users RENAME x TO name"],
    [
      '0002:1 the grant of "users": column "name" does not exist',
    ],
  ],
  [["ALTER TABLE users RENAME name TO x; ALTER TABLE users RENAME x TO name"], []],
  // PostgreSQL prepares a statement that gets no rows any more
  [
    ["CREATE POLICY own ON moods USING (m = 'a');\nALTER TABLE moods ENABLE ROW LEVEL SECURITY"],
    [
      '0002:2 the grant of "moods": row security of moods hides rows from its role, and refuses rows that no policy allows',
    ],
  ],
  [["CREATE TABLE others (id int); ALTER TABLE others ENABLE ROW LEVEL SECURITY"], []],
];

Deno.test("checkRelease() names each statement that a pending migration breaks, at its line", async () => {
  for (const [files, breaks] of cases) assertEquals(await breaksOf(...files), breaks, files.join());
});

Deno.test("checkRelease() lists what it cannot check, and refuses what it cannot replay", async () => {
  await withTempFolder({ "m/0001_base.sql": BASE }, async (root) => {
    const { unchecked, checked } = await checkRelease(RELEASE, join(root, "m"));
    assertEquals(checked, 6);
    const reasons = [
      "list (q.ts:5): no test has run it",
      'gone (q.ts:4): relation "elsewhere" does not exist',
    ];
    assertEquals(unchecked, reasons);
    // a query of many functions is named once
    const [notes] = RELEASE.functions;
    assertEquals(
      (await checkRelease({ ...RELEASE, functions: [notes, notes] }, join(root, "m"))).unchecked,
      reasons,
    );
    await Deno.writeTextFile(join(root, "m/0002_bad.sql"), "CREATE EXTENSION postgis");
    await assertRejects(
      () => checkRelease(RELEASE, join(root, "m")),
      ConfigurationError,
      "0002_bad.sql:1 does not run on the embedded database",
    );
    await assertRejects(
      () => checkRelease({ ...RELEASE, migrations: ["0000_lost"] }, join(root, "m")),
      ConfigurationError,
      "built with 0000_lost.sql, which the folder does not contain",
    );
  });
});

Deno.test("trellis build writes the manifest that check compat reads, from a file or the record of a stage", async () => {
  const files = {
    ...await denoProjectFiles(),
    "trellis.config.ts": 'export default { infra: { projectName: "my-notes" } };',
    "migrations/0001_base.sql": BASE,
    "permissions/Notes.sql":
      'CREATE ROLE "fn_notes" WITH LOGIN;\n\n-- find\nGRANT SELECT ON "notes" TO "fn_notes";\n',
    "src/database.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
const { defineStatement } = createQueryFactory(() => getDrizzleClient({ provider: "embedded-pg" }));
export const find = defineStatement(
  "find",
  (db, p) => db.execute(sql\`SELECT title FROM notes WHERE id = \${p.id}\`),
);`,
    "src/functions/api/notes.get.ts": `import { defineApiHandler } from "@trellis/fn/validation";
import { find } from "../../database.ts";
export const handler = defineApiHandler({})(async () => ({
  statusCode: 200,
  body: JSON.stringify(await find({ id: 1 })),
}));
`,
  };
  await withTempFolder(files, async (root) => {
    const run = (...args: string[]) =>
      runInProcess([...args, "--project", root], { commands: [build, checkCompat], cwd: root });
    const built = await run("build");
    assertEquals(built.exitCode, 0, built.stdout + built.stderr);
    const manifest = JSON.parse(await Deno.readTextFile(join(root, "dist/release.json")));
    assertEquals(manifest, {
      version: 1,
      migrations: ["0001_base"],
      functions: [{
        name: "Notes",
        role: "fn_notes",
        grants: ['GRANT SELECT ON "notes" TO "fn_notes"'],
        statements: [{
          name: "find",
          place: "src/database.ts:4",
          sql: "SELECT title FROM notes WHERE id = $1",
        }],
        unchecked: [],
      }],
    });
    const current = await run("check", "compat", "--against", "dist/release.json");
    assertEquals(current.exitCode, 0);
    assertStringIncludes(current.stdout, "none breaks, 0 unchecked");
    const [notes] = manifest.functions;
    await Deno.writeTextFile(
      join(root, "dist/without_role.json"),
      JSON.stringify({ ...manifest, functions: [{ ...notes, role: null, grants: [] }] }),
    );
    const withoutRole = await run("check", "compat", "--against", "dist/without_role.json");
    assertEquals(withoutRole.exitCode, 0);
    assertStringIncludes(
      withoutRole.stderr + withoutRole.stdout,
      "unchecked the grants of Notes: it has no permission file",
    );
    await Deno.writeTextFile(
      join(root, "migrations/0002_name.sql"),
      "ALTER TABLE notes RENAME title TO name;",
    );
    const missing = await run("check", "compat", "--against", "prod");
    assertEquals(missing.exitCode, 3);
    assertStringIncludes(missing.stderr, "No release of prod is recorded");
    const stage = { name: "prod", backend: { path: "states/prod.tfstate" } };
    await openReleaseRecord(undefined, join(root, "infra"), stage).write({
      running: [manifest],
      previous: null,
    });
    const found = await run("check", "compat", "--against", "prod");
    assertEquals(found.exitCode, 1, found.stderr);
    assertStringIncludes(
      found.stdout,
      "0002_name.sql:1: ALTER TABLE notes RENAME title TO name\n" +
        '    breaks find (src/database.ts:4) of Notes: column "title" does not exist\n    Expand:',
    );
  });
});

const OWN_TABLES = [
  AUTH_MIGRATION_SQL,
  RATE_LIMIT_MIGRATION_SQL,
  JOBS_MIGRATION_SQL,
  IDEMPOTENCY_MIGRATION_SQL,
  CHANGES_MIGRATION_SQL,
  WORKFLOWS_MIGRATION_SQL,
  SUBSCRIPTION_MIGRATION_SQL,
  `CREATE TABLE apikeys (id text PRIMARY KEY, config_id text, name text, reference_id text, key text,
    refill_interval int, refill_amount int, last_refill_at timestamptz, enabled boolean, rate_limit_enabled boolean,
    rate_limit_time_window int, rate_limit_max int, request_count int, remaining int, last_request timestamptz,
    expires_at timestamptz, created_at timestamptz, updated_at timestamptz, permissions text, metadata text)`,
].join(";\n").replaceAll("--> statement-breakpoint", "");

/** Functions that together use each part of the package with statements of its own. */
const OWN_PARTS = {
  "src/shared.ts": `import { defineAuth } from "@trellis/fn/auth";
import { AUTH_SCHEMA_MAPPING } from "@trellis/fn/auth/schema";
import { configureRateLimits, getDrizzleClient } from "@trellis/fn/database";
import { defineJob } from "@trellis/fn/jobs";
import { defineWorkflow } from "@trellis/fn/workflows";
import { boolean, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import * as z from "zod";
export const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
const at = (name: string) => timestamp(name, { withTimezone: true });
const apikey = pgTable("apikeys", {
  id: text("id").primaryKey(), configId: text("config_id"), name: text("name"), referenceId: text("reference_id"),
  key: text("key"), refillInterval: integer("refill_interval"), refillAmount: integer("refill_amount"),
  lastRefillAt: at("last_refill_at"), enabled: boolean("enabled"), rateLimitEnabled: boolean("rate_limit_enabled"),
  rateLimitTimeWindow: integer("rate_limit_time_window"), rateLimitMax: integer("rate_limit_max"),
  requestCount: integer("request_count"), remaining: integer("remaining"), lastRequest: at("last_request"),
  expiresAt: at("expires_at"), createdAt: at("created_at"), updatedAt: at("updated_at"),
  permissions: text("permissions"), metadata: text("metadata"),
});
export const auth = defineAuth(getDb, {
  secret: "at-least-32-random-characters-0123456789",
  baseURL: "https://api.example.com",
  schema: { ...AUTH_SCHEMA_MAPPING, apikey },
});
configureRateLimits(getDb);
export const indexNote = defineJob({
  name: "index-note", schema: z.number(), unique: { replace: true },
  limit: { concurrency: 1, rate: { count: 1, periodSeconds: 1 } },
})(() => {});
export const onboard = defineWorkflow({ name: "onboard", input: z.number() })(() => {});
`,
  "src/functions/api/notes.post.ts":
    `import { createTransactionStore } from "@trellis/fn/idempotency";
import { createConnectionTickets } from "@trellis/fn/realtime";
import { defineApiHandler } from "@trellis/fn/validation";
import { auth, getDb, indexNote, onboard } from "../../shared.ts";
export const store = createTransactionStore(getDb);
const tickets = createConnectionTickets(getDb);
const rateLimit = { limit: 1, windowSeconds: 1, by: "user" } as const;
export const handler = defineApiHandler({ auth: auth.session(), rateLimit })(async ({ session }) => {
  const db = await getDb();
  await indexNote.enqueue(db, 1, { key: "1" });
  await onboard.start(db, 1);
  return { statusCode: 200, body: await tickets.createConnectionTicket(session) };
});
`,
  "src/functions/api/keys.get.ts":
    `import { getWorkflow, listWorkflows, retryWorkflow, signalWorkflow } from "@trellis/fn/workflows";
import { countJobs, resumeJobs, retryJobs } from "@trellis/fn/jobs";
import { removeExpiredRecords } from "@trellis/fn/idempotency";
import { defineApiHandler } from "@trellis/fn/validation";
import { auth, getDb } from "../../shared.ts";
export const handler = defineApiHandler({ auth: auth.apiKey() })(async () => {
  const db = await getDb();
  await Promise.all([getWorkflow(db, "1"), listWorkflows(db), retryWorkflow(db, "1"), signalWorkflow(db, "1", "s")]);
  await Promise.all([countJobs(db), resumeJobs(db, "j"), retryJobs(db, ["1"]), removeExpiredRecords(getDb)]);
  return { statusCode: 204, body: "" };
});
`,
  "src/functions/schedule/jobs.ts": `import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb, indexNote, onboard } from "../../shared.ts";
export const handler = defineJobRelayHandler({ getDb, jobs: [indexNote, onboard.job] });
`,
  "src/functions/stream/changes.ts": `import { defineChangeStreamHandler } from "@trellis/fn/jobs";
import { integer, pgTable } from "drizzle-orm/pg-core";
import { getDb } from "../../shared.ts";
const notes = pgTable("notes", { id: integer("id").primaryKey() });
export const handler = defineChangeStreamHandler({ name: "print", table: notes, getDb })(() => {});
`,
  "src/functions/websocket/$connect.ts":
    `import { createConnectionStore } from "@trellis/fn/realtime";
import { defineWebSocketHandler } from "@trellis/fn/triggers";
import { getDb } from "../../shared.ts";
const connections = createConnectionStore(getDb);
export const handler = defineWebSocketHandler()(({ connectionId }) => connections.subscribe(connectionId, "all"));
`,
};

/** Breaks each part in one transaction, whose lines are found by the tables. */
const OWN_BREAKS = `BEGIN;
ALTER TABLE sessions DROP COLUMN expires_at;
ALTER TABLE apikeys DROP COLUMN remaining;
ALTER TABLE rate_limits RENAME count TO requests;
ALTER TABLE trellis_jobs DROP COLUMN due_at;
ALTER TABLE idempotency_records DROP COLUMN fence;
ALTER TABLE trellis_change_positions DROP COLUMN commit_ns;
ALTER TABLE trellis_workflows DROP COLUMN mode;
ALTER TABLE websocket_subscriptions DROP COLUMN expires_at;
COMMIT`;

Deno.test("checkRelease() names each part of the package whose own statements a migration breaks", async () => {
  const files = {
    ...await denoProjectFiles(),
    ...OWN_PARTS,
    "migrations/0001_base.sql": OWN_TABLES,
    "migrations/0002_key.sql": "ALTER TABLE trellis_jobs DROP CONSTRAINT trellis_jobs_pkey",
    "migrations/0003_columns.sql": OWN_BREAKS,
  };
  await withTempFolder(files, async (root) => {
    const generated = await runInProcess(["generate", "permissions", "--project", root], {
      commands: [generatePermissions],
    });
    assertEquals(generated.exitCode, 0, generated.stderr);
    const functions = findFunctionFiles(join(root, "src/functions"));
    const statements = await checkStatements({ root: await Deno.realPath(root), functions });
    const release = createManifest(["0001_base"], statements.functions, join(root, "permissions"));
    const { breaks, unchecked } = await checkRelease(release, join(root, "migrations"));
    // each statement is valid with the tables of the package and the grants of its function
    assertEquals(unchecked, []);
    const named = breaks.filter(({ statement }) => !statement.startsWith("the grant of "));
    assertEquals(
      named.map(({ file, line, function: fn, statement }) =>
        `${basename(file)}:${line} ${fn} ${statement.replace("src/functions/", "")}`
      ),
      [
        "0002_key.sql:1 Jobs jobs: defineJobRelayHandler (schedule/jobs.ts)",
        "0002_key.sql:1 Notes jobs: enqueue of a job (src/shared.ts)",
        "0003_columns.sql:7 Changes change streams: defineChangeStreamHandler (stream/changes.ts)",
        "0003_columns.sql:9 Connect sockets: createConnectionStore (websocket/$connect.ts)",
        "0003_columns.sql:5 Jobs jobs: defineJobRelayHandler (schedule/jobs.ts)",
        "0003_columns.sql:5 Jobs jobs: job of a workflow (src/shared.ts)",
        "0003_columns.sql:8 Jobs workflows: job of a workflow (src/shared.ts)",
        "0003_columns.sql:5 Keys jobs: retryWorkflow (api/keys.get.ts)",
        "0003_columns.sql:5 Keys jobs: countJobs (api/keys.get.ts)",
        "0003_columns.sql:5 Keys jobs: retryJobs (api/keys.get.ts)",
        "0003_columns.sql:8 Keys workflows: getWorkflow (api/keys.get.ts)",
        "0003_columns.sql:8 Keys workflows: listWorkflows (api/keys.get.ts)",
        "0003_columns.sql:8 Keys workflows: retryWorkflow (api/keys.get.ts)",
        "0003_columns.sql:3 Keys API keys: auth: api-key (api/keys.get.ts)",
        "0003_columns.sql:5 Notes jobs: start of a workflow (src/shared.ts)",
        "0003_columns.sql:6 Notes idempotency: createTransactionStore (api/notes.post.ts)",
        "0003_columns.sql:9 Notes sockets: createConnectionTickets (api/notes.post.ts)",
        "0003_columns.sql:2 Notes sessions: auth: session (api/notes.post.ts)",
        "0003_columns.sql:4 Notes limits: configureRateLimits (src/shared.ts)",
      ],
    );
  });
});
