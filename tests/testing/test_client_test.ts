import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { AUTH_MIGRATION_SQL } from "../../auth/mod.ts";
import { createClient } from "../../client/mod.ts";
import { getDrizzleClient } from "../../database/mod.ts";
import { executeRows } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { JOBS_MIGRATION_SQL } from "../../jobs/mod.ts";
import { SUBSCRIPTION_MIGRATION_SQL } from "../../realtime/mod.ts";
import {
  createTestClient,
  createTestDatabase,
  type TestClient,
  type TestClientOptions,
} from "../../testing/mod.ts";

const getDb = () => getDrizzleClient({ provider: "embedded-pg", connectionString: "/dev/null/pg" });
const PROJECT = fileURLToPath(new URL("project", import.meta.url));
const ACCOUNTS = fileURLToPath(new URL("../../examples/accounts", import.meta.url));

/** Migrations with the package's own tables, as they are now. */
const MIGRATIONS = Deno.makeTempDirSync({ prefix: "trellis-migrations-" });
for (
  const [at, text] of [
    AUTH_MIGRATION_SQL,
    JOBS_MIGRATION_SQL,
    SUBSCRIPTION_MIGRATION_SQL,
    Deno.readTextFileSync(join(PROJECT, "api_keys.sql")),
  ].entries()
) {
  Deno.writeTextFileSync(join(MIGRATIONS, `000${at + 1}_tables.sql`), text);
}
addEventListener("unload", () => Deno.removeSync(MIGRATIONS, { recursive: true }));

async function withClient(
  test: (api: TestClient) => Promise<void>,
  { root = PROJECT, migrations = root === PROJECT ? MIGRATIONS : undefined }: TestClientOptions =
    {},
): Promise<void> {
  await using api = await createTestClient({ root, migrations });
  await test(api);
}

/** Collects what is written to standard error. */
async function captureErrors(work: () => Promise<void>): Promise<string> {
  const { write } = process.stderr;
  const lines: string[] = [];
  process.stderr.write = (text: string | Uint8Array) => lines.push(String(text)) > 0;
  try {
    await work();
  } finally {
    process.stderr.write = write;
  }
  return lines.join("");
}

Deno.test("createTestClient() sends the event of a REST API, and reads its response", async () => {
  await withClient(async (api) => {
    const { status, headers, cookies, body } = await api.put("/echo/{id}", {
      path: { id: "a/b c" },
      query: { one: 1, many: ["x", "y&z"], none: undefined, since: new Date(0) },
      headers: { "X-One": "1" },
      cookies: { a: "1", b: "2" },
      body: { text: "é" },
    });
    assertEquals([status, headers.get("Content-Type")], [202, "application/json"]);
    assertEquals(cookies, { a: "1", b: "x=y" });
    assertEquals([body.httpMethod, body.resource, body.path], [
      "PUT",
      "/echo/{id}",
      "/echo/a%2Fb%20c",
    ]);
    assertEquals(body.pathParameters, { id: "a/b c" });
    assertEquals(body.multiValueQueryStringParameters, {
      one: ["1"],
      many: ["x", "y&z"],
      since: ["1970-01-01T00:00:00.000Z"],
    });
    assertEquals(body.headers, {
      "content-type": "application/json",
      cookie: "a=1; b=2",
      "x-one": "1",
    });
    assertEquals([body.body, body.isBase64Encoded], ['{"text":"é"}', false]);
    assertEquals(body.requestContext.identity.sourceIp, "127.0.0.1");
  });
});

Deno.test("createTestClient() sends files, bytes and texts unchanged", async () => {
  await withClient(async (api) => {
    const form = new FormData();
    form.append("file", new File([new Uint8Array([0, 255])], "a.bin"));
    const { body: uploaded } = await api.post("/echo/1", { body: form });
    assertEquals(uploaded.isBase64Encoded, true);
    assertStringIncludes(uploaded.headers["content-type"], "multipart/form-data; boundary=");
    assertStringIncludes(atob(uploaded.body), 'filename="a.bin"');

    const { body: bytes } = await api.post("/echo/1", { body: new Uint8Array([0, 255]) });
    assertEquals([bytes.body, bytes.isBase64Encoded], ["AP8=", true]);
    const { body: text } = await api.post("/echo/1", { body: "plain" });
    assertEquals([text.body, text.headers["content-type"]], ["plain", "text/plain;charset=UTF-8"]);
  });
});

