import { connect as connectPlain } from "node:net";
import { connect as connectTls } from "node:tls";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import postgres from "postgres";
import { type DistSqlServer, startDistSqlServer } from "../../../distsql/server/server.ts";
import { connect, type ConnectOptions, refusal, signToken } from "./connect.ts";

const DENIED = { sqlstate: "28000", message: "unable to accept connection, access denied" };

let server: DistSqlServer;

Deno.test.beforeAll(async () => {
  server = await startDistSqlServer({
    hostname: "abcdefghij.dsql.eu-central-1.on.aws",
    region: "eu-central-1",
  });
  const admin = connect(server);
  await admin.unsafe("CREATE ROLE app WITH LOGIN");
  await admin.unsafe("CREATE ROLE unmapped WITH LOGIN");
  await admin.unsafe("CREATE ROLE group_role");
  await admin.unsafe(`AWS IAM GRANT app TO '${server.principal.arn}'`);
  await admin.unsafe(`AWS IAM GRANT group_role TO '${server.principal.arn}'`);
  await admin.end();
});

Deno.test.afterAll(() => server.stop());

async function attempt(options: ConnectOptions): Promise<unknown> {
  const sql = connect(server, options);
  try {
    const result = await refusal(sql`SELECT current_user`);
    return result ?? "let in";
  } finally {
    await sql.end();
  }
}

Deno.test("startDistSqlServer() lets in who shows a token for the user's action", async () => {
  assertEquals(await attempt({}), "let in");
  assertEquals(await attempt({ user: "app" }), "let in");
});

Deno.test("startDistSqlServer() denies access for a fault in the token", async () => {
  const cases: [string, ConnectOptions][] = [
    ["host", { hostname: "other.dsql.eu-central-1.on.aws" }],
    ["region", { region: "us-east-1" }],
    ["role token for admin", { action: "DbConnect" }],
    ["admin token for a role", { user: "app", action: "DbConnectAdmin" }],
    ["tampered", {
      password: async () => (await signToken(server)).replace("Expires=900", "Expires=901"),
    }],
    ["no token", { password: "postgres" }],
    ["role without a mapping", { user: "unmapped" }],
    ["role without LOGIN", { user: "group_role" }],
    ["no such role", { user: "nobody" }],
  ];
  for (const [name, options] of cases) assertEquals(await attempt(options), DENIED, name);
});

Deno.test("startDistSqlServer() gives the hint only for an expired signature", async () => {
  const expired = connect(server, {
    expiresIn: 1,
    password: async () => {
      const token = await signToken(server, { expiresIn: 1 });
      await new Promise((resolve) => setTimeout(resolve, 1100));
      return token;
    },
  });
  const error = await assertRejects(() => expired`SELECT 1`.execute(), postgres.PostgresError);
  assertEquals([error.severity, error.code, error.hint], ["FATAL", "28000", "Signature expired"]);
  await expired.end();
  const wrong = connect(server, { password: "wrong" });
  const denied = await assertRejects(() => wrong`SELECT 1`.execute(), postgres.PostgresError);
  assertEquals(denied.hint, undefined);
  await wrong.end();
});

Deno.test("startDistSqlServer() stops letting in when the mapping is taken back", async () => {
  const admin = connect(server);
  await admin.unsafe("CREATE ROLE passing WITH LOGIN");
  await admin.unsafe(`AWS IAM GRANT passing TO '${server.principal.arn}'`);
  assertEquals(await attempt({ user: "passing" }), "let in");
  const mappings =
    await admin`SELECT arn, grantor_pg_role_name FROM sys.iam_pg_role_mappings WHERE pg_role_name = 'passing'`;
  assertEquals([...mappings], [{ arn: server.principal.arn, grantor_pg_role_name: "admin" }]);
  assertEquals(await refusal(admin.unsafe(`AWS IAM GRANT passing TO '${server.principal.arn}'`)), {
    sqlstate: "42710",
    message: `role "passing" is already granted to "${server.principal.arn}"`,
  });
  await admin.unsafe(`AWS IAM REVOKE passing FROM '${server.principal.arn}'`);
  assertEquals(await attempt({ user: "passing" }), DENIED);
  await admin.end();
});

Deno.test("startDistSqlServer() keeps roles apart", async () => {
  const admin = connect(server);
  const app = connect(server, { user: "app" });
  await admin.unsafe("CREATE TABLE secret (id int PRIMARY KEY)");
  assertEquals(await refusal(app`SELECT * FROM secret`), {
    sqlstate: "42501",
    message: "permission denied for table secret",
  });
  await admin.unsafe("GRANT SELECT ON secret TO app");
  assertEquals(
    (await app`SELECT current_user AS name FROM (SELECT count(*) FROM secret) s`)[0].name,
    "app",
  );
  assertEquals((await refusal(app`CREATE TABLE mine (id int)`))?.sqlstate, "42501");
  assertEquals(
    (await refusal(app.unsafe("AWS IAM GRANT app TO 'arn:aws:iam::1:role/x'")))?.sqlstate,
    "42501",
  );
  await Promise.all([admin.end(), app.end()]);
});

