// The notes application of the whole-application benchmark: see notes/ for its sources, and run.ts.
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { AUTH_MIGRATION_SQL } from "@trellis/fn/auth";
import { RATE_LIMIT_MIGRATION_SQL } from "@trellis/fn/database";

const PROJECT = fileURLToPath(new URL("notes/", import.meta.url));
const CLI = fileURLToPath(new URL("../node_modules/@trellis/fn/cli/main.js", import.meta.url));
const HARNESS = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const pick = (...names) =>
  Object.fromEntries(names.map((name) => [name, HARNESS.dependencies[name]]));
const FUNCTIONS = {
  auth: "Auth",
  list: "NotesGet",
  get: "NotesByIdGet",
  create: "NotesPost",
  webhook: "WebhooksNotes",
};

export default {
  name: "trellis",
  dependencies: {
    "@trellis/fn": process.env.TRELLIS_TARBALL,
    ...pick("better-auth", "drizzle-orm", "postgres", "zod"),
  },
  routes: {
    signUp: "auth",
    signIn: "auth",
    list: "list",
    get: "get",
    create: "create",
    webhook: "webhook",
  },
  variables: { DATABASE_PROVIDER: "serverless-pg" },
  authTables: { user: "users", session: "sessions" },
  build({ out }) {
    execFileSync(process.execPath, [CLI, "build", "--project", PROJECT], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    return Object.fromEntries(
      Object.entries(FUNCTIONS).map(([name, built]) => {
        cpSync(`${PROJECT}dist/${built}`, `${out}/${name}`, { recursive: true });
        return [name, `${out}/${name}/index.mjs`];
      }),
    );
  },
  async migrate(url, applicationSql) {
    const client = postgres(url, { max: 1, onnotice() {} });
    try {
      await client.unsafe(AUTH_MIGRATION_SQL);
      await client.unsafe(RATE_LIMIT_MIGRATION_SQL);
      await client.unsafe(applicationSql);
    } finally {
      await client.end();
    }
  },
};