Deno.test("createTestClient() refuses unknown routes, missing parameters and other statuses", async () => {
  await withClient(async (api) => {
    await assertRejects(
      () => api.get("/nowhere"),
      ConfigurationError,
      "No function serves GET /nowhere",
    );
    await assertRejects(
      () => api.delete("/claims"),
      ConfigurationError,
      "No function serves DELETE",
    );
    await assertRejects(
      () => api.request("HEAD", "/reminders"),
      ConfigurationError,
      "No function serves HEAD",
    );
    assertEquals((await api.request("HEAD", "/claims")).status, 401);
    for (const id of [undefined, "", "..", "."]) {
      await assertRejects(
        () => api.get("/echo/{id}", { path: { id } }),
        RangeError,
        "parameter id",
      );
    }
    await assertRejects(
      () => api.get("/claims", { expect: 200 }),
      Error,
      'GET /claims answered 401, expected 200: {"message"',
    );
    await assertRejects(() => api.invoke("Nothing", {}), ConfigurationError, "no function Nothing");
  });
});

Deno.test("createTestClient() invokes functions of other triggers by their names", async () => {
  await withClient(async (api) => {
    assertEquals(await api.invoke("Twice", { value: 21 }), { functionName: "Twice", value: 42 });
  });
});

Deno.test("createTestClient() reads a streamed response to its end", async () => {
  await withClient(async (api) => {
    const { body, headers } = await api.get("/ticks", { expect: 200 });
    assertEquals([body, headers.get("Content-Type")], ["one two", "text/plain"]);
  });
});

Deno.test("createTestClient() prints the error of a failing handler with its stack", async () => {
  await withClient(async (api) => {
    const printed = await captureErrors(async () => {
      const { status, body } = await api.get("/failing");
      assertEquals([status, body.code], [500, "UNEXPECTED"]);
    });
    assertStringIncludes(printed, "Error: the ledger is closed");
    assertStringIncludes(printed, join(PROJECT, "src/functions/api/failing.get.ts:4:"));
    assertStringIncludes(printed, "caused by TypeError: no key");
  });
});

Deno.test("createTestClient() calls with a session, an API key, a token and an authorizer's context", async () => {
  await withClient(async (api) => {
    const ada = await api.createTestUser({ name: "Ada", email: "ada@example.com" });
    const { body } = await api.get("/auth/get-session", { as: ada, expect: 200 });
    assertEquals([body.user.id, body.user.name, body.user.email], [
      ada.id,
      "Ada",
      "ada@example.com",
    ]);

    const reader = await api.createApiKey(ada, { permissions: { notes: ["read"] } });
    assertEquals((await api.get("/keys", { as: reader, expect: 200 })).body, { userId: ada.id });
    const other = await api.createApiKey(ada, { permissions: { notes: ["write"] } });
    assertEquals((await api.get("/keys", { as: other })).status, 403);

    const claims = { iss: "https://login.example.com/", aud: "api", sub: "u1" };
    const token = await api.createJwt(claims);
    assertEquals((await api.get("/claims", { as: token, expect: 200 })).body, { userId: "u1" });
    const foreign = await api.createJwt({ ...claims, aud: "other" });
    assertEquals((await api.get("/claims", { as: foreign })).status, 401);

    const bearer = { headers: { Authorization: "Bearer u2" } };
    assertEquals((await api.get("/guarded", { as: bearer, expect: 200 })).body, { userId: "u2" });
    assertEquals((await api.get("/guarded")).status, 401);
    const authorizer = { userStatus: "Authenticated", userId: "u3" };
    assertEquals((await api.get("/guarded", { as: { authorizer } })).body, { userId: "u3" });
  });
});

Deno.test("createTestUser() adds users to organizations with roles, and gives them roles", async () => {
  await withClient(async (api) => {
    const owner = await api.createTestUser({ organization: "acme" });
    const member = await api.createTestUser({ organization: "acme" });
    const admin = await api.createTestUser({ organization: "acme", role: "admin" });
    assertEquals(new Set([owner, member, admin].map((user) => user.organizationId)).size, 1);
    const { body } = await api.get("/auth/organization/get-full-organization", {
      as: member,
      expect: 200,
    });
    assertEquals(
      body.members.map(({ userId, role }: { userId: string; role: string }) => [userId, role])
        .sort(),
      [[owner.id, "owner"], [member.id, "member"], [admin.id, "admin"]].sort(),
    );
    const boss = await api.createTestUser({ role: "admin", fields: { username: "boss" } });
    const { body: found } = await api.get("/auth/get-session", { as: boss, expect: 200 });
    assertEquals([found.user.role, found.user.email], ["admin", boss.email]);
  }, { root: ACCOUNTS });
});

