import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "node:path";
import { grant } from "../../../cli/deploy/database_steps.ts";
import { type Deployment, StepError } from "../../../cli/deploy/deployment.ts";
import { giveLogins, type LoginServer } from "../../../cli/deploy/function_logins.ts";
import { getSourceName, type PlannedSource } from "../../../cli/infra/sources.ts";
import { withSession } from "../../../database/providers/client.ts";
import { findSqlState } from "../../../errors/driver_error.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { SERVER_USER } from "../../support/postgres_files.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { withEnv } from "../../support/with_env.ts";

const FUNCTIONS = ["NotesGet", "NotesPost"];
const GRANTS: Readonly<Record<string, string>> = {
  "permissions/NotesGet.sql": `CREATE ROLE "fn_notes_get" WITH LOGIN;
GRANT SELECT ON "notes" TO "fn_notes_get";
GRANT SELECT ("id") ON "users" TO "fn_notes_get";`,
  "permissions/NotesPost.sql": `CREATE ROLE "fn_notes_post" WITH LOGIN;
GRANT INSERT ON "notes" TO "fn_notes_post";
GRANT USAGE ON SEQUENCE "notes_id_seq" TO "fn_notes_post";`,
};

/** A stage whose secrets are a map, and its server, which checks passwords of everyone but the owner. */
interface Lab {
  readonly postgres: TestPostgres;
  readonly root: string;
  readonly deployment: Deployment;
  /** Values of secrets by name. */
  readonly secrets: Map<string, string>;
  /** Names of the secrets that were put. */
  readonly puts: string[];
}

function createSource(variable: string, owner?: string): PlannedSource {
  const users = owner === undefined ? FUNCTIONS : [owner];
  return { variable, id: "x", users, owner, service: "secretsmanager", isSecret: true };
}

function createDeployment(root: string, secrets: Map<string, string>, puts: string[]): Deployment {
  const getName = (source: PlannedSource) => `notes-dev/${getSourceName(source)}`;
  return {
    context: { root, options: {} },
    prefix: "notes-dev",
    stage: { name: "dev" },
    plan: {
      config: {
        database: { migrationsDir: "migrations", urlEnv: "DATABASE_URL" },
        permissions: { dir: "permissions", rolePrefix: "fn_" },
      },
      sources: { functions: FUNCTIONS.map((name) => ({ name })) },
      secrets: [createSource("DATABASE_URL")],
      logins: FUNCTIONS.map((name) => createSource("DATABASE_URL", name)),
      sharedLogins: [],
    },
    terraform: { readOutputs: () => Promise.resolve({ account_id: "123456789012" }) },
    secrets: {
      getName,
      read: (source: PlannedSource) => Promise.resolve(secrets.get(getName(source))),
      put: (source: PlannedSource, value: string) => {
        puts.push(getName(source));
        secrets.set(getName(source), value);
        return Promise.resolve(true);
      },
    },
  } as unknown as Deployment;
}

/** Runs one statement with an address. Returns the SQLSTATE of its failure. */
async function run(connectionString: string, sql: string): Promise<string | undefined> {
  try {
    await withSession({ provider: "postgres", connectionString }, (session) => session.query(sql));
    return undefined;
  } catch (error) {
    return findSqlState(error) ?? String(error);
  }
}

async function withLab(use: (lab: Lab) => Promise<void>): Promise<void> {
  const files = {
    "hba.conf": "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
    ...GRANTS,
  };
  await withTempFolder(files, async (root) => {
    const rules = join(root, "hba.conf");
    await Deno.chmod(root, 0o755);
    if (SERVER_USER.uid !== undefined) await Deno.chown(rules, SERVER_USER.uid, SERVER_USER.gid!);
    const postgres = await startPostgres({ settings: [`hba_file=${rules}`] });
    const secrets = new Map([["notes-dev/DATABASE_URL", postgres.url]]);
    const puts: string[] = [];
    const deployment = createDeployment(root, secrets, puts);
    try {
      await run(postgres.url, "CREATE TABLE notes (id serial, title text)");
      await run(postgres.url, "CREATE TABLE users (id int, email text)");
      await withEnv(
        { DATABASE_URL: postgres.url, DATABASE_ENDPOINT: undefined },
        () => use({ postgres, root, deployment, secrets, puts }),
      );
    } finally {
      await postgres.stop();
    }
  });
}

const PROOF = "each has signed in with its privileges";

