import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { toClientCall, toCurl, toTest } from "../../../cli/dev/page/copies.js";
import type { DevServer } from "../../../cli/dev/dev_server.ts";
import { withEnv } from "../../support/with_env.ts";
import { createTestProject, SERVED } from "./fixtures/project.ts";

const FILES = {
  "package.json": '{ "name": "fixture", "type": "module" }',
  "src/functions/api/notes/[id].post.ts":
    `import { buildValidatedResponse } from "@trellis/fn/core";
import { getDrizzleClient } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
import { getRequiredEnv } from "@trellis/fn/env";
import { defineApiHandler } from "@trellis/fn/validation";
const config = { provider: "embedded-pg" as const, connectionString: getRequiredEnv("DATABASE_URL") };
export const handler = defineApiHandler()(async function readNotes({ event, context }) {
  const db = await getDrizzleClient(config);
  const id = event.pathParameters!.id!;
  for (const each of [1, 2, 3]) await db.execute(sql\`select title from notes where id = \${each}\`);
  await db.transaction(async (tx) => {
    await tx.execute(sql\`update notes set title = 'changed' where id = \${Number(id)}\`);
  });
  await db.execute(sql\`select missing\`).catch(() => {});
  return buildValidatedResponse(context, 200, { id });
});
`,
  "migrations/0001_notes.sql": `create table notes (id int primary key, title text not null,
      tags text[], at timestamptz, token text, twice int generated always as (id * 2) stored);
    insert into notes (id, title, token) values (1, 'first', 'secret'), (2, 'second', null);
    create table keyless (name text); insert into keyless values ('a');`,
};

// deno-lint-ignore no-explicit-any
type Json = any;

async function ask({ url }: DevServer, path: string, body?: unknown): Promise<[number, Json]> {
  const response = await fetch(`${url}/_trellis/api/${path}`, {
    method: body === undefined ? "GET" : "POST",
    ...body !== undefined && { body: JSON.stringify(body) },
  });
  return [response.status, await response.json()];
}

async function withServer(test: (server: DevServer) => Promise<void>): Promise<void> {
  const project = await createTestProject(FILES);
  const env = {
    DATABASE_URL: undefined,
    DATABASE_PROVIDER: undefined,
    DATABASE_ENDPOINT: undefined,
  };
  await withEnv(env, async () => {
    try {
      await test(await project.start({ database: "embedded" }));
    } finally {
      await project.clean();
    }
  });
}

Deno.test(
  "the page's API keeps the statements of a call in order, explains them, and shows no values",
  SERVED,
  async () => {
    await withServer(async (server) => {
      await (await fetch(`${server.url}/notes/2?x=1`, { method: "POST", body: "{}" })).body
        ?.cancel();
      const [, { calls }] = await ask(server, "state");
      assertEquals("statements" in calls[0], false);
      const [, call] = await ask(server, `calls/${calls[0].id}`);
      const read = "select title from notes where id = $1";
      assertEquals(
        call.statements.map(({ text, rowCount, isFailed }: Json) => [text, rowCount, isFailed]),
        [
          [read, 1, undefined],
          [read, 1, undefined],
          [read, 0, undefined],
          ["BEGIN", undefined, undefined],
          ["update notes set title = 'changed' where id = $1", 1, undefined],
          ["COMMIT", undefined, undefined],
          ["select missing", undefined, true],
        ],
      );
      const [status, { plan }] = await ask(server, `calls/${call.id}/explain?statement=0`, {});
      assertEquals(status, 200);
      assertMatch(plan, /^Index Scan using notes_pkey on notes .*\n +Index Cond: \(id = \$1\)$/);
      assertEquals((await ask(server, `calls/${call.id}/explain?statement=99`, {}))[0], 404);
      assertEquals([call.route, call.file], [
        "/notes/{id}",
        "src/functions/api/notes/[id].post.ts",
      ]);
    });
  },
);

