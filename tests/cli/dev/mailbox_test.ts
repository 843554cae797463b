import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { createMailbox } from "../../../cli/dev/mailbox.ts";
import { findLinks } from "../../../testing/find_links.ts";
import { createRecorder } from "../../../cli/dev/functions/recorder.ts";
import { ValidationError } from "../../../errors/mod.ts";
import { createTestProject, FILES } from "./fixtures/project.ts";

Deno.test("createMailbox() keeps the last 200 mails, newest first, and notifies the page", () => {
  const recorder = createRecorder();
  try {
    const shown: unknown[] = [];
    recorder.listen((event) => event.type === "mail" && shown.push(event.mail.subject));
    const mailbox = createMailbox(recorder);
    for (let at = 0; at <= 200; at++) {
      mailbox.take(JSON.stringify({ to: ["a@x.example"], subject: `${at}`, text: "text" }));
    }
    assertEquals(mailbox.mails.length, 200);
    assertEquals([mailbox.mails[0].subject, mailbox.mails[199].subject], ["200", "1"]);
    assertEquals(shown.length, 201);
  } finally {
    recorder.stop();
  }
});

Deno.test("findLinks() lists the addresses of text and HTML once, without the sentence around them", () => {
  assertEquals(
    findLinks([
      "Verify (https://a.example/v?t=1&u=2). Or http://b.example!",
      '<a href="https://a.example/v?t=1&amp;u=2">verify</a>',
    ]),
    ["https://a.example/v?t=1&u=2", "http://b.example"],
  );
});

const BAD: [string, string][] = [
  ["no JSON", "{"],
  ["null", "null"],
  ["no address", '{"subject":"s","text":"t"}'],
  ["no subject", '{"to":"a@x.example","text":"t"}'],
  ["no text", '{"to":"a@x.example","subject":"s"}'],
];

for (const [name, body] of BAD) {
  Deno.test(`createMailbox() refuses a mail with ${name}`, () => {
    const recorder = createRecorder();
    try {
      assertThrows(() => createMailbox(recorder).take(body), ValidationError);
    } finally {
      recorder.stop();
    }
  });
}

Deno.test("startDevServer() takes mails from programs, not from pages, and shows no accounts of the database in the environment", async () => {
  await using project = await createTestProject(FILES);
  const server = await project.start();
  const post = (headers: Record<string, string>) =>
    fetch(`${server.url}/_trellis/mail`, {
      method: "POST",
      headers,
      body: JSON.stringify({ to: "a@x.example", subject: "Hello", text: "Text" }),
    }).then(async (response) => (await response.body?.cancel(), response.status));
  assertEquals(await post({ origin: "http://localhost:1234" }), 403);
  assertEquals(await post({}), 202);
  const state = await (await fetch(`${server.url}/_trellis/api/state`)).json();
  assertEquals(state.mails.map(({ subject }: { subject: string }) => subject), ["Hello"]);
  const accounts = await fetch(`${server.url}/_trellis/api/accounts`);
  assertEquals(accounts.status, 404);
  assertStringIncludes((await accounts.json()).message, "the database in the environment");
  const signIn = await fetch(`${server.url}/_trellis/api/accounts/1/sign-in`, { method: "POST" });
  assertEquals([signIn.status, signIn.headers.get("set-cookie")], [404, null]);
  await signIn.body?.cancel();
});
