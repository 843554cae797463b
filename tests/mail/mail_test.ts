import { createLambdaContext } from "../../testing/context.ts";
import { withObservability } from "../../core/with_observability.ts";
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import * as z from "zod";
import { withTransaction } from "../../database/mod.ts";
import { ConfigurationError, ValidationError } from "../../errors/mod.ts";
import {
  configureMail,
  createFolderTransport,
  createMemoryTransport,
  createSesTransport,
  createSmtpTransport,
  defineMail,
  escapeHtml,
  type MailTransport,
} from "../../mail/mod.ts";
import { startSesServer } from "../support/ses_server.ts";
import { captureLogs } from "../support/capture_logs.ts";
import { startSmtpServer } from "../support/smtp_server.ts";
import { withEnv } from "../support/with_env.ts";
import { withOutbox } from "./outbox.ts";

const welcome = defineMail({
  name: "account.welcome",
  schema: z.object({ name: z.string(), at: z.coerce.date().optional() }),
  render: ({ name }) => ({
    subject: `Welcome, ${name}`,
    text: `Hello ${name}`,
    html: `<p>Hello ${escapeHtml(name)}</p>`,
  }),
  retry: { baseDelaySeconds: 0 },
});

async function withTransport(transport: MailTransport, test: () => Promise<void>): Promise<void> {
  const restore = configureMail({ transport, from: "Nötes <notes@example.com>" });
  await test().finally(restore);
}

Deno.test("send() sends a mail after COMMIT, and none when the transaction is rolled back", async () => {
  const transport = createMemoryTransport();
  await withTransport(transport, () =>
    withOutbox(async ({ db, run }) => {
      await assertRejects(() =>
        withTransaction(db, async (tx) => {
          await welcome.send(tx, { to: "ada@example.com", data: { name: "Ada" } });
          throw new Error("rolled back");
        })
      );
      assertEquals((await run(welcome.job)).done, 0);
      const id = await withTransaction(
        db,
        (tx) =>
          welcome.send(tx, {
            to: ["Ada <ada@example.com>", "bob@bücher.example"],
            bcc: "log@example.com",
            headers: { "List-Unsubscribe": "<https://example.com/u>" },
            data: { name: "Ada <3\r\nBcc: x@example.com" },
          }),
      );
      assertEquals((await run(welcome.job)).done, 1);
      const [mail] = transport.mails;
      assertEquals(mail.id, id);
      assertEquals(mail.to, ['"Ada" <ada@example.com>', "bob@xn--bcher-kva.example"]);
      assertEquals(mail.from, "=?UTF-8?B?TsO2dGVz?= <notes@example.com>");
      assertEquals(mail.subject, "Welcome, Ada <3  Bcc: x@example.com");
      assertStringIncludes(mail.html!, "Ada &lt;3");
      assertEquals([mail.bcc, mail.cc, mail.name], [["log@example.com"], [], "account.welcome"]);
    }));
});

Deno.test("send() sends one mail for each key", async () => {
  const transport = createMemoryTransport();
  await withTransport(transport, () =>
    withOutbox(async ({ db, run }) => {
      const request = { to: "ada@example.com", data: { name: "Ada" }, key: "user-1" };
      assertEquals(await welcome.send(db, request), await welcome.send(db, request));
      await run(welcome.job);
      await welcome.send(db, request);
      await run(welcome.job);
      assertEquals(transport.mails.length, 1);
    }));
});

