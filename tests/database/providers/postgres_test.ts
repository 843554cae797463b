import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { createServer } from "node:net";
import { join } from "node:path";
import {
  closeDrizzleClient,
  getDrizzleClient,
  openShared,
} from "../../../database/providers/client.ts";
import type { DatabaseConfig } from "../../../database/config/config.ts";
import { executeRows } from "../../../database/session/execute.ts";
import { runMigrations } from "../../../database/migrations/run.ts";
import { sql } from "../../../database/orm.ts";
import { applyPermissions } from "../../../database/permissions/apply.ts";
import { validatePermissions } from "../../../database/permissions/validate.ts";
import { readPostgresAddress } from "../../../database/providers/postgres_address.ts";
import { createRdsToken } from "../../../database/providers/rds_token.ts";
import { withQueryMetrics } from "../../../database/queries/query_metrics.ts";
import { withTransaction } from "../../../database/session/transaction.ts";
import { DatabaseError } from "../../../errors/database_errors.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { createServerCertificate } from "../../../distsql/server/certificate.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { startPostgres, type TestPostgres } from "../../support/postgres.ts";
import { SERVER_USER } from "../../support/postgres_files.ts";
import { startTransactionPooler } from "../../support/transaction_pooler.ts";
import { withEnv } from "../../support/with_env.ts";

const URL = "postgres://app:hunter2@db.example.com/notes";

type Address = Omit<Extract<DatabaseConfig, { provider: "postgres" }>, "provider">;

const refused: [name: string, config: Address, message: RegExp][] = [
  ["nothing", {}, /connectionString is missing.*host, username and password/],
  ["a folder", { connectionString: "./data" }, /must begin with postgres:\/\//],
  ["two hosts", { connectionString: "postgres://u@a,b/d" }, /valid URL with one host/],
  ["a socket", { connectionString: "postgres:///notes" }, /valid URL with one host/],
  ["a bad encoding", { connectionString: "postgres://a:%zz@h/d" }, /percent-encoding/],
  ["no user", { connectionString: "postgres://db.example.com/notes" }, /username is missing/],
  ["no user in parts", { host: "db.example.com" }, /username is missing/],
  ["a host with a port", { host: "db:5432", username: "app" }, /without scheme, port and path/],
  ["a host that is a URL", { host: "https://db", username: "app" }, /without scheme/],
  ["no port", { host: "db", port: 0, username: "app" }, /1 to 65535, got 0/],
  ["both forms", { connectionString: URL, host: "db" }, /host and connectionString cannot be/],
  ["two passwords", { connectionString: URL, password: "x" }, /password and the password in/],
  ["two users", { connectionString: URL, username: "x" }, /username and the username in/],
  ["sslmode=require", { connectionString: `${URL}?sslmode=require` }, /does not verify the server/],
  ["sslmode=prefer", { connectionString: `${URL}?sslmode=prefer` }, /does not verify the server/],
  ["a CA file", { connectionString: `${URL}?sslrootcert=/ca.pem` }, /sslrootcert.*ca$/],
  ["channel binding", { connectionString: `${URL}?channel_binding=require` }, /channel_binding/],
  ["a pool size", { connectionString: `${URL}?connection_limit=1` }, /maxConnections/],
  ["an SSL mode", { host: "db", username: "a", sslMode: "require" as never }, /one of verify-full/],
  ["a pooler mode", { connectionString: URL, pooler: "statement" as never }, /one of transaction/],
];

for (const [name, config, message] of refused) {
  Deno.test(`readPostgresAddress() refuses ${name}, and shows no password`, () => {
    const error = assertThrows(
      () => readPostgresAddress({ provider: "postgres", ...config }),
      ConfigurationError,
    );
    assertMatch(error.message, message);
    assert(!error.message.includes("hunter2"));
  });
}

Deno.test("readPostgresAddress() reads connection strings and parts", () => {
  const read = (config: Address) => {
    const { host, port, database, username, password, ...rest } = readPostgresAddress({
      provider: "postgres",
      ...config,
    });
    return [`${username}:${password}@${host}:${port}/${database}`, rest];
  };
  const none = { sslMode: undefined, pooler: undefined, settings: {} };
  assertEquals(read({ connectionString: URL }), ["app:hunter2@db.example.com:5432/notes", none]);
  assertEquals(
    read({ connectionString: "postgresql://a%40b:p%25q@[::1]:6543/" }),
    ["a@b:p%q@::1:6543/postgres", none],
  );
  const query = "sslmode=disable&pgbouncer=true&application_name=shop";
  assertEquals(read({ connectionString: `postgres://a@h/d?${query}`, password: "x" }), [
    "a:x@h:5432/d",
    { sslMode: "disable", pooler: "transaction", settings: { application_name: "shop" } },
  ]);
  assertEquals(
    read({ host: "fd00::1", port: 6432, username: "app", sslMode: "verify-ca", pooler: "session" }),
    ["app:undefined@fd00::1:6432/postgres", {
      sslMode: "verify-ca",
      pooler: "session",
      settings: {},
    }],
  );
});

const CREDENTIALS = { AWS_ACCESS_KEY_ID: "AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret" };
const RDS = "shop.abc123.eu-central-1.rds.amazonaws.com";

Deno.test("createRdsToken() signs for host, port and user in the region of the host name", async () => {
  await withEnv({ ...CREDENTIALS, AWS_SESSION_TOKEN: undefined }, async () => {
    const createToken = await createRdsToken({ host: RDS, port: 5432, username: "app" });
    const token = await createToken();
    assert(token.startsWith(`${RDS}:5432/?Action=connect&DBUser=app&`));
    assertMatch(
      token,
      /X-Amz-Credential=AKIAEXAMPLE%2F\d{8}%2Feu-central-1%2Frds-db%2Faws4_request/,
    );
    assertMatch(token, /X-Amz-Expires=900/);
    await assertRejects(
      () => createRdsToken({ host: "db.example.com", port: 5432, username: "app" }),
      ConfigurationError,
      "region is missing",
    );
  });
});

interface Lab {
  readonly postgres: TestPostgres;
  readonly ca: string;
}

let lab: Promise<Lab> | undefined;
const folder = Deno.makeTempDirSync();

/** Starts a server with TLS for localhost. The user `app` signs in with the password `right`. */
async function startLab(): Promise<Lab> {
  const { key, cert, ca } = createServerCertificate(["localhost"]);
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    Deno.writeTextFileSync(path, text, { mode: 0o600 });
    if (SERVER_USER.uid !== undefined) Deno.chownSync(path, SERVER_USER.uid, SERVER_USER.gid!);
    return path;
  };
  Deno.chmodSync(folder, 0o755);
  const rules = "host all app 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
  const postgres = await startPostgres({
    settings: [
      "ssl=on",
      `ssl_key_file=${write("key.pem", key)}`,
      `ssl_cert_file=${write("cert.pem", cert)}`,
      `hba_file=${write("hba.conf", rules)}`,
    ],
  });
  return { postgres, ca };
}