Deno.test("grant() gives each function a login that its grants bound, and rotates it", async () => {
  await withLab(async ({ postgres, deployment, secrets, puts }) => {
    const [get, post] = FUNCTIONS.map((name) => `notes-dev/DATABASE_URL/${name}`);
    assertEquals(
      await grant(deployment),
      `6 applied, 0 unchanged; 2 logins (2 new, 0 unchanged): ${PROOF}`,
    );
    const first = secrets.get(get)!;
    assertMatch(
      first,
      /^postgres:\/\/notes-dev_notes_get_a:[0-9a-f]{64}@127\.0\.0\.1:\d+\/postgres$/,
    );
    assertEquals(secrets.get("notes-dev/DATABASE_URL"), postgres.url);
    assertEquals(await run(first, "SELECT title FROM notes"), undefined);
    assertEquals(await run(first, "SELECT id FROM users"), undefined);
    assertEquals(await run(first, "SELECT email FROM users"), "42501");
    assertEquals(await run(first, "INSERT INTO notes (title) VALUES ('x')"), "42501");
    const writer = secrets.get(post)!;
    assertEquals(await run(writer, "INSERT INTO notes (title) VALUES ('x')"), undefined);
    assertEquals(await run(writer, "SELECT title FROM notes"), "42501");
    // no password is where the server logs and counts statements
    const [, password] = /:([0-9a-f]{64})@/.exec(first)!;
    await withSession({ provider: "postgres", connectionString: postgres.url }, async (session) => {
      const [{ kept }] = await session.query(
        "SELECT rolpassword AS kept FROM pg_authid WHERE rolname = 'notes-dev_notes_get_a'",
      );
      assertMatch(String(kept), /^SCRAM-SHA-256\$4096:/);
      assert(!String(kept).includes(password));
    });

    puts.length = 0;
    assertEquals(
      await grant(deployment),
      `0 applied, 6 unchanged; 2 logins (0 new, 2 unchanged): ${PROOF}`,
    );
    assertEquals(puts, []);

    // running functions go on with the address before
    await grant(deployment, { isRotation: true });
    assertMatch(secrets.get(get)!, /\/\/notes-dev_notes_get_b:/);
    for (const address of [first, secrets.get(get)!]) {
      assertEquals(await run(address, "SELECT title FROM notes"), undefined);
    }
    await grant(deployment, { isRotation: true });
    assertMatch(secrets.get(get)!, /\/\/notes-dev_notes_get_a:/);
    assertEquals(await run(first, "SELECT title FROM notes"), "28P01");

    // another address of the server keeps the login, and a lost password is replaced
    secrets.set("notes-dev/DATABASE_URL", postgres.url.replace("127.0.0.1", "localhost"));
    secrets.set(post, secrets.get(post)!.replace(/:[0-9a-f]{64}@/, ":wrong@"));
    const { password: kept } = new URL(secrets.get(get)!);
    assertEquals(
      await grant(deployment),
      `0 applied, 6 unchanged; 2 logins (1 new, 1 unchanged): ${PROOF}`,
    );
    assertEquals(new URL(secrets.get(get)!).password, kept);
    assertEquals(new URL(secrets.get(get)!).hostname, "localhost");
    assertEquals(
      await run(secrets.get(post)!, "INSERT INTO notes (title) VALUES ('y')"),
      undefined,
    );
  });
});

Deno.test("grant() keeps the secrets if a login is refused", async () => {
  await withLab(async ({ deployment, secrets, puts, root, postgres }) => {
    // as with a pooler that knows only its own users
    await Deno.writeTextFile(join(root, "hba.conf"), "host all postgres 127.0.0.1/32 trust\n");
    await run(postgres.url, "SELECT pg_reload_conf()");
    const error = await assertRejects(() => grant(deployment), StepError);
    assertMatch(
      error.message,
      /^the login notes-dev_notes_get_a was created, but the server refuses it \(SQLSTATE 28000\)\. The functions keep/,
    );
    await withEnv({ DATABASE_URL: undefined }, () =>
      assertRejects(
        () => grant(deployment),
        StepError,
        "the functions need logins of their own, and DATABASE_URL is not set in this shell: set DATABASE_URL",
      ));
    secrets.set("notes-dev/DATABASE_URL", "0f".repeat(32));
    await assertRejects(
      () => grant(deployment),
      StepError,
      "notes-dev/DATABASE_URL is not an address of the form postgres://user:password@host/database",
    );
    secrets.delete("notes-dev/DATABASE_URL");
    await assertRejects(
      () => grant(deployment),
      StepError,
      "the logins of functions are made from the address in notes-dev/DATABASE_URL, which these",
    );
    assertEquals(puts, []);
  });
});

Deno.test("giveLogins() keeps logins that only a migration function can create", async () => {
  const base =
    "postgres://app.abcdefgh:pw@aws-0-eu.pooler.supabase.com:6543/postgres?sslmode=verify-full";
  const secrets = new Map([["notes-dev/DATABASE_URL", base]]);
  const deployment = createDeployment("/", secrets, []);
  const created: string[] = [];
  const server: LoginServer = {
    put: (logins) => {
      for (const { name, role } of logins) created.push(`${name} of ${role}`);
      return Promise.resolve();
    },
    tryAddress: () => Promise.resolve({ isReached: false }),
  };
  const untried = "not tried, because the functions' address does not answer on this machine";
  const first = await giveLogins(deployment, server);
  assertEquals(first, `2 logins (2 new, 0 unchanged): ${untried}`);
  assertMatch(
    secrets.get("notes-dev/DATABASE_URL/NotesGet")!,
    /^postgres:\/\/notes-dev_notes_get_a\.abcdefgh:[0-9a-f]{64}@aws-0-eu\.pooler\.supabase\.com:6543\/postgres\?sslmode=verify-full$/,
  );
  assertEquals(await giveLogins(deployment, server), `2 logins (0 new, 2 unchanged): ${untried}`);
  assertEquals(created, [
    "notes-dev_notes_get_a of fn_notes_get",
    "notes-dev_notes_post_a of fn_notes_post",
  ]);
});
