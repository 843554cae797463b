/**
 * Ways between functions and clients beside an API, on an emulator of AWS: WebSockets with messages of the server, uploads to a
 * bucket, mails and what becomes of them, and the URL of a function that answers in parts. The emulator collects such an
 * answer: `tests/streaming/lambda_runtime_system_test.ts` tests the time of its parts and a slow client.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { JOBS_MIGRATION_SQL } from "../../jobs/migration.ts";
import { SUBSCRIPTION_MIGRATION_SQL } from "../../realtime/migration.ts";
import { compareGrants } from "./grants.ts";
import { listProjectFiles, renderHealth, STATES } from "./project.ts";
import { checkPlanIsEmpty, deployFirst, destroyStage, testOnEmulator, until } from "./suite.ts";

/** As in `deployment.ts`, what Lambda itself does with a role; and the right without which S3 answers 403 for a missing object. */
const UNUSED: readonly string[] = [
  "logs:CreateLogStream",
  "logs:PutLogEvents",
  "s3:ListBucket",
  "sqs:SendMessage",
  "xray:PutTelemetryRecords",
  "xray:PutTraceSegments",
];

testOnEmulator(
  "clients get messages, upload files, are written to, and read an answer in parts",
  async (suite) => {
    const { emulator, send, step } = suite;
    let api = "";
    let outputs: Readonly<Record<string, { readonly value: unknown }>> = {};
    const post = async (path: string, status: number, body: unknown) => {
      const response = await emulator.request(`${api}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      assertEquals(response.status, status, text);
      return JSON.parse(text);
    };
    const listTitles = async () => {
      const response = await emulator.request(`${api}/notes?limit=100`);
      const { notes } = await response.json() as { notes: { title: string }[] };
      return notes.map(({ title }) => title);
    };
    const untilNoted = async (title: string) => {
      const titles = await until(listTitles, (found) => found.includes(title));
      assert(titles.includes(title), `${title} is not one of ${titles}`);
    };

    await step("deploy", async () => {
      api = await deployFirst(suite);
      const Key = "app/dev.tfstate";
      const [state] = await send(["s3", "GetObject", { Bucket: STATES, Key }]);
      outputs = JSON.parse(state.text).outputs;
    });

    await step(
      "sockets get what another client says, and what another function announces",
      async () => {
        const open = async () => {
          const socket = emulator.connect(outputs.websocket_url.value as string);
          const messages: string[] = [];
          socket.onmessage = ({ data }) => messages.push(data);
          await new Promise((resolve, reject) => {
            socket.onopen = resolve;
            socket.onerror = reject;
          });
          return { socket, messages };
        };
        const [first, second] = [await open(), await open()];
        const receive = ({ messages }: typeof first, text: string) =>
          until(() => Promise.resolve(messages), () => messages.includes(`{"text":"${text}"}`));
        const announce = (text: string) => post("/announce", 200, { text });

        first.socket.send(JSON.stringify({ action: "say", text: "hello" }));
        for (const client of [first, second]) await receive(client, "hello");
        assertEquals(await announce("news"), { delivered: 2, gone: 0, failed: 0 });
        const expected = ['{"text":"hello"}', '{"text":"news"}'];
        for (const client of [first, second]) assertEquals(await receive(client, "news"), expected);

        const closed = new Promise((resolve) => second.socket.onclose = resolve);
        second.socket.close();
        await closed;
        const last = await until(() => announce("later"), ({ delivered }) => delivered === 1);
        assertEquals([last.delivered, last.failed], [1, 0]);
        assertEquals((await receive(first, "later")).slice(0, 3), [
          ...expected,
          '{"text":"later"}',
        ]);
        assertEquals(second.messages, expected);
        first.socket.close();
      },
    );

    await step(
      "a file of a form and one of a URL reach their handler, others are refused",
      async () => {
        const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1]);
        const sendForm = async (file: Uint8Array<ArrayBuffer>) => {
          const { url, fields, key } = await post("/uploads", 201, { way: "form" });
          const form = new FormData();
          for (const [name, value] of Object.entries(fields)) form.append(name, value as string);
          form.append("file", new Blob([file]));
          const { pathname } = new URL(url);
          const response = await emulator.ask(pathname, { method: "POST", body: form });
          return { key, status: response.status, text: await response.text() };
        };
        const sent = await sendForm(png);
        assertEquals(sent.status, 204, sent.text);
        await untilNoted(`${sent.key} ada ${png.length}`);

        const large = await sendForm(new Uint8Array(1001));
        assertEquals(large.status, 400);
        assertStringIncludes(large.text, "EntityTooLarge");

        const { url, headers, key } = await post("/uploads", 201, { way: "url", size: png.length });
        const { pathname, search } = new URL(url);
        const path = `${pathname}${search}`;
        const put = async (body: Uint8Array<ArrayBuffer>) => {
          const response = await emulator.ask(path, { method: "PUT", headers, body });
          return [response.status, await response.text()] as const;
        };
        assertEquals((await put(new Uint8Array([...png, 0])))[0], 403);
        assertEquals((await put(png))[0], 200);
        await untilNoted(`${key} ada ${png.length}`);

        const text = await sendForm(new TextEncoder().encode("no picture"));
        assertEquals(text.status, 204, text.text);
        const Bucket = "app-dev-files";
        const listKeys = async () =>
          ((await send(["s3", "ListObjectsV2", { Bucket }]))[0].Contents ?? [])
            .map(({ Key }: { Key: string }) => Key);
        const kept = await until(listKeys, (keys) => !keys.includes(text.key));
        assertEquals(kept.sort(), [sent.key, key].sort());
      },
    );

    await step(
      "a mail is sent, and its bounce or complaint reaches the handler of events",
      async () => {
        const simulator = "simulator.amazonses.com";
        for (const name of ["bounce", "complaint", "success"]) {
          await post("/letters", 202, { to: `${name}@${simulator}` });
        }
        await untilNoted(`bounce true bounce@${simulator} letter`);
        await untilNoted(`complaint false complaint@${simulator} letter`);
        const { messages } = await (await emulator.ask("/_ministack/ses/messages")).json();
        const mails = (Object.values(messages) as { readonly To: string[] }[][]).flat();
        assertEquals(mails.map(({ To }) => To[0].split("@")[0]).sort(), [
          "bounce",
          "complaint",
          "success",
        ]);
        const notes = (await listTitles()).filter((title) => title.includes(simulator));
        assertEquals(notes.length, 2, notes.join());
      },
    );

    await step(
      "the URL of a function gives its answer in parts with status and headers",
      async () => {
        const [url] = Object.values(outputs.function_urls.value as Record<string, string>);
        assertMatch(url, /^https:\/\/\w+\.lambda-url\./);
        const response = await emulator.request(`${url}lines?count=1000`);
        assertEquals(response.status, 200);
        assertEquals(response.headers.get("content-type"), "application/x-ndjson");
        const lines = (await response.text()).trimEnd().split("\n");
        assertEquals(lines, Array.from({ length: 1000 }, (_, line) => `{"line":${line}}`));
        const refused = await emulator.request(`${url}lines?count=none`);
        assertEquals(refused.status, 400);
        assertEquals((await refused.json()).code, "VALIDATION_FAILED");
      },
    );

    await step("no request was denied, and functions have used what they are granted", async () => {
      assertEquals(await emulator.listDenied(), []);
      const names = [
        ...["Announce", "Connect", "Disconnect", "Say"],
        ...["Uploads", "Stored", "Letters", "JobsRelay", "MailEvents", "Lines"],
      ];
      const { surplus, unused } = await compareGrants(suite, names);
      assertEquals(surplus, []);
      assertEquals(unused, UNUSED);
    });

    await step("a second plan is empty", () => checkPlanIsEmpty(suite));

    await step("destroy ends all of it", () => destroyStage(suite));
  },
  {
    isLong: true,
    project: {
      template: "api",
      packages: [
        "@aws-sdk/client-apigatewaymanagementapi",
        "@aws-sdk/client-sesv2",
        "@aws-sdk/s3-presigned-post",
        "@aws-sdk/s3-request-presigner",
      ],
      render() {
        const files = listProjectFiles();
        return Promise.resolve({
          "trellis.config.ts": files["trellis.config.ts"]
            .replace("buses: { domain: {} },", SETTINGS)
            .replace(/functions: \{[^]*?\n {4}\},/, FUNCTIONS),
          "migrations/0002_jobs.sql": JOBS_MIGRATION_SQL,
          "migrations/0003_connections.sql": SUBSCRIPTION_MIGRATION_SQL,
          "src/database.ts": files["src/database.ts"],
          "src/functions/api/health.get.ts": renderHealth("first"),
          ...FILES,
        });
      },
    },
  },
);

const SETTINGS = `mail: { identity: "example.com" },
    environment: {
      FILES_BUCKET: { bucket: "files" },
      MAIL_FROM: "Notes <notes@example.com>",
      SOCKET_URL: { websocket: true },
    },`;

const FUNCTIONS = `functions: { Stored: { bucket: "files", prefix: "files/" } },`;

const FILES: Readonly<Record<string, string>> = {
  "src/sockets.ts": `import { getRequiredEnv } from "@trellis/fn/env";
import { createConnectionStore, createPublisher } from "@trellis/fn/realtime";
import { getDb } from "./database.ts";

export const connections = createConnectionStore(getDb);
export const publisher = createPublisher({ connections, endpoint: () => getRequiredEnv("SOCKET_URL") });
`,
  "src/functions/websocket/$connect.ts":
    `import { defineWebSocketHandler } from "@trellis/fn/triggers";
import { connections } from "../../sockets.ts";

export const handler = defineWebSocketHandler({ auth: "none" })(async ({ connectionId }) => {
  await connections.subscribe(connectionId, "room");
});
`,
  "src/functions/websocket/$disconnect.ts":
    `import { defineWebSocketHandler } from "@trellis/fn/triggers";
import { connections } from "../../sockets.ts";

export const handler = defineWebSocketHandler()(({ connectionId }) => connections.remove(connectionId));
`,
  "src/functions/websocket/say.ts": `import { defineWebSocketHandler } from "@trellis/fn/triggers";
import * as z from "zod";
import { publisher } from "../../sockets.ts";

export const handler = defineWebSocketHandler({ schema: z.object({ text: z.string() }) })(async (params) => {
  if (params.eventType === "MESSAGE") await publisher.publish("room", { text: params.body.text });
});
`,
  "src/functions/api/announce.post.ts":
    `import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { publisher } from "../../sockets.ts";

const result = z.object({ delivered: z.number(), gone: z.number(), failed: z.number() });

export const handler = defineApiHandler({ schema: z.object({ text: z.string() }), responses: { 200: result } })(
  async ({ body }) => reply(200, await publisher.publish("room", body)),
);
`,
  "src/uploads.ts": `import { getRequiredEnv } from "@trellis/fn/env";
import { defineUpload } from "@trellis/fn/uploads";

export const pictures = defineUpload({
  bucket: () => getRequiredEnv("FILES_BUCKET"),
  prefix: "files",
  types: ["image/png"],
  maxBytes: 1000,
});
`,
  "src/functions/api/uploads.post.ts":
    `import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { pictures } from "../../uploads.ts";

const schema = z.discriminatedUnion("way", [
  z.object({ way: z.literal("form") }),
  z.object({ way: z.literal("url"), size: z.number() }),
]);

export const handler = defineApiHandler({ schema, responses: { 201: z.looseObject({ url: z.string() }) } })(
  async ({ body }) => {
    const request = { owner: "ada", contentType: "image/png" };
    if (body.way === "form") return reply(201, { ...await pictures.createForm(request) });
    return reply(201, { ...await pictures.createUrl({ ...request, size: body.size }) });
  },
);
`,
  "src/functions/storage/stored.ts": `import { defineUploadHandler } from "@trellis/fn/uploads";
import { createNote } from "../../queries/notes.ts";
import { pictures } from "../../uploads.ts";

export const handler = defineUploadHandler({ upload: pictures })(async ({ owner, key, size }) => {
  await createNote({ title: \`\${key} \${owner} \${size}\`, body: "" });
});
`,
  "src/mails.ts": `import { getRequiredEnv } from "@trellis/fn/env";
import { configureMail, createSesTransport, defineMail } from "@trellis/fn/mail";
import * as z from "zod";
import { defineQuery } from "./database.ts";

configureMail({ transport: createSesTransport(), from: () => getRequiredEnv("MAIL_FROM") });

export const letter = defineMail({
  name: "letter",
  schema: z.object({}),
  render: () => ({ subject: "Hello", text: "A letter" }),
});

export const sendLetter = defineQuery({ transaction: true, tables: [] }, async function sendLetter(tx, to: string) {
  await letter.send(tx, { to, data: {} });
});
`,
  "src/functions/api/letters.post.ts":
    `import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { sendLetter } from "../../mails.ts";

export const handler = defineApiHandler({ schema: z.object({ to: z.email() }), responses: { 202: z.object({}) } })(
  async ({ body }) => {
    await sendLetter(body.to);
    return reply(202, {});
  },
);
`,
  "src/functions/schedule/jobs_relay.ts": `import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb } from "../../database.ts";
import { letter } from "../../mails.ts";

export const handler = defineJobRelayHandler({ getDb, jobs: [letter.job] });
`,
  "src/functions/topic/mail_events.ts": `import { defineMailEventHandler } from "@trellis/fn/mail";
import { createNote } from "../../queries/notes.ts";

export const handler = defineMailEventHandler()(async ({ event }) => {
  const title = [event.type, event.isPermanent === true, event.recipients[0].address, event.mailName].join(" ");
  await createNote({ title, body: "" });
});
`,
  "src/functions/api/lines.get.ts":
    `import { responseStreaming, streamResponse } from "@trellis/fn/streaming";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";

export const infra = { url: true };

export const handler = defineApiHandler({
  streaming: responseStreaming(),
  querySchema: z.object({ count: z.coerce.number().int() }),
})(({ query }) =>
  streamResponse(async function* () {
    for (let line = 0; line < query.count; line++) yield \`\${JSON.stringify({ line })}\\n\`;
  }, { headers: { "Content-Type": "application/x-ndjson" } })
);
`,
};
