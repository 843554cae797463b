import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { ConfigurationError } from "../../../errors/mod.ts";
import { createTestProject, FILES, SERVED, withDevServer } from "./fixtures/project.ts";

const PLAIN = "src/functions/api/plain.get.ts";

async function get(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: string }> {
  const response = await fetch(url, { headers });
  return { status: response.status, body: await response.text() };
}

/** A request whose headers `fetch` would not send. */
function getStatus(
  url: string,
  method: string,
  headers: Record<string, string>,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { method, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    }).on("error", reject).end();
  });
}

interface State {
  functions: Record<string, unknown>[];
  calls: {
    id: string;
    title: string;
    status?: number;
    functionName?: string;
    replayOf?: string;
    isFailed: boolean;
  }[];
  sent: { service: string; target: string; receivers: string[]; outcomes: string[] }[];
}

async function getState(url: string): Promise<State> {
  return await (await fetch(`${url}/_trellis/api/state`)).json();
}

Deno.test(
  "startDevServer() answers through the function's event and keeps its log lines and spans",
  SERVED,
  async () => {
    await withDevServer(async ({ url }) => {
      assertEquals(JSON.parse((await get(`${url}/hello/Ada?x=1`)).body), {
        text: "Hello Ada",
        count: 1,
      });
      const [call] = (await getState(url)).calls;
      assertEquals([call.title, call.functionName, call.status], [
        "GET /hello/Ada?x=1",
        "HelloByName",
        200,
      ]);
      const detail = await (await fetch(`${url}/_trellis/api/calls/${call.id}`)).json();
      const [line] = detail.logs;
      assertEquals([line.message, line.name, line.password], [
        "greeting found",
        "Ada",
        "[REDACTED]",
      ]);
      const [inner, outer] = detail.spans;
      assertEquals([inner.name, outer.name, inner.parentSpanId], [
        "find greeting",
        "GET /hello/{name}",
        outer.spanId,
      ]);
      assertEquals(detail.output.body, { text: "Hello Ada", count: 1 });
    });
  },
);

Deno.test(
  "startDevServer() keeps tokens in paths and queries out of calls",
  SERVED,
  async () => {
    await withDevServer(async ({ url }) => {
      await get(`${url}/reset-password/AbC1?token=DeF2`);
      await get(`${url}/hello/x?token=DeF2`);
      const { calls } = await getState(url);
      assertEquals(calls.map(({ title }) => title), [
        "GET /hello/x?token=[REDACTED]",
        "GET /reset-password/[REDACTED]?token=[REDACTED]",
      ]);
      const detail = await (await fetch(`${url}/_trellis/api/calls/${calls[0].id}`)).json();
      assertEquals(detail.input.query, { token: "[REDACTED]" });
    });
  },
);

Deno.test("startDevServer() keeps calls apart that run at the same time", SERVED, async () => {
  await withDevServer(async ({ url }) => {
    await Promise.all(["a", "b", "c", "d"].map((name) => get(`${url}/hello/${name}`)));
    for (const { id, title } of (await getState(url)).calls) {
      const { logs } = await (await fetch(`${url}/_trellis/api/calls/${id}`)).json();
      assertEquals(logs[0].name, title.at(-1));
      assertEquals(logs.length, 2);
    }
  });
});

Deno.test(
  "startDevServer() serves an edit with the next request and loads nothing else anew",
  SERVED,
  async () => {
    await withDevServer(async ({ url }, project) => {
      assertEquals(JSON.parse((await get(`${url}/hello/Ada`)).body).count, 1);
      assertEquals(JSON.parse((await get(`${url}/plain`)).body).count, 1);
      await project.write(
        "src/lib/greeting.ts",
        `export const greet = (name: string) => "Salve " + name;`,
      );
      assertEquals(JSON.parse((await get(`${url}/hello/Ada`)).body), {
        text: "Salve Ada",
        count: 1,
      });
      assertEquals(JSON.parse((await get(`${url}/plain`)).body).count, 2);
    });
  },
);