Deno.test("createApiKey() creates a key of the user's organization where keys belong to organizations", async () => {
  const migrations = Deno.makeTempDirSync({ prefix: "trellis-migrations-" });
  const folder = join(ACCOUNTS, "migrations");
  for (const { name } of Deno.readDirSync(folder)) {
    Deno.copyFileSync(join(folder, name), join(migrations, name));
  }
  Deno.copyFileSync(join(PROJECT, "api_keys.sql"), join(migrations, "0099_api_keys.sql"));
  try {
    await withClient(async (api) => {
      const ada = await api.createTestUser({ organization: "acme" });
      const { body } = await api.get("/keys", { as: await api.createApiKey(ada), expect: 200 });
      assertEquals(body, { organizationId: ada.organizationId });
    }, { root: join(PROJECT, "team_keys"), migrations });
  } finally {
    Deno.removeSync(migrations, { recursive: true });
  }
});

Deno.test("createTestUser() names what the project lacks", async () => {
  await withClient(async (api) => {
    await assertRejects(
      () => api.createTestUser({ organization: "acme" }),
      ConfigurationError,
      "no column activeOrganizationId, which the plugin organization adds",
    );
    await assertRejects(
      () => api.createTestUser({ role: "admin" }),
      ConfigurationError,
      "plugin admin",
    );
  });
});

Deno.test("runJobs() runs the due jobs with the project's functions, and sends their mails", async () => {
  await withClient(async (api) => {
    const ada = await api.createTestUser();
    const body = { text: "Tea", inSeconds: 0 };
    await api.post("/reminders", { as: ada, body, expect: 202 });
    await api.post("/reminders", { as: ada, body: { ...body, inSeconds: 600 }, expect: 202 });
    await api.post("/reminders", { as: ada, body: { ...body, inSeconds: 3600 }, expect: 202 });
    assertEquals(api.mails(), []);

    const jobs = await api.runJobs();
    assertEquals(
      jobs.map(({ name, state }) => `${name} ${state}`).sort(),
      ["mail.reminder done", "remind done", "remind queued", "remind queued"],
    );
    assertEquals(
      api.mails().map(({ to, subject, links }) => [to, subject, links]),
      [[[ada.email], "A reminder", ["https://example.com/r?x=1"]]],
    );

    api.clock.advance(600_000);
    await api.runJobs();
    assertEquals(api.mails().length, 2);
    // too late for a delay of the queue: the relay delivers it after its grace period of a minute
    api.clock.advance(3000_000 + 60_000);
    await api.runJobs();
    assertEquals(api.mails().length, 3);
  });
});

Deno.test("clock.advance() moves Date and the database, until the client is closed", async () => {
  const day = 86_400_000;
  await withClient(async (api) => {
    const ada = await api.createTestUser();
    const startMs = Date.now();
    api.clock.advance(40 * day);
    assertEquals(Math.round((Date.now() - startMs) / day), 40);
    assertEquals(Math.round((new Date().getTime() - startMs) / day), 40);
    assertEquals(new Date(5).getTime(), 5);
    assertEquals(new Date() instanceof Date, true);
    const [{ ms }] = await executeRows(
      api.db,
      sql`SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms`,
    );
    assertEquals(Math.round((Number(ms) - startMs) / day), 40);
    const body = { text: "Tea", inSeconds: 0 };
    assertEquals((await api.post("/reminders", { as: ada, body })).status, 401);
    assertThrows(() => api.clock.advance(-1), RangeError, "at least 0, got -1");
  });
  assertEquals(Math.abs(Date.now() - performance.timeOrigin - performance.now()) < day, true);
});

Deno.test("connect() runs $connect, and receives the messages of functions", async () => {
  await withClient(async (api) => {
    const ada = await api.createTestUser();
    const refused = await api.connect();
    assertEquals(refused.status, 401);
    await assertRejects(() => refused.send({}), ConfigurationError, "is closed (status 401)");

    const [one, two] = [await api.connect({ as: ada }), await api.connect({ as: ada })];
    assertEquals([one.status, two.status], [200, 200]);
    await one.send({ action: "say", text: "hello" });
    assertEquals([one.messages(), two.messages()], [[{ text: "hello" }], [{ text: "hello" }]]);
    await one.send({ action: "unknown" });
    const { connectionId } = one;
    assertEquals(one.messages().at(-1), { message: "Forbidden", connectionId });

    await two.close();
    await one.send({ action: "say", text: "again" });
    assertEquals([one.messages().length, two.messages().length], [3, 1]);

    await one.send({ action: "echo" });
    assertEquals(one.messages().at(-1), 'echo of {"action":"echo"}');
  });
});

