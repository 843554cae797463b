import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { AUTH_MIGRATION_SQL } from "../../../auth/mod.ts";
import { runInProcess } from "../fixtures/run.ts";
import { pg, runAll } from "../database/clone_support.ts";
import { startPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";

const SOURCE = [
  ...AUTH_MIGRATION_SQL.split("--> statement-breakpoint"),
  `INSERT INTO users (name, email, email_verified) SELECT 'n' || n, 'u' || n || '@real.example', true FROM generate_series(1, 3) n`,
  `INSERT INTO sessions (user_id, token, expires_at) SELECT id, 'LIVE-' || id, now() + interval '1 day' FROM users`,
  `INSERT INTO verification (identifier, value, expires_at) VALUES ('reset', 'LIVE-code', now() + interval '1 day')`,
  `INSERT INTO accounts (user_id, account_id, provider_id, password, access_token)
     SELECT id, id::text, 'credential', 'LIVE-hash', 'LIVE-token' FROM users`,
  `CREATE TABLE trainings (id int PRIMARY KEY, note text, phone varchar(8))`,
  `INSERT INTO trainings VALUES (1, 'LIVE-note', '12345678'), (2, NULL, '12345678')`,
];

const CONFIG = `export default { database: { cloneMasks: {
  "users.email": "email", "trainings.note": { text: "x" }, "public.trainings.phone": "hash" } } };`;

async function withSource(test: (url: string, root: string) => Promise<void>): Promise<void> {
  const server = await startPostgres();
  const root = await Deno.makeTempDir();
  try {
    const url = await server.createDatabase("source");
    await runAll(pg(url), SOURCE);
    await Deno.writeTextFile(join(root, "trellis.config.ts"), CONFIG);
    await withEnv({ PROD: url }, () => test(url, root));
  } finally {
    await Deno.remove(root, { recursive: true });
    await server.stop();
  }
}

const clone = (root: string, ...args: string[]) =>
  runInProcess(["db", "clone", "--project", root, "--from-url-env", "PROD", ...args]);

async function listModes(
  path: string,
  modes: [path: string, mode: number][] = [],
): Promise<[string, number][]> {
  modes.push([path, (await Deno.lstat(path)).mode! & 0o777]);
  if (!(await Deno.lstat(path)).isDirectory) return modes;
  for await (const { name } of Deno.readDir(path)) await listModes(join(path, name), modes);
  return modes;
}

const unsanitized = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "trellis db clone leaves credentials out, masks columns and closes its files",
  unsanitized,
  async () => {
    await withSource(async (_url, root) => {
      const result = await clone(root, "--to-folder", "copy");
      assertEquals(result.exitCode, 0, result.stderr);
      for (
        const line of [
          "public.sessions: its rows are skipped",
          "public.verification: its rows are skipped",
          "public.accounts: masked access_token (null), refresh_token (null), id_token (null), password (null)",
          "public.users: masked email (email)",
          "public.trainings: masked note (a fixed text), phone (hash)",
        ]
      ) assertStringIncludes(result.stderr, line);
      for (const [path, mode] of await listModes(join(root, "copy"))) {
        assertEquals(mode & 0o077, 0, path);
      }
      const copy = { provider: "embedded-pg", connectionString: join(root, "copy") } as const;
      const rows = await runAll(copy, [
        `SELECT (SELECT string_agg(to_jsonb(u)::text, '') FROM users u) || (SELECT string_agg(to_jsonb(a)::text, '') FROM accounts a)
         || (SELECT string_agg(to_jsonb(t)::text, '') FROM trainings t) AS text,
         (SELECT count(*) FROM sessions)::int + (SELECT count(*) FROM verification)::int AS open,
         (SELECT count(DISTINCT email)::int FROM users WHERE email LIKE '%@example.com') AS emails,
         (SELECT count(DISTINCT phone)::int FROM trainings) AS phones,
         (SELECT count(*)::int FROM trainings WHERE note IS NULL) AS empty`,
      ]);
      const { text, ...counts } = rows[0];
      assertFalse(/LIVE|real\.example|12345678/.test(String(text)), String(text));
      assertEquals(counts, { open: 0, emails: 3, phones: 1, empty: 1 });
    });
  },
);

Deno.test(
  "trellis db clone copies credentials when asked, and closes a folder that was open",
  unsanitized,
  async () => {
    await withSource(async (_url, root) => {
      await Deno.mkdir(join(root, "open"), { mode: 0o755 });
      const result = await clone(root, "--to-folder", "open", "--with-credentials");
      assertEquals(result.exitCode, 0, result.stderr);
      const copy = { provider: "embedded-pg", connectionString: join(root, "open") } as const;
      const [row] = await runAll(copy, [
        "SELECT (SELECT count(*)::int FROM sessions) AS sessions, (SELECT count(password)::int FROM accounts) AS passwords",
      ]);
      assertEquals(row, { sessions: 3, passwords: 3 });
      assertEquals((await Deno.stat(join(root, "open"))).mode! & 0o777, 0o700);
    });
  },
);

const REFUSED: [masks: string, message: string][] = [
  [`{ "users.mail": "hash" }`, "the source has no column users.mail"],
  [`{ "users.id": "hash" }`, "id cannot be masked because it is part of a key"],
  [`{ "users.email": { text: "x" } }`, "email cannot be masked because its values are unique"],
  [`{ "users.name": "null" }`, "name cannot be masked because it is NOT NULL"],
  [`{ "users.created_at": "hash" }`, "created_at cannot be masked because its type is timestamp"],
];

Deno.test(
  "trellis db clone refuses masks that would not hold, before anything is written",
  unsanitized,
  async () => {
    await withSource(async (_url, root) => {
      for (const [masks, message] of REFUSED) {
        await Deno.writeTextFile(
          join(root, "trellis.config.ts"),
          `export default { database: { cloneMasks: ${masks} } };`,
        );
        const result = await clone(root, "--to-folder", "none");
        assertEquals(result.exitCode, 1);
        assertStringIncludes(result.stdout, message);
        assertStringIncludes(result.stdout, "Nothing was cloned");
      }
    });
  },
);

/** An address of a network for documentation (RFC 5737): nothing may be sent to it. */
const REMOTE = "postgres://app:s3cret@192.0.2.1:6432/shop?connect_timeout=1";

Deno.test(
  "trellis db clone asks before it works on a database of another machine",
  unsanitized,
  async () => {
    await withEnv({ REMOTE }, async () => {
      const args = [
        "db",
        "clone",
        "--project",
        Deno.makeTempDirSync(),
        "--from-url-env",
        "REMOTE",
        "--to-folder",
        "x",
      ];
      const unanswered = await runInProcess(args);
      assertEquals(unanswered.exitCode, 2);
      assertStringIncludes(
        unanswered.stderr,
        "Source: host 192.0.2.1:6432, database shop, role app",
      );
      assertStringIncludes(unanswered.stderr, "use --yes");
      const asked: string[] = [];
      const confirm = (question: string) => Promise.resolve((asked.push(question), false));
      const refused = await runInProcess(args, { confirm });
      assertEquals([refused.exitCode, asked.length], [3, 1]);
      assertStringIncludes(refused.stderr, "Cancelled: nothing was done");
      assertFalse((refused.stderr + unanswered.stderr + asked).includes("s3cret"));
      const json = await runInProcess([...args, "--json"], { confirm });
      assertEquals([json.exitCode, asked.length], [2, 1]);
      assert(json.stdout.includes("--yes"));
    });
  },
);