Deno.test.afterAll(async () => {
  await (await lab)?.postgres.stop();
  Deno.removeSync(folder, { recursive: true });
});

/** A test that uses the server. */
function onServer(name: string, fn: (lab: Lab) => Promise<void>): void {
  Deno.test(name, { sanitizeOps: false, sanitizeResources: false }, async () => {
    await captureLogs(async () => await fn(await (lab ??= startLab())));
  });
}

async function useClient<T>(
  config: Address,
  work: (db: Awaited<ReturnType<typeof getDrizzleClient>>) => Promise<T>,
): Promise<T> {
  const whole: DatabaseConfig = { provider: "postgres", instrument: false, ...config };
  try {
    return await work(await getDrizzleClient(whole));
  } finally {
    await closeDrizzleClient(whole);
  }
}

async function isEncrypted(config: Address): Promise<unknown> {
  return await useClient(config, async (db) => {
    const query = sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
    return (await executeRows(db, query))[0].ssl;
  });
}

onServer("openPostgresServer() verifies the server unless it is told otherwise", async (lab) => {
  const { postgres: { port }, ca } = lab;
  const at = (host: string, query = "") => `postgres://postgres@${host}:${port}/postgres${query}`;
  // a loopback address is not encrypted unless an authority is given
  assertEquals(await isEncrypted({ connectionString: at("localhost") }), false);
  assertEquals(await isEncrypted({ connectionString: at("localhost"), ca }), true);
  const disabled = { connectionString: at("localhost", "?sslmode=disable"), ca };
  assertEquals(await isEncrypted(disabled), false);

  const unknown = { connectionString: at("localhost", "?sslmode=verify-full") };
  await assertRejects(() => isEncrypted(unknown), DatabaseError, "authority");
  const otherCa = { connectionString: at("localhost"), ca: createServerCertificate(["x"]).ca };
  await assertRejects(() => isEncrypted(otherCa), DatabaseError, "DatabaseConfig.ca");
  const otherName = { connectionString: at("127.0.0.1"), ca };
  await assertRejects(() => isEncrypted(otherName), DatabaseError, "another host name");
  const noCa = { connectionString: at("127.0.0.1", "?sslmode=verify-ca") };
  await assertRejects(() => isEncrypted(noCa), ConfigurationError, "verify-ca needs");
  const path = { connectionString: at("localhost"), ca: "/etc/ca.pem" };
  await assertRejects(() => isEncrypted(path), ConfigurationError, "not the path of a file");
});