Deno.test("send() rejects invalid recipients, headers and data", async () => {
  const wrong: [string, Record<string, unknown>][] = [
    ["to", { to: [] }],
    ["to", { to: "ada" }],
    ["to", { to: "ada@example.com\nBcc: eve@example.com" }],
    ["to", { to: "Ada\r\n <ada@example.com>" }],
    ["to", { to: "ada@exa mple.com" }],
    ["to", { to: "a..b@example.com" }],
    ["to", { to: "ada@-example.com" }],
    ["to", { to: "ada@localhost" }],
    ["to", { to: `${"a".repeat(65)}@example.com` }],
    ["to", { to: "ada@example.com, eve@example.com" }],
    ["to", { to: "<ada@example.com> <eve@example.com>, x" }],
    ["to", { to: Array(51).fill("ada@example.com") }],
    ["cc", { cc: "eve" }],
    ["headers.Subject", { headers: { Subject: "other" } }],
    ["headers.X-A", { headers: { "X-A": "a\r\nBcc: eve@example.com" } }],
    ["headers.X A", { headers: { "X A": "a" } }],
    ["data.name", { data: { name: 1 } }],
  ];
  await withOutbox(async ({ db, run }) => {
    for (const [field, part] of wrong) {
      const request = { to: "ada@example.com", data: { name: "Ada" }, ...part };
      const error = await assertRejects(() => welcome.send(db, request as never), ValidationError);
      assertEquals(Object.keys(error.errors), [field]);
    }
    assertEquals(await run(welcome.job), { done: 0, retried: 0, dead: 0, lost: 0 });
  });
});

Deno.test("createSesTransport() sends through the API, retries failures and gives up on refusals", async () => {
  const ses = startSesServer();
  const variables = {
    AWS_ENDPOINT_URL_SESV2: ses.url,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
  };
  const transport = createSesTransport({ configurationSet: "notes" });
  await withEnv(variables, () =>
    withTransport(transport, () =>
      withOutbox(async ({ db, run }) => {
        const request = {
          to: "ada@example.com",
          replyTo: "help@example.com",
          data: { name: "Ädä" },
        };
        const id = await welcome.send(db, request);
        ses.fail("TooManyRequestsException", 429, 5);
        const first = await run(welcome.job);
        assertEquals(first.retried >= 1, true);
        while (ses.sent.length === 0) await run(welcome.job);
        assertEquals(ses.sent, [{
          FromEmailAddress: "=?UTF-8?B?TsO2dGVz?= <notes@example.com>",
          Destination: { ToAddresses: ["ada@example.com"], CcAddresses: [], BccAddresses: [] },
          ReplyToAddresses: ["help@example.com"],
          ConfigurationSetName: "notes",
          EmailTags: [
            { Name: "mail", Value: "account_welcome" },
            { Name: "mail-id", Value: id },
          ],
          Content: {
            Simple: {
              Subject: { Data: "Welcome, Ädä", Charset: "UTF-8" },
              Body: {
                Text: { Data: "Hello Ädä", Charset: "UTF-8" },
                Html: { Data: "<p>Hello Ädä</p>", Charset: "UTF-8" },
              },
              Headers: [],
            },
          },
        }]);
        await welcome.send(db, request);
        ses.fail("MessageRejected", 400);
        assertEquals((await run(welcome.job)).dead, 1);
      }))).finally(() => ses.stop());
});

Deno.test("createSmtpTransport() sends with a stable Message-ID, retries failures and gives up on refusals", async () => {
  const smtp = await startSmtpServer();
  await withTransport(
    createSmtpTransport({ url: () => smtp.url }),
    () =>
      withOutbox(async ({ db, run }) => {
        const id = await welcome.send(db, {
          to: "Ada <ada@example.com>",
          bcc: "log@example.com",
          data: { name: "Ada" },
        });
        assertEquals((await run(welcome.job)).done, 1);
        const [mail] = smtp.mails;
        assertEquals([mail.from, mail.to], ["notes@example.com", [
          "ada@example.com",
          "log@example.com",
        ]]);
        assertStringIncludes(mail.data, `Message-ID: <${id}@example.com>`);
        assertStringIncludes(mail.data, "Subject: Welcome, Ada");
        assertStringIncludes(mail.data, "To: Ada <ada@example.com>");
        assertEquals(mail.data.includes("log@example.com"), false);
        smtp.refuse("gone@example.com", "550 5.1.1 no such user");
        await welcome.send(db, { to: "gone@example.com", data: { name: "G" } });
        assertEquals((await run(welcome.job)).dead, 1);
        smtp.refuse("full@example.com", "452 4.2.2 mailbox full");
        await welcome.send(db, { to: "full@example.com", data: { name: "F" } });
        assertEquals((await run(welcome.job)).retried >= 1, true);
      }),
  ).finally(() => smtp.stop());
});