Deno.test(
  "startDevServer() tells where a source is at fault, serves the rest, and heals with the next edit",
  SERVED,
  async () => {
    await withDevServer(async ({ url }, project) => {
      await project.write(PLAIN, `${FILES[PLAIN]}\nconst broken = ;\n`);
      const json = await get(`${url}/plain`);
      assertEquals(json.status, 500);
      const { code, errors } = JSON.parse(json.body);
      assertEquals([code, errors[0].file, errors[0].line, errors[0].source], [
        "BUILD_FAILED",
        PLAIN,
        8,
        "const broken = ;",
      ]);
      const page = await get(`${url}/plain`, { Accept: "text/html" });
      assertEquals(page.status, 500);
      assertStringIncludes(page.body, `<pre>${PLAIN}:8:16`);
      assertEquals((await get(`${url}/hello/Ada`)).status, 200);
      assertStringIncludes(
        project.told(),
        `error Plain cannot be loaded\n${PLAIN}:8:16: Unexpected ";"\n    const broken = ;`,
      );
      await project.write(PLAIN, FILES[PLAIN]);
      assertEquals((await get(`${url}/plain`)).status, 200);
    });
  },
);

Deno.test(
  "startDevServer() tells what a module throws while it is loaded, and imports that lead nowhere",
  SERVED,
  async () => {
    await withDevServer(async ({ url }, project) => {
      const cases: [text: string, line: number, message: RegExp][] = [
        [`const one = 1;\nthrow new Error("no luck " + one);`, 2, /^Error: no luck 1$/],
        [`import "../../missing.ts";`, 1, /Could not resolve "\.\.\/\.\.\/missing\.ts"/],
      ];
      for (const [text, line, message] of cases) {
        await project.write(PLAIN, text);
        const { status, body } = await get(`${url}/plain`);
        const [fault] = JSON.parse(body).errors;
        assertEquals([status, fault.file, fault.line], [500, PLAIN, line]);
        assertMatch(fault.message, message);
      }
      await project.write("src/missing.ts", FILES[PLAIN]);
      await project.write(PLAIN, `import "../../missing.ts";\n${FILES[PLAIN]}`);
      assertEquals((await get(`${url}/plain`)).status, 200);
      await project.write(PLAIN, "export const handle = 1;");
      assertStringIncludes((await get(`${url}/plain`)).body, "does not export a handler");
    });
  },
);

Deno.test(
  "startDevServer() finds functions that come and forgets those that go",
  SERVED,
  async () => {
    await withDevServer(async ({ url }, project) => {
      assertEquals((await get(`${url}/late/one`)).status, 404);
      await project.write("src/functions/api/late/one.get.ts", FILES[PLAIN]);
      assertEquals((await get(`${url}/late/one`)).status, 200);
      await project.remove("src/functions/api/late/one.get.ts");
      assertEquals((await get(`${url}/late/one`)).status, 404);
      assertEquals((await getState(url)).functions.map(({ name }) => name), [
        "HelloByName",
        "Plain",
        "SendMail",
      ]);
    });
  },
);