Deno.test(
  "the page's API changes a value of a row, but no key, no secret and no generated value",
  SERVED,
  async () => {
    await withServer(async (server) => {
      const path = "tables/public/notes";
      const [, table] = await ask(server, path);
      assertEquals(
        table.columns.filter(({ isEditable }: Json) => isEditable).map(({ name }: Json) => name),
        ["title", "tags", "at"],
      );
      assertEquals(table.keys, [{ id: "1" }, { id: "2" }]);
      assertEquals(table.rows[0], ["1", "first", null, null, "[REDACTED]", "2"]);
      const change = (column: string, value: unknown, id = "1") =>
        ask(server, path, { key: { id }, column, value });
      assertEquals(await change("tags", '{a,"b c"}'), [200, { value: '{a,"b c"}' }]);
      assertEquals(await change("title", "it's; drop table notes"), [200, {
        value: "it's; drop table notes",
      }]);
      assertEquals(await change("at", null), [200, { value: null }]);
      for (const column of ["id", "token", "twice", 'title" = title --']) {
        assertEquals((await change(column, "1"))[0], 404, column);
      }
      assertEquals((await change("title", "x", "9"))[0], 404);
      assertEquals((await change("title", 1))[0], 400);
      const [status, refused] = await change("title", null);
      assertEquals(status, 400);
      assertStringIncludes(refused.message, "null value in column");
      const [, { rows }] = await ask(server, path);
      assertEquals(rows[0].slice(0, 3), ["1", "it's; drop table notes", '{a,"b c"}']);
      assertEquals((await ask(server, "tables/public/keyless"))[1].keys, undefined);
      assertEquals(
        (await ask(server, "tables/public/keyless", { key: {}, column: "name", value: "b" }))[0],
        404,
      );
    });
  },
);

Deno.test(
  "the page's API shows the HTML of a mail without scripts, and only its own images",
  SERVED,
  async () => {
    await withServer(async (server) => {
      const html = "<p>Hello <script>alert(1)</script></p>";
      const body = JSON.stringify({ to: "ada@example.com", subject: "Hi", html });
      await (await fetch(`${server.url}/_trellis/mail`, { method: "POST", body })).body?.cancel();
      const [, { mails: [mail] }] = await ask(server, "state");
      const page = await fetch(`${server.url}/_trellis/mails/${mail.id}`);
      assertEquals([page.status, await page.text()], [200, html]);
      const policy = page.headers.get("content-security-policy") ?? "";
      assertStringIncludes(policy, "default-src 'none'; style-src 'unsafe-inline'; img-src data:");
      assertStringIncludes(policy, "sandbox allow-popups");
      const missing = await fetch(`${server.url}/_trellis/mails/x`);
      await missing.body?.cancel();
      assertEquals(missing.status, 404);
    });
  },
);

const CALL = {
  functionName: "NotesById",
  file: "src/functions/api/notes/[id].post.ts",
  route: "/notes/{id}",
  status: 200,
  input: {
    method: "POST",
    path: "/notes/2",
    query: { x: "it's" },
    pathParameters: { id: "2" },
    headers: { "host": "localhost", "content-type": "application/json", "sec-fetch-mode": "cors" },
    body: { title: "Bread" },
  },
};

Deno.test("copies of a request are a command, a test and a call of the client", () => {
  assertEquals(
    toCurl(CALL, "http://localhost:8787"),
    `curl -X POST 'http://localhost:8787/notes/2?x=it%27s' \\
  -H 'content-type: application/json' \\
  -d '{"title":"Bread"}'`,
  );
  assertEquals(
    toClientCall(CALL),
    `const { data, error } = await client.POST("/notes/{id}", ${
      JSON.stringify(
        { params: { path: { id: "2" }, query: { x: "it's" } }, body: { title: "Bread" } },
        null,
        2,
      )
    });\n`,
  );
  const test = toTest(CALL);
  assertStringIncludes(
    test,
    'import { handler } from "../src/functions/api/notes/[id].post.ts";',
  );
  assertStringIncludes(test, "assert.equal(response.statusCode, 200);");
});
