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
|import { configureMail, createSesTransport } from "@trellis/fn/mail";
|import { getDb } from "./database.ts";
|
|// trellis dev shows all mails on its page, tests keep them: neither sends any
|configureMail({
|  transport: createSesTransport(),
|  from: () => getOptionalEnv("MAIL_FROM", "Notes <notes@example.com>"),
|});
|
|// mails are sent right after COMMIT, by functions/queue/mail.ts
|configureJobs({ delivery: createSqsDelivery() });
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
|// configures the queue
|import "../../mails.ts";
|
|// each minute: puts mails that the queue lost into it again, and removes old ones from the table
|export const handler = defineJobRelayHandler({ getDb });
`,
    "tests/accounts.test.ts":
      `|import { createTestClient, type TestClient } from "@trellis/fn/testing";
|import assert from "node:assert/strict";
|import { test } from "node:test";
|
|/** Sends the mails that wait, and returns the link in the newest one. */
|async function getLink(api: TestClient, subject: RegExp): Promise<URL> {
|  await api.runJobs();
|  const mail = api.mails().at(-1);
|  assert.match(mail?.subject ?? "", subject);
|  return new URL(mail!.links[0]);
|}
|
|test("a user signs up, verifies the address, resets the password and writes a note", async () => {
|  await using api = await createTestClient();
|  const ada = { name: "Ada", email: "ada@example.com", password: "correct-horse" };
|
|  await api.post("/auth/sign-up/email", { body: ada, expect: 200 });
|  await api.post("/auth/sign-in/email", { body: ada, expect: 403 }); // the address is not verified
|  const link = await getLink(api, /verify|confirm/i);
|  await api.get(link.pathname, { query: Object.fromEntries(link.searchParams) });
|  await api.post("/auth/sign-in/email", { body: ada, expect: 200 });
|
|  const reset = { email: ada.email, redirectTo: "http://localhost:3000/reset" };
|  await api.post("/auth/request-password-reset", { body: reset, expect: 200 });
|  const token = (await getLink(api, /password/i)).pathname.split("/").at(-1);
|  const password = "another-horse";
|  await api.post("/auth/reset-password", { body: { token, newPassword: password }, expect: 200 });
|  await api.post("/auth/sign-in/email", { body: ada, expect: 401 }); // the old password is gone
|
|  const signedIn = await api.post("/auth/sign-in/email", { body: { ...ada, password }, expect: 200 });
|  const headers = { Authorization: "Bearer " + signedIn.body.token };
|  await api.post("/notes", { headers, body: { title: "Milk" }, expect: 201 });
|});
`,
  }),
};