Deno.test("startDevServer() refuses other hosts and pages of other hosts", SERVED, async () => {
  await withDevServer(async ({ url, port }) => {
    const own = `http://127.0.0.1:${port}`;
    const invoke = "/_trellis/api/functions/SendMail/invoke";
    const cases: [path: string, method: string, headers: Record<string, string>, status: number][] =
      [
        ["/plain", "GET", { Host: "evil.example" }, 403],
        ["/plain", "GET", { Host: `evil.example:${port}` }, 403],
        ["/plain", "GET", { Origin: "https://evil.example" }, 403],
        ["/plain", "GET", { Origin: "null" }, 403],
        ["/plain", "GET", { Origin: "http://127.0.0.1.evil.example" }, 403],
        // a frontend on another port of this machine
        ["/plain", "GET", { Origin: "http://localhost:5173" }, 200],
        ["/_trellis", "GET", { Host: "evil.example" }, 403],
        ["/_trellis/api/state", "GET", { Origin: "http://localhost:5173" }, 403],
        ["/_trellis/api/state", "GET", { "Sec-Fetch-Site": "cross-site" }, 403],
        ["/_trellis/api/state", "GET", { "Sec-Fetch-Site": "same-site" }, 403],
        ["/_trellis", "GET", { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" }, 200],
        [invoke, "POST", { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" }, 403],
        [invoke, "POST", { Origin: "https://evil.example" }, 403],
        [invoke, "POST", { Origin: own }, 200],
      ];
    for (const [path, method, headers, status] of cases) {
      assertEquals(
        await getStatus(`${url}${path}`, method, headers),
        status,
        `${path} ${JSON.stringify(headers)}`,
      );
    }
  });
});

Deno.test(
  "the page's API starts a queue's function and tells which messages failed",
  SERVED,
  async () => {
    await withDevServer(async ({ url }) => {
      const invoke = `${url}/_trellis/api/functions/SendMail/invoke`;
      const done = await (await fetch(invoke, { method: "POST", body: '{"to":"ada"}' })).json();
      assertEquals([done.function, done.failures], ["SendMail", []]);
      const records = [{ body: { to: "ada" } }, { body: { to: "nobody" }, messageId: "m2" }, {
        body: {},
        messageId: "m3",
      }];
      const mixed = await (await fetch(`${invoke}?as=records`, {
        method: "POST",
        body: JSON.stringify(records),
      })).json();
      assertEquals(mixed.failures, ["m2", "m3"]);
      const { logs } = await (await fetch(`${url}/_trellis/api/calls/${mixed.callId}`)).json();
      assertEquals(logs.map(({ message }: { message: string }) => message), [
        "mail sent",
        "record failed",
        "record failed",
        "request completed",
      ]);
      const unknown = await fetch(`${url}/_trellis/api/functions/Nobody/invoke`, {
        method: "POST",
      });
      assertEquals([unknown.status, (await unknown.json()).message], [
        404,
        "Unknown function Nobody",
      ]);
    });
  },
);

Deno.test("the page's API answers 502 with the error when a function throws", SERVED, async () => {
  const text = `import { defineEventHandler } from "@trellis/fn/triggers";
export const handler = defineEventHandler()(() => { throw new RangeError("too far"); });`;
  await withDevServer(async ({ url }) => {
    const response = await fetch(`${url}/_trellis/api/functions/Went/invoke`, { method: "POST" });
    const { error } = await response.json();
    assertEquals([response.status, error.message], [502, "too far"]);
  }, { "src/functions/event/went.ts": text });
});

Deno.test(
  "the page's API repeats a call with all that it had, credentials included",
  SERVED,
  async () => {
    const text = `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
export const handler = defineApiHandler({ auth: "bearer" })(function secret({ event, context }) {
  return buildValidatedResponse(context, 200, { body: event.body });
});`;
    await withDevServer(async ({ url }, project) => {
      const { API_BEARER_TOKEN } = JSON.parse(
        await Deno.readTextFile(join(project.root, ".trellis/dev/secrets.json")),
      );
      const headers = { Authorization: `Bearer ${API_BEARER_TOKEN}`, "Content-Type": "text/plain" };
      assertEquals(
        (await fetch(`${url}/secret`, { method: "POST", headers, body: "hello" }).then((r) =>
          r.json()
        )).body,
        "hello",
      );
      const [first] = (await getState(url)).calls;
      const shown = await get(`${url}/_trellis/api/calls/${first.id}`);
      assert(!shown.body.includes(API_BEARER_TOKEN));
      const replay = await fetch(`${url}/_trellis/api/calls/${first.id}/replay`, {
        method: "POST",
      });
      assertEquals((await replay.json()).status, 200);
      const [second] = (await getState(url)).calls;
      assertEquals([second.replayOf, second.status], [first.id, 200]);
      assertNotEquals(second.id, first.id);
    }, { "src/functions/api/secret.post.ts": text });
  },
);

Deno.test(
  "startDevServer() asks the project's authorizer, and answers for it as the gateway does",
  SERVED,
  async () => {
    const files = {
      "src/functions/authorizer/caller.ts":
        `import { UserStatus } from "@trellis/fn/core"; import { defineAuthorizerHandler } from "@trellis/fn/triggers";
export const handler = defineAuthorizerHandler()(function authorize({ token }) {
  if (token === "boom") throw new Error("no");
  return token === undefined ? { userStatus: UserStatus.Anonymous } : { userStatus: UserStatus.Authenticated, userId: token };
});`,
      "src/functions/api/me.get.ts": `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
export const handler = defineApiHandler({ auth: "authorizer-optional" })(({ context, userId = "nobody" }) =>
  buildValidatedResponse(context, 200, { userId }));`,
    };
    await withDevServer(async ({ url }) => {
      assertEquals(JSON.parse((await get(`${url}/me`)).body), { userId: "nobody" });
      assertEquals(JSON.parse((await get(`${url}/me`, { Authorization: "Bearer u-1" })).body), {
        userId: "u-1",
      });
      const denied = await get(`${url}/me`, { Authorization: "Bearer boom" });
      assertEquals([denied.status, denied.body], [401, '{"message":"Unauthorized"}']);
    }, files);
  },
);

Deno.test(
  "startDevServer() delivers what AWS clients send to the function that it is for",
  SERVED,
  async () => {
    const files = {
      ...FILES,
      "src/functions/event/index-note.ts":
        `import { defineEventHandler } from "@trellis/fn/triggers";
import { logInfo } from "@trellis/fn/observability";
export const handler = defineEventHandler()(({ event }) => logInfo("indexed", { detail: event.detail }));`,
      "src/functions/topic/note-shared.ts":
        `import { defineTopicHandler } from "@trellis/fn/triggers";
import { logInfo } from "@trellis/fn/observability";
export const handler = defineTopicHandler()(({ record, metadata }) =>
  logInfo("shared", { message: record.Sns.Message, id: metadata.correlationId }));`,
    };
    const infra = { functions: { IndexNote: { pattern: { "detail-type": ["note.created"] } } } };
    await using project = await createTestProject(files);
    const { url } = await project.start({}, {}, infra);
    const send = (target: string, body: unknown) =>
      fetch(`${url}/_trellis/aws`, {
        method: "POST",
        headers: { "X-Amz-Target": target },
        body: JSON.stringify(body),
      });
    const attributes = { correlationId: { DataType: "String", StringValue: "c-1" } };
    const queue = await (await send("AmazonSQS.SendMessage", {
      QueueUrl: `${url}/_trellis/aws/000000000000/fixture-dev-send-mail`,
      MessageBody: '{"to":"ada"}',
      MessageAttributes: attributes,
    })).json();
    // md5 -s '{"to":"ada"}'
    assertEquals(queue.MD5OfMessageBody, "ec0281682597866b9b15cbae1e3df7b3");
    const events = await (await send("AWSEvents.PutEvents", {
      Entries: [
        {
          EventBusName: "events",
          DetailType: "note.created",
          Source: "notes",
          Detail: '{"id":1}',
        },
        { EventBusName: "events", DetailType: "note.deleted", Source: "notes", Detail: "{}" },
      ],
    })).json();
    assertEquals([events.FailedEntryCount, events.Entries.length], [0, 2]);
    const form = new URLSearchParams({
      Action: "Publish",
      TopicArn: "arn:aws:sns:us-east-1:000000000000:note-shared",
      Message: "<hello>",
      "MessageAttributes.entry.1.Name": "correlationId",
      "MessageAttributes.entry.1.Value.DataType": "String",
      "MessageAttributes.entry.1.Value.StringValue": "c-2",
    });
    assertMatch(
      await (await fetch(`${url}/_trellis/aws`, { method: "POST", body: form })).text(),
      /<MessageId>[\w-]{36}</,
    );
    const unknown = await fetch(`${url}/_trellis/aws`, {
      method: "POST",
      body: new URLSearchParams({ Action: "Nope" }),
    });
    assertEquals([
      unknown.status,
      (await unknown.text()).includes("<Code>UnsupportedOperation</Code>"),
    ], [400, true]);
    const pages: HeadersInit[] = [
      { Origin: url },
      { Origin: "http://localhost:3000" },
      { "Sec-Fetch-Site": "same-site" },
      { Referer: "http://localhost:3000/" },
      { Cookie: "a=b" },
    ];
    for (const header of pages) {
      const page = await fetch(`${url}/_trellis/aws`, {
        method: "POST",
        headers: header,
        body: form,
      });
      assertEquals([page.status, (await page.json()).code], [403, "FORBIDDEN"]);
    }
    for (
      const path of [
        "api/tables/%ff",
        "api/calls/%",
      ]
    ) {
      const response = await fetch(`${url}/_trellis/${path}`);
      assertEquals(
        [response.status, (await response.json()).code],
        [400, "VALIDATION_FAILED"],
        path,
      );
    }
    const refused = await send("AmazonSQS.ReceiveMessage", { QueueUrl: "x" });
    assertEquals([refused.status, (await refused.json()).__type], [400, "UnsupportedOperation"]);

    let state = await getState(url);
    while (state.sent.some(({ receivers, outcomes }) => receivers.length > outcomes.length)) {
      state = await getState(url);
    }
    assertEquals(
      state.sent.map(({ service, receivers, outcomes }) => [service, receivers, outcomes]),
      [
        ["sns", ["NoteShared"], ["done"]],
        ["eventbridge", [], []],
        ["eventbridge", ["IndexNote"], ["done"]],
        ["sqs", ["SendMail"], ["done"]],
      ],
    );
    const lines = await Promise.all(state.calls.map(async ({ id }) => {
      const { logs: [line] } = await (await fetch(`${url}/_trellis/api/calls/${id}`)).json();
      return [line.message, line.to ?? line.detail ?? line.message, line.correlation_id];
    }));
    assertEquals(
      lines.filter(([message]) => message !== "indexed").map(([message, , id]) => [message, id])
        .sort(),
      [
        ["mail sent", "c-1"],
        ["shared", "c-2"],
      ],
    );
    assertEquals(lines.find(([message]) => message === "indexed")?.[1], { id: 1 });
  },
);

Deno.test(
  "startDevServer() says that the port is in use, and that the project is served already",
  SERVED,
  async () => {
    await withDevServer(async ({ port }, project) => {
      const other = await createTestProject({ [PLAIN]: FILES[PLAIN] });
      const busy = await assertRejects(() => other.start({ port }), ConfigurationError);
      assertMatch(busy.message, new RegExp(`Port ${port} is in use`));
      await other.clean();
      await project.write(".trellis/dev/lock", "1"); // a process that lives, and is not this one
      const second = await assertRejects(() => project.start(), ConfigurationError);
      assertMatch(second.message, /already running for this project \(process 1\)/);
      await project.write(".trellis/dev/lock", "4194305"); // beyond Linux' highest id: nobody
      await (await project.start()).stop();
    });
  },
);

Deno.test("startDevServer() serves the API reference and its document", SERVED, async () => {
  await withDevServer(async ({ url }) => {
    for (const path of ["/openapi.json", "/_trellis/openapi.json"]) {
      const document = JSON.parse((await get(`${url}${path}`)).body);
      assertEquals(Object.keys(document.paths), ["/hello/{name}", "/plain"]);
    }
    const response = await fetch(`${url}/_trellis/reference`);
    assertStringIncludes(await response.text(), `data-document="/_trellis/reference/openapi.json"`);
    assertMatch(
      response.headers.get("Content-Security-Policy")!,
      /^default-src 'none'; script-src 'self'; style-src 'self'; /,
    );
    const home = await fetch(url, { headers: { Accept: "text/html" }, redirect: "manual" });
    await home.body?.cancel();
    assertEquals([home.status, home.headers.get("Location")], [302, "/_trellis"]);
  });
});

Deno.test(
  "startDevServer() answers HEAD with the function of GET where the gateway does",
  SERVED,
  async () => {
    await using project = await createTestProject();
    const head = async (url: string) => {
      const response = await fetch(url, { method: "HEAD" });
      return [response.status, response.headers.get("allow"), await response.text()];
    };
    const { url, stop } = await project.start({}, {}, { api: { headRoutes: true } });
    assertEquals(await head(`${url}/plain`), [200, null, ""]);
    const refused = await fetch(`${url}/plain`, { method: "POST" });
    assertEquals([refused.status, refused.headers.get("allow")], [405, "GET, HEAD"]);
    await refused.body?.cancel();
    await stop();
    const other = await project.start();
    assertEquals(await head(`${other.url}/plain`), [405, "GET", ""]);
  },
);

Deno.test(
  "startDevServer() serves the routes of a router, and those that are added to it",
  SERVED,
  async () => {
    const router = (more: string) =>
      `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineRouter } from "@trellis/fn/router";
import { defineApiHandler } from "@trellis/fn/validation";
const echo = defineApiHandler({ auth: "authorizer-optional", cors: "http://localhost:3000" })(function echo({ event, userId, context }) {
  return buildValidatedResponse(context, 200, { resource: event.resource, parameters: event.pathParameters, userId });
});
export const handler = defineRouter({ "GET /notes": echo, "DELETE /notes/{noteId}": echo${more} });
`;
    const files = {
      ...FILES,
      "src/functions/api/notes.router.ts": router(""),
      "src/functions/authorizer/caller.ts":
        `import { UserStatus } from "@trellis/fn/core"; import { defineAuthorizerHandler } from "@trellis/fn/triggers";
export const handler = defineAuthorizerHandler()(() => ({ userStatus: UserStatus.Authenticated, userId: "u1" }));
`,
    };
    await withDevServer(async ({ url }, project) => {
      const removed = await fetch(`${url}/notes/n%201`, { method: "DELETE" });
      assertEquals([removed.status, await removed.json()], [200, {
        resource: "/notes/{noteId}",
        parameters: { noteId: "n 1" },
        userId: "u1",
      }]);
      const refused = await fetch(`${url}/notes/n1`, { method: "PUT" });
      assertEquals([refused.status, refused.headers.get("allow")], [405, "DELETE"]);
      await refused.body?.cancel();
      const preflight = await fetch(`${url}/notes/n1`, {
        method: "OPTIONS",
        headers: { Origin: "http://localhost:3000", "Access-Control-Request-Method": "DELETE" },
      });
      assertEquals([preflight.status, preflight.headers.get("access-control-allow-origin")], [
        204,
        "http://localhost:3000",
      ]);
      const routes = (await getState(url)).functions.filter(({ name }) => name === "Notes");
      assertEquals(routes.map(({ method, path }) => `${method} ${path}`), [
        "GET /notes",
        "DELETE /notes/{noteId}",
      ]);
      assertEquals((await get(`${url}/notes/latest/full`)).status, 404);
      await project.write(
        "src/functions/api/notes.router.ts",
        router(`, "GET /notes/latest/full": echo`),
      );
      assertEquals((await get(`${url}/notes/latest/full`)).status, 200);
    }, files);
  },
);

Deno.test(
  "startDevServer() passes on the parts of a streamed response, and cuts it off after an error",
  SERVED,
  async () => {
    const files = {
      ...FILES,
      "src/functions/api/parts.get.ts":
        `import { responseStreaming, streamResponse } from "@trellis/fn/streaming";
import { defineApiHandler } from "@trellis/fn/validation";
export const handler = defineApiHandler({ streaming: responseStreaming() })(function parts({ event }) {
  return streamResponse(async function* (signal) {
    yield "first";
    if (event.queryStringParameters?.fail) throw new Error("no more parts");
    yield "second";
  });
});
`,
    };
    await withDevServer(async ({ url }) => {
      assertEquals(await get(`${url}/parts`), { status: 200, body: "firstsecond" });
      await assertRejects(() => get(`${url}/parts?fail=1`));
      const [failed, done] = (await getState(url)).calls;
      assertEquals([done.status, done.isFailed, failed.isFailed], [200, false, true]);
    }, files);
  },
);
