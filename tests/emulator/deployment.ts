/**
 * A project from its first deployment to its end, on an emulator of AWS that others wrote: real
 * requests of the AWS clients, checks of IAM policies, TLS and PostgreSQL. Everything runs from the
 * packed npm package, as a user has it.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { compareGrants } from "./grants.ts";
import { renderHealth, STATES } from "./project.ts";
import { checkPlanIsEmpty, testOnEmulator, until } from "./suite.ts";

/** Actions of functions' roles that Lambda itself uses, and that the emulator does not check; docs/security.md has the reasons. */
const UNUSED: readonly string[] = [
  "logs:CreateLogStream",
  "logs:PutLogEvents",
  "sqs:DeleteMessage",
  "sqs:GetQueueAttributes",
  "sqs:ReceiveMessage",
  "sqs:SendMessage",
  "xray:PutTelemetryRecords",
  "xray:PutTraceSegments",
];

testOnEmulator("a project deploys, answers, changes, goes back and ends", async (suite) => {
  const { emulator, root, step, trellis, send, databaseUrl, otherUrl } = suite;
  let api = "";
  const get = async <T>(path: string): Promise<T> =>
    await (await emulator.request(`${api}${path}`)).json();
  const listTitles = async () =>
    (await get<{ notes: { title: string }[] }>("/notes?limit=100")).notes.map(({ title }) => title);

  await step("a deployment stops at the address that nobody has put", async () => {
    const { code, text } = await trellis("deploy --stage dev --yes --generate-secrets");
    assertEquals(code, 1, text);
    assertStringIncludes(text, "trellis secrets set DATABASE_URL --stage dev < file");
    assertStringIncludes(text, "Not run: migrations, grants, apply, release, smoke.");
    const put = await trellis("secrets set DATABASE_URL --stage dev", otherUrl);
    assertEquals(put.code, 0, put.text);
  });

  await step(
    "a deployment refuses to migrate another database than the functions use",
    async () => {
      const { code, text } = await trellis("deploy --stage dev --yes");
      assertEquals(code, 1, text);
      assertStringIncludes(
        text,
        "failed migrations: DATABASE_URL of this shell is another database",
      );
      assertEquals((await trellis("secrets set DATABASE_URL --stage dev", databaseUrl)).code, 0);
    },
  );

  await step("the next deployment goes on to its end", async () => {
    const { code, text } = await trellis("deploy --stage dev --yes");
    assertEquals(code, 0, text);
    assertMatch(
      text,
      /; 8 logins \(8 new, 0 unchanged\): each has signed in with its privileges/,
    );
    assertMatch(text, /done smoke: GET https:\/\/\S+\/live\/health: 200/);
    [, api] = /API: (\S+)/.exec(text)!;
  });

  await step("every trigger reaches its function, with its role and its grants", async () => {
    const posted = await emulator.request(`${api}/notes`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: "posted" }),
    });
    assertEquals(posted.status, 201, await posted.text());
    await send(
      ["sqs", "SendMessageBatch", {
        QueueUrl: "https://sqs.eu-central-1.amazonaws.com/123456789012/app-dev-queued",
        Entries: [{ title: "queued" }, { wrong: true }].map((body, index) => ({
          Id: `${index}`,
          MessageBody: JSON.stringify(body),
        })),
      }],
      ["sns", "Publish", {
        TopicArn: "arn:aws:sns:eu-central-1:123456789012:app-dev-told",
        Message: JSON.stringify({ title: "told" }),
      }],
      ["eventbridge", "PutEvents", {
        Entries: [{
          EventBusName: "app-dev-domain",
          Source: "suite",
          DetailType: "note.wanted",
          Detail: JSON.stringify({ title: "happened" }),
        }],
      }],
      ["s3", "PutObject", { Bucket: "app-dev-files", Key: "summer 2026/a+b ü.txt", Body: "x" }],
    );
    const expected = ["happened", "posted", "queued", "summer 2026/a+b ü.txt", "told"];
    const isThere = (titles: string[]) => expected.every((title) => titles.includes(title));
    assert(isThere(await until(listTitles, isThere)));
  });

  await step("a second plan is empty", () => checkPlanIsEmpty(suite));

  await step("a migration that breaks the running release is refused", async () => {
    const file = join(root, "migrations/0002_name.sql");
    await Deno.writeTextFile(file, "ALTER TABLE notes RENAME title TO name;\n");
    const { code, text } = await trellis("deploy --stage dev --yes");
    assertEquals(code, 1, text);
    assertMatch(
      text,
      /failed compat: 0002_name.sql:1: ALTER TABLE notes RENAME title TO name\n/,
    );
    assertStringIncludes(text, "breaks listNotes (src/queries/notes.ts:");
    assertStringIncludes(text, "\nThe stage is unchanged.\n");
    await Deno.remove(file);
    assertEquals((await listTitles()).includes("posted"), true);
  });

  await step("a change is released, while another deployment is refused", async () => {
    const health = join(root, "src/functions/api/health.get.ts");
    await Deno.writeTextFile(health, renderHealth("second"));
    const deploying = trellis("deploy --stage dev --yes");
    const lock = { Bucket: STATES, Key: "app/dev.tfstate.deploy.lock" };
    await until(() => send(["s3", "HeadObject", lock]).catch(() => undefined), Boolean);
    const refused = await trellis("deploy --stage dev --rollback");
    assertEquals(refused.code, 3, refused.text);
    assertStringIncludes(refused.text, "is deploying app-dev (since ");
    assertEquals(/\n\s+at /.test(refused.text), false, refused.text);
    const { code, text } = await deploying;
    assertEquals(code, 0, text);
    assertStringIncludes(text, "done release: 1 function released");
    assertEquals(await get("/health"), { release: "second" });
  });

  await step("the schedule has run", async () => {
    const isTick = (titles: string[]) => titles.some((title) => /^tick 20\d\d-/.test(title));
    assert(isTick(await until(listTitles, isTick)));
  });

  await step("functions get other passwords while requests are answered", async () => {
    const { code, text } = await trellis("db rotate --stage dev");
    assertEquals(code, 0, text);
    assertStringIncludes(text, "; 8 logins (8 new, 0 unchanged): each has signed in");
    assertEquals((await listTitles()).includes("posted"), true);
  });

  await step("a rollback brings the version before back", async () => {
    const { code, text } = await trellis("deploy --stage dev --rollback");
    assertEquals(code, 0, text);
    assertEquals(await get("/health"), { release: "first" });
  });

  await step("no request was denied", async () => {
    assertEquals(await emulator.listDenied(), []);
  });

  await step("functions have used what they are granted, but for what is listed", async () => {
    const names = [
      "Happened",
      "Health",
      "NotesGet",
      "NotesPost",
      "Queued",
      "Stored",
      "Tick",
      "Told",
    ];
    assertEquals(await compareGrants(suite, names), { surplus: [], unused: UNUSED });
  });

  await step("destroy leaves nothing", async () => {
    const { code, text } = await trellis("destroy --stage dev --confirm dev");
    assertEquals(code, 0, text);
    const { Contents } = (await send(["s3", "ListObjectsV2", { Bucket: STATES }]))[0];
    assertEquals(Contents.map(({ Key }: { Key: string }) => Key), ["app/dev.tfstate"]);
    const [state] = await send(["s3", "GetObject", { Bucket: STATES, Key: "app/dev.tfstate" }]);
    assertEquals(JSON.parse(state.text).resources, []);
  });
});