Deno.test("startDistSqlServer() refuses a client that does not verify against its authority", async () => {
  const sql = connect(server, { ssl: {} });
  await assertRejects(() => sql`SELECT 1`.execute(), Error);
  await sql.end();
});

Deno.test("startDistSqlServer() refuses a client in the clear before it sends its token", async () => {
  const sql = postgres({
    host: "localhost",
    port: server.port,
    username: "admin",
    password: "never sent",
    ssl: false,
    max: 1,
  });
  assertEquals(await refusal(sql`SELECT 1`), DENIED);
  await sql.end();
});

/** The answer to a StartupMessage for admin: R (3) asks for the cleartext password. */
const STARTUP = new Uint8Array([
  0,
  0,
  0,
  20,
  0,
  3,
  0,
  0,
  ...new TextEncoder().encode("user\0admin\0\0"),
]);

function answerOverTls(options: { ALPNProtocols?: string[] }): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({
      host: "127.0.0.1",
      port: server.port,
      ca: server.ca,
      servername: server.hostname,
      ...options,
    });
    socket.on("secureConnect", () => socket.write(STARTUP));
    socket.on("data", (chunk) => {
      const bytes = chunk as Uint8Array;
      resolve(`${String.fromCharCode(bytes[0])}${bytes[8]}`);
      socket.destroy();
    });
    socket.on("error", () => resolve("closed"));
    socket.on("close", () => resolve("closed"));
  });
}

Deno.test("startDistSqlServer() takes direct TLS with ALPN and no other", async () => {
  assertEquals(await answerOverTls({ ALPNProtocols: ["postgresql"] }), "R3");
  assertEquals(await answerOverTls({}), "closed");
});

Deno.test("startDistSqlServer() answers a request for GSS encryption with no", async () => {
  const answer = await new Promise<string>((resolve) => {
    const socket = connectPlain(
      server.port,
      "127.0.0.1",
      () => socket.write(new Uint8Array([0, 0, 0, 8, 4, 210, 22, 48])),
    );
    socket.on("data", (chunk) => {
      resolve(String(chunk));
      socket.destroy();
    });
  });
  assertEquals(answer, "N");
});

Deno.test("startDistSqlServer() says what it is", async () => {
  const sql = connect(server);
  await sql`SELECT 1`;
  assertMatch(server.ca, /^-----BEGIN CERTIFICATE-----/);
  assertEquals(sql.parameters.server_version, "16.15");
  assertEquals(sql.parameters.TimeZone, "UTC");
  assertEquals(server.connections, 1);
  assert(server.statistics.connections > 0);
  await sql.end();
});

Deno.test("startDistSqlServer() refuses options that make no sense", async () => {
  const cases: [
    Parameters<typeof startDistSqlServer>[0],
    typeof RangeError | typeof TypeError,
    string,
  ][] = [
    [{ asOf: "yesterday" }, RangeError, 'asOf must be a day, YYYY-MM-DD, got "yesterday"'],
    [{ jobDelayMs: -1 }, RangeError, "jobDelayMs must be a number from 0, got -1"],
    [{ limits: { rows: Number.NaN } }, RangeError, "rows must be a number from 0, got NaN"],
    [
      { principals: [] },
      RangeError,
      "principals must name at least one principal: otherwise no client can sign in",
    ],
    [
      { backend: { url: "mysql://u:secret@h/d" } },
      TypeError,
      'backend.url must be a postgres:// URL, got "mysql://u:…@h/d"',
    ],
  ];
  for (const [options, type, message] of cases) {
    const error = await assertRejects(() => startDistSqlServer(options), type);
    assertStringIncludes(error.message, message);
  }
});

Deno.test("stop() leaves nothing open, so that the process can exit", async () => {
  const script = `
    import { startDistSqlServer } from "${new URL(
    "../../../distsql/server/server.ts",
    import.meta.url,
  )}";
    import { connect } from "${new URL("./connect.ts", import.meta.url)}";
    const server = await startDistSqlServer();
    const sql = connect(server, { max: 2 });
    await sql\`CREATE TABLE t (id int PRIMARY KEY)\`;
    await sql\`CREATE INDEX ASYNC i ON t (id)\`;
    server.holdJobs();
    await sql\`CREATE INDEX ASYNC j ON t (id)\`;
    const inserted = Promise.withResolvers();
    const open = sql.begin(async (tx) => {
      await tx\`INSERT INTO t VALUES (1)\`;
      inserted.resolve();
      // postgres.js would send COMMIT or ROLLBACK on the closed socket, which may end the process
      await new Promise(() => {});
    });
    await inserted.promise;
    await server.stop();
    await open.catch(() => {});
    await server.stop();
    console.log("ended");
  `;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, script);
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", "--no-check", "--config", config, file],
    signal: AbortSignal.timeout(60_000),
  }).output();
  await Deno.remove(file);
  assertEquals(
    [code, new TextDecoder().decode(stdout).trim()],
    [0, "ended"],
    new TextDecoder().decode(stderr),
  );
});