onServer("openPostgresServer() names a server without TLS", async () => {
  const server = createServer((socket) => {
    socket.once("data", () => socket.write("N", () => socket.once("data", () => socket.end())));
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const connectionString = `postgres://app@localhost:${port}/d?sslmode=verify-full`;
  try {
    const error = await assertRejects(
      () => isEncrypted({ connectionString, connectTimeout: 2 }),
      DatabaseError,
    );
    assertMatch(error.message, /does not accept TLS.*sslmode=disable/);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

onServer("a password function is called for each connection", async ({ postgres }) => {
  await useClient({ connectionString: postgres.url }, async (db) => {
    await db.execute(sql`create role app login password 'right'`);
  });
  const passwords = ["right", "right", "wrong"];
  const config = {
    host: "127.0.0.1",
    port: postgres.port,
    username: "app",
    password: () => Promise.resolve(passwords.shift()!),
  };
  await useClient(config, async (db) => {
    assertEquals((await executeRows(db, sql`select current_user as name`))[0].name, "app");
    assertEquals(passwords.length, 2);
  });
  await useClient(config, () => Promise.resolve());
  await assertRejects(() => useClient(config, () => Promise.resolve()));
  assertEquals(passwords, []);
});

/** Counts the prepared statements that the client left in its session. */
const PREPARED = sql`select count(*)::int as n from pg_prepared_statements`;

onServer("a pooler is detected by its process ids", async ({ postgres }) => {
  const pooler = await startTransactionPooler(postgres.port);
  const direct = { connectionString: postgres.url };
  const pooled = { connectionString: `postgres://postgres@127.0.0.1:${pooler.port}/postgres` };
  const cases: [name: string, config: Address, prepares: boolean, keepsSession: boolean][] = [
    ["a server", direct, true, true],
    ["a pooler", pooled, false, false],
    ["a server, configured as a pooler", { ...direct, pooler: "transaction" }, false, false],
    ["a pooler in session mode", { ...direct, pooler: "session" }, true, true],
    ["no pooler", { ...direct, pooler: "none" }, true, true],
    ["statements that are not wanted", { ...direct, prepare: false }, false, true],
  ];
  try {
    for (const [name, config, prepares, keepsSession] of cases) {
      await useClient(config, async (db) => {
        for (const n of [1, 2]) {
          assertEquals(await executeRows(db, sql`select ${n}::int as n`), [{ n }]);
        }
        const [{ n }] = await executeRows(db, PREPARED);
        assertEquals(Number(n) > 0, prepares, name);
        const connection = await openShared({ provider: "postgres", instrument: false, ...config });
        const session = await connection.openSession();
        assertEquals([session.keepsSession, session.isPooled], [keepsSession, !keepsSession], name);
        await session.close();
      });
    }
    const always = { ...pooled, prepare: true };
    await assertRejects(
      () => useClient(always, () => Promise.resolve()),
      ConfigurationError,
      "COMMIT can be lost",
    );
  } finally {
    await pooler.stop();
  }
});

onServer("transactions through a pooler are committed", async ({ postgres }) => {
  const pooler = await startTransactionPooler(postgres.port);
  const connectionString = `postgres://postgres@127.0.0.1:${pooler.port}/postgres`;
  async function insertInTransactions(config: Address): Promise<number> {
    return await useClient({ connectionString, ...config }, async (db) => {
      await db.execute(sql`drop table if exists kept`);
      await db.execute(sql`create table kept (id int)`);
      for (const id of [1, 2, 3]) {
        // without a parameter, only COMMIT would be prepared
        const insert = sql.raw(`insert into kept values (${id})`);
        await withTransaction(db, (tx) => tx.execute(insert));
      }
      return Number((await executeRows(db, sql`select count(*)::int as n from kept`))[0].n);
    });
  }
  try {
    assertEquals(await insertInTransactions({}), 3);
    assertEquals(await insertInTransactions({ prepare: false }), 3);
    // the reason for the detection: the prepared COMMIT is lost, and nobody notices
    assert(await insertInTransactions({ pooler: "none" }) < 3);
  } finally {
    await pooler.stop();
  }
});

async function writeMigrations(files: Readonly<Record<string, string>>): Promise<string> {
  const path = await Deno.makeTempDir({ dir: folder });
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(join(path, name), text);
  }
  return path;
}

onServer(
  "runMigrations() goes through a pooler, and refuses settings before anything ran",
  async (lab) => {
    const url = new globalThis.URL(await lab.postgres.createDatabase("pooled"));
    const pooler = await startTransactionPooler(lab.postgres.port);
    url.port = String(pooler.port);
    const database: DatabaseConfig = { provider: "postgres", connectionString: url.href };
    const create = {
      "0001_notes.sql": "SET LOCAL lock_timeout = '1s';\nCREATE TABLE notes (id int);",
      "0002_index.sql": "CREATE INDEX CONCURRENTLY notes_id ON notes (id);",
    };
    try {
      const refused = await writeMigrations({
        ...create,
        "0003_path.sql":
          "CREATE TABLE files (id int);\n--> statement-breakpoint\nSET search_path = app;",
      });
      const error = await assertRejects(() =>
        runMigrations({ migrationsFolder: refused, database })
      );
      assertMatch(String(error), /0003_path\.sql changes a setting.*statement 2.*SET LOCAL/);
      const folder = await writeMigrations(create);
      // two runs at once: the lease lets one of them wait
      const runs = await Promise.all([1, 2].map((connectTimeout) =>
        runMigrations({
          migrationsFolder: folder,
          database: { ...database, connectTimeout: 10 + connectTimeout },
        })
      ));
      assertEquals(
        runs.map(({ applied }) => applied).sort(),
        [0, 2],
      );
      // over a direct connection the settings are allowed
      const direct = {
        ...database,
        connectionString: url.href.replace(`:${pooler.port}`, `:${lab.postgres.port}`),
      };
      assertEquals(
        (await runMigrations({ migrationsFolder: refused, database: direct })).applied,
        1,
      );
    } finally {
      await pooler.stop();
    }
  },
);

onServer("withQueryMetrics() runs the victim of a deadlock again", async ({ postgres }) => {
  const config: DatabaseConfig = {
    provider: "postgres",
    connectionString: await postgres.createDatabase("deadlock"),
    maxConnections: 2,
    instrument: false,
  };
  const db = await getDrizzleClient(config);
  try {
    await db.execute(sql`create table counters (id int primary key, n int)`);
    await db.execute(sql`insert into counters values (1, 0), (2, 0)`);
    await db.execute(sql`alter system set deadlock_timeout = '20ms'`);
    await db.execute(sql`select pg_reload_conf()`);
    let arrived = 0;
    let retries = 0;
    const bothHaveOne = Promise.withResolvers<void>();
    const add = (ids: number[]) => () =>
      withTransaction(db, async (tx) => {
        for (const id of ids) {
          await tx.execute(sql`update counters set n = n + 1 where id = ${id}`);
          if (++arrived >= 2) bothHaveOne.resolve();
          await bothHaveOne.promise;
        }
      });
    const retry = { onRetry: () => void retries++ };
    await Promise.all([
      withQueryMetrics("up", add([1, 2]), { retry }),
      withQueryMetrics("down", add([2, 1]), { retry }),
    ]);
    const rows = await executeRows(db, sql`select n from counters order by id`);
    assertEquals([rows, retries], [[{ n: 2 }, { n: 2 }], 1]);
  } finally {
    await closeDrizzleClient(config);
  }
});

onServer("applyPermissions() lets mapped roles use IAM tokens on RDS", async ({ postgres, ca }) => {
  const config: DatabaseConfig = {
    provider: "postgres",
    connectionString: `postgres://postgres@localhost:${postgres.port}/postgres`,
    region: "eu-central-1",
    iamAuth: true,
    ca,
    instrument: false,
  };
  const permissionsFolder = await writeMigrations({
    "NotesGet.sql": 'CREATE ROLE "fn_notes" WITH LOGIN;\n' +
      "AWS IAM GRANT \"fn_notes\" TO 'arn:aws:iam::1:role/notes';",
  });
  await withEnv({ ...CREDENTIALS, AWS_SESSION_TOKEN: undefined }, async () => {
    const files = { permissionsFolder, database: config };
    await useClient(config, (db) => db.execute(sql`create role rds_iam nologin`));
    const before = await validatePermissions(files);
    assertEquals(before.gaps.map(({ kind }) => kind), ["role", "iam"]);
    assertEquals(await applyPermissions(files), { applied: 2, skipped: 0, errors: [] });
    assertEquals((await validatePermissions(files)).gaps, []);
    assertEquals(await applyPermissions(files), { applied: 0, skipped: 2, errors: [] });
    const plain = { ...config, ca: undefined };
    await assertRejects(() => getDrizzleClient(plain), ConfigurationError, "iamAuth needs TLS");
    const both = { ...config, password: "x" };
    await assertRejects(() => getDrizzleClient(both), ConfigurationError, "cannot be combined");
  });
});