Deno.test("createSmtpTransport() reports recipients that the server refused, and sends the mail once to the others", async () => {
  const smtp = await startSmtpServer();
  try {
    smtp.refuse("gone@example.com", "550 5.1.1 no such user");
    const transport = createSmtpTransport({ url: smtp.url });
    const lists = { cc: [], bcc: [], replyTo: [], headers: {} };
    const message = {
      ...lists,
      id: crypto.randomUUID(),
      name: "news",
      from: "shop@example.com",
      to: ["ada@example.com", "gone@example.com"],
      subject: "News",
      text: "…",
    };
    const send = withObservability(
      () => transport.send(message, new AbortController().signal),
      { logging: { level: "ERROR" }, metrics: false },
    );
    const { lines } = await captureLogs(() => send({}, createLambdaContext()));
    assertEquals(smtp.mails.map(({ to }) => to), [["ada@example.com"]]);
    assertEquals(lines.map(({ level, mail, rejected }) => [level, mail, rejected]), [
      ["ERROR", "news", 1],
    ]);
    assertEquals(JSON.stringify(lines).includes("gone@example.com"), false);
  } finally {
    await smtp.stop();
  }
});

Deno.test("createFolderTransport() writes one file for each mail", async () => {
  const folder = await Deno.makeTempDir();
  await withTransport(
    createFolderTransport(`${folder}/mail`),
    () =>
      withOutbox(async ({ db, run }) => {
        await welcome.send(db, { to: "ada@example.com", data: { name: "Ada" } });
        await run(welcome.job);
      }),
  );
  const [{ name }] = await Array.fromAsync(Deno.readDir(`${folder}/mail`));
  const { to, subject, text, html, at } = JSON.parse(
    await Deno.readTextFile(`${folder}/mail/${name}`),
  );
  assertEquals([to, subject, text, html], [
    ["ada@example.com"],
    "Welcome, Ada",
    "Hello Ada",
    "<p>Hello Ada</p>",
  ]);
  assertEquals(Number.isNaN(Date.parse(at)), false);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("configureMail() sends nothing in trellis dev, but hands mails to the local page", async () => {
  const transport = createMemoryTransport();
  const folder = await Deno.makeTempDir();
  const previous = Deno.cwd();
  const received: unknown[] = [];
  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    received.push(await request.json());
    return new Response();
  });
  Deno.chdir(folder);
  try {
    const url = `http://127.0.0.1:${http.addr.port}/`;
    await withEnv(
      { TRELLIS_MAIL_URL: url },
      () =>
        withTransport(transport, () =>
          withOutbox(async ({ db, run }) => {
            await welcome.send(db, { to: "ada@example.com", data: { name: "Ada" } });
            assertEquals((await run(welcome.job)).done, 1);
          })),
    );
    assertEquals(transport.mails, []);
    assertEquals(received, [{
      to: ["ada@example.com"],
      subject: "Welcome, Ada",
      text: "Hello Ada",
      html: "<p>Hello Ada</p>",
    }]);
    const files = await Array.fromAsync(Deno.readDir(`${folder}/.trellis/mail`));
    assertEquals(files.length, 1);
  } finally {
    Deno.chdir(previous);
    await http.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("mail options are refused at start when they are invalid", () => {
  const transport = createMemoryTransport();
  const wrong: (() => unknown)[] = [
    () => configureMail({ transport, from: "nobody" }),
    () => configureMail({ transport, from: "a@example.com\nBcc: b@example.com" }),
    () => configureMail({ transport: {}, from: "a@example.com" } as never),
    () => configureMail({ transport } as never),
    () => createSesTransport({ configurationSet: "a b" }),
    () => createSmtpTransport({} as never),
    () => createSmtpTransport({ url: "http://example.com" }),
    () => createSmtpTransport({ url: "example.com" }),
    () =>
      defineMail({ name: "a b", schema: z.string(), render: () => ({ subject: "", text: "" }) }),
    () => defineMail({ name: "a", schema: z.string() } as never),
  ];
  for (const define of wrong) assertThrows(define, ConfigurationError);
});