Deno.test("createTestClient() leads every configuration of a database to its own, new each time", async () => {
  for (let round = 0; round < 2; round++) {
    await withClient(async (api) => {
      const other = await getDrizzleClient({
        provider: "serverless-pg",
        connectionString: "postgres://db.example/app",
      });
      assertEquals(await executeRows(other, sql`SELECT name FROM users`), []);
      await api.createTestUser({ name: "Ada" });
      assertEquals(await executeRows(other, sql`SELECT name FROM users`), [{ name: "Ada" }]);
    });
  }
});

Deno.test("createTestClient() opens one client at a time, and restores the process", async () => {
  const { Date: before, fetch } = globalThis;
  await withClient(async () => {
    await assertRejects(() => createTestClient({ root: PROJECT }), ConfigurationError, "is open");
  });
  await assertRejects(() => createTestClient({ root: "/nowhere" }), ConfigurationError, "/nowhere");
  await withClient(async (api) => {
    await assertRejects(() => api.runJobs(), ConfigurationError, "has no database");
    // the configured database of a function is not used
    await assertRejects(() => getDb(), ConfigurationError, "has no folder of migrations");
  }, { root: join(PROJECT, "bare") });
  await withClient(async (api) => {
    await assertRejects(() => api.runJobs(), ConfigurationError, "has no database");
    await assertRejects(() => getDb(), Error, "/dev/null/pg");
  }, { migrations: false });
  assertEquals([globalThis.Date === before, globalThis.fetch === fetch], [true, true]);
  assertEquals(process.env.METRICS_DISABLED, undefined);
  await (await createTestDatabase()).close();
});

interface routes {
  POST: {
    "/reminders": {
      requestBody: { content: { "application/json": { text: string; inSeconds: number } } };
      responses: {
        202: { content: { "application/json": { id: string } } };
        401: { content: { "application/json": { code: "UNAUTHORIZED" } } };
      };
    };
  };
  GET: {
    "/echo/{id}": {
      parameters: { path: { id: string }; query?: { one?: number } };
      responses: { 202: { content: { "application/json": { path: string } } } };
    };
  };
}

Deno.test("createTestClient() has the types of the generated client, which can use its fetch", async () => {
  await using api = await createTestClient<routes>({ root: PROJECT, migrations: MIGRATIONS });
  const as = await api.createTestUser();
  const { body } = await api.post("/reminders", { as, body: { text: "Tea", inSeconds: 9 } });
  const id: string = body.id;
  assertEquals(typeof id, "string");
  const { body: failure } = await api.post("/reminders", {
    body: { text: "Tea", inSeconds: 9 },
    expect: 401,
  });
  const code: "UNAUTHORIZED" = failure.code;
  assertEquals(code, "UNAUTHORIZED");
  const { body: { path } } = await api.get("/echo/{id}", { path: { id: "7" }, query: { one: 1 } });
  assertEquals(path, "/echo/7");
  // @ts-expect-error the body is incomplete
  assertEquals((await api.post("/reminders", { as, body: { text: "Tea" } })).status, 400);
  // @ts-expect-error the path parameter is missing
  await assertRejects(() => api.get("/echo/{id}"), RangeError);
  // @ts-expect-error there is no such route
  await assertRejects(() => api.get("/claims", { expect: 200 }), Error);

  const client = createClient<routes>({ baseUrl: "http://localhost", fetch: api.fetch });
  const { data } = await client.GET("/echo/{id}", { params: { path: { id: "8" } } });
  assertEquals(data?.path, "/echo/8");
});

Deno.test("createTestClient() generates the secrets of the configuration and of the sources, and sets its texts", async () => {
  const before = { ...process.env };
  const root = join(PROJECT, "../secrets");
  const api = await createTestClient({ root, env: { MAIL_API_TOKEN: "of the test" } });
  const { body } = await api.get("/values", { expect: 200 });
  const secrets = ["HOOK_SIGNING_KEY", "PAYMENTS_CREDENTIAL", "EXISTING_SECRET", "OWN"];
  for (const name of secrets) assertMatch(body[name], /^[0-9a-f]{64}$/, name);
  assertEquals(new Set(secrets.map((name) => body[name])).size, secrets.length);
  assertEquals(process.env.PAYMENTS_CREDENTIAL, body.PAYMENTS_CREDENTIAL);
  const { MAIL_API_TOKEN, REGION_NAME, GREETING, PHOTOS, LOG_LEVEL } = body;
  assertEquals([MAIL_API_TOKEN, REGION_NAME, GREETING], ["of the test", "north", "hello"]);
  // no request must reach a bucket by accident
  assertEquals([PHOTOS, LOG_LEVEL], ["unset", "ERROR"]);
  await api.close();
  assertEquals({ ...process.env }, before);
});
