import { JOBS_MIGRATION_SQL } from "../../jobs/migration.ts";
import { withoutMargins } from "./margin.ts";
import { renderAuthConfig } from "./note_files.ts";

/** What the template `accounts` adds to notes: verification and reset by mail. */
export const ACCOUNT_FILES: Readonly<Record<string, string>> = {
  "migrations/0002_jobs.sql": JOBS_MIGRATION_SQL,
  "src/auth.ts": renderAuthConfig([
    "// the origins of your pages",
    'trustedOrigins: [getOptionalEnv("WEB_ORIGIN", "http://localhost:3000")],',
    "// functions that only check sessions do not load the mails",
    'mail: async () => (await import("./mails.ts")).mails,',
    "emailAndPassword: { enabled: true, requireEmailVerification: true },",
    "emailVerification: { sendOnSignUp: true, autoSignInAfterVerification: true },",
  ]),
  ...withoutMargins({
    "src/mails.ts": `|import { createAccountMails } from "@trellis/fn/auth";
|import { getOptionalEnv } from "@trellis/fn/env";
|import { configureJobs, createSqsDelivery } from "@trellis/fn/jobs";
|import { configureMail, createFolderTransport, createSesTransport } from "@trellis/fn/mail";
|import { getDb } from "./database.ts";
|
|// tests set a folder; trellis dev shows all mails on its page and sends none
|const folder = getOptionalEnv("MAIL_FOLDER");
|
|configureMail({
|  transport: folder === undefined ? createSesTransport() : createFolderTransport(folder),
|  from: () => getOptionalEnv("MAIL_FROM", "Notes <notes@example.com>"),
|});
|
|// mails are sent right after COMMIT, by functions/queue/mail.ts
|if (folder === undefined) configureJobs({ delivery: createSqsDelivery() });
|
|export const mails = createAccountMails({
|  getDb,
|  appName: "Notes",
|  invitationUrl: (id) => getOptionalEnv("WEB_ORIGIN", "http://localhost:3000") + "/?invitation=" + id,
|});
`,
    "src/functions/queue/mail.ts": `|import { defineJobQueueHandler } from "@trellis/fn/jobs";
|import { getDb } from "../../database.ts";
|import { mails } from "../../mails.ts";
|
|// sends the mails of accounts
|export const handler = defineJobQueueHandler({ getDb, jobs: mails.jobs });
`,
    "src/functions/schedule/mail_relay.ts":
      `|import { defineJobRelayHandler } from "@trellis/fn/jobs";
|import { getDb } from "../../database.ts";
|import { mails } from "../../mails.ts";
|
|// each minute: sends mails that the queue lost, and removes old ones from the table
|export const handler = defineJobRelayHandler({ getDb, jobs: mails.jobs });
`,
    "tests/accounts.test.ts": `|import { withDatabase } from "./setup.ts";
|import { createLambdaContext, createRestApiEvent, createScheduleEvent } from "@trellis/fn/testing";
|import assert from "node:assert/strict";
|import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
|import { tmpdir } from "node:os";
|import { join } from "node:path";
|import process from "node:process";
|import { test } from "node:test";
|
|const folder = mkdtempSync(join(tmpdir(), "mails-"));
|process.env.MAIL_FOLDER = folder;
|
|/** Reads the link in the newest mail with a subject, and removes the mails. */
|function takeLink(subject: RegExp): URL {
|  const mails = readdirSync(folder).sort().map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
|  for (const name of readdirSync(folder)) rmSync(join(folder, name));
|  const mail = mails.findLast((each) => subject.test(each.subject));
|  assert.ok(mail, "no mail with this subject: " + mails.map((each) => each.subject).join(", "));
|  return new URL(/https?:\\S+/.exec(mail.text)![0]);
|}
|
|test("a user signs up, verifies the address, resets the password and writes a note", () =>
|  withDatabase(async () => {
|    const { handler: auth } = await import("../src/functions/api/auth/[...proxy].any.ts");
|    const { handler: relay } = await import("../src/functions/schedule/mail_relay.ts");
|    const { handler: postNote } = await import("../src/functions/api/notes/index.post.ts");
|    const post = (path: string, body: object) =>
|      auth(createRestApiEvent({ method: "POST", path: "/auth" + path, body }), createLambdaContext());
|    const sendMails = () => relay(createScheduleEvent(), createLambdaContext());
|    const ada = { name: "Ada", email: "ada@example.com", password: "correct-horse" };
|
|    assert.equal((await post("/sign-up/email", ada)).statusCode, 200);
|    assert.equal((await post("/sign-in/email", ada)).statusCode, 403, "the address is not verified");
|    await sendMails();
|    const link = takeLink(/verify|confirm/i);
|    const query = Object.fromEntries(link.searchParams);
|    await auth(createRestApiEvent({ path: link.pathname, query }), createLambdaContext());
|    assert.equal((await post("/sign-in/email", ada)).statusCode, 200);
|
|    await post("/request-password-reset", { email: ada.email, redirectTo: "http://localhost:3000/reset" });
|    await sendMails();
|    const token = takeLink(/password/i).pathname.split("/").at(-1);
|    const password = "another-horse";
|    assert.equal((await post("/reset-password", { token, newPassword: password })).statusCode, 200);
|    assert.equal((await post("/sign-in/email", ada)).statusCode, 401, "the old password is gone");
|
|    const signedIn = await post("/sign-in/email", { ...ada, password });
|    const headers = { Authorization: "Bearer " + JSON.parse(signedIn.body).token };
|    const event = createRestApiEvent({ method: "POST", headers, body: { title: "Milk" } });
|    assert.equal((await postNote(event, createLambdaContext())).statusCode, 201);
|  }).finally(() => rmSync(folder, { recursive: true })));
`,
  }),
};
