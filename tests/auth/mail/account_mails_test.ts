import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { emailOTP, magicLink } from "better-auth/plugins";
import {
  type AccountMails,
  type AuthConfig,
  createAccountMails,
  createAuth,
  createAuthHandler,
} from "../../../auth/mod.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { configureJobs, createJobWorker, JOBS_MIGRATION_SQL } from "../../../jobs/mod.ts";
import { configureMail, createMemoryTransport } from "../../../mail/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../../testing/mod.ts";
import { authUsers } from "../../../auth/tables/schema.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";
import { FAST_PASSWORDS } from "../fast_passwords.ts";

const { pglite, db, queries, reset: resetAccounts } = await openAuthDatabase();
async function reset(): Promise<void> {
  await pglite.exec("TRUNCATE trellis_jobs, auth_events");
  await resetAccounts();
}
await pglite.exec(JOBS_MIGRATION_SQL.replaceAll("--> statement-breakpoint", ""));
const authEvents = pgTable("auth_events", {
  id: uuid("id").primaryKey(),
  kind: text("kind").notNull(),
  userId: text("user_id"),
  actorId: text("actor_id"),
  address: text("address"),
  userAgent: text("user_agent"),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
});
await pglite.exec(`CREATE TABLE auth_events (id uuid PRIMARY KEY, kind text NOT NULL, user_id text,
  actor_id text, address text, user_agent text, created_at timestamptz NOT NULL)`);
globalThis.addEventListener("unload", () => void pglite.close());

const transport = createMemoryTransport();
configureMail({ transport, from: "Notes <notes@example.com>" });

const EMAIL_AND_PASSWORD = { enabled: true, password: FAST_PASSWORDS };
const ADA = { name: "Ada <3", email: "ada@example.com", password: "correct horse battery" };

function createLab(
  getConfig: (mails: AccountMails) => Partial<AuthConfig> = () => ({}),
  options: Partial<Parameters<typeof createAccountMails>[0]> = {},
) {
  const mails = createAccountMails({
    getDb: () => db as never,
    appName: "Notes",
    invitationUrl: (id) => `https://app.example.com/invitations/${id}`,
    ...options,
  });
  const auth = createAuth(db, {
    secret: SECRET,
    baseURL: "http://localhost:3000",
    mail: mails,
    emailAndPassword: EMAIL_AND_PASSWORD,
    ...getConfig(mails),
  });
  const handler = createAuthHandler(() => auth, { logging: { level: "ERROR" } });
  const bearer = { token: "" };
  async function post(path: string, body: unknown): Promise<{ status: number; body: string }> {
    const event = createRestApiEvent({
      method: "POST",
      path: `/api/auth${path}`,
      headers: {
        origin: "http://localhost:3000",
        ...bearer.token !== "" && { authorization: `Bearer ${bearer.token}` },
      },
      body,
    });
    const response = await handler(event, createLambdaContext());
    return { status: response.statusCode, body: response.body };
  }
  /** Runs the worker and returns the mails that it sent. */
  async function deliver() {
    transport.mails.length = 0;
    await createJobWorker({
      getDb: () => db as never,
      jobs: mails.jobs,
      logging: { level: "SILENT" },
      metrics: false,
    }).runDue();
    return [...transport.mails];
  }
  return { mails, auth, post, deliver, bearer };
}

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "AuthConfig.mail resets a password with the link of a mail from the outbox",
  options,
  async () => {
    await reset();
    // without the option, better-auth's own hash applies
    const { post, deliver } = createLab(() => ({ emailAndPassword: undefined }));
    await post("/sign-up/email", ADA);
    assertEquals((await deliver()).length, 0);
    const known = await post("/request-password-reset", { email: ADA.email });
    const [mail] = await deliver();
    assertEquals([known.status, mail.to, mail.subject], [
      200,
      [ADA.email],
      "Reset your password for Notes",
    ]);
    assertStringIncludes(mail.text, "Hello Ada <3,");
    assertStringIncludes(mail.html!, "Hello Ada &lt;3,");
    const [, token] = mail.text.match(/reset-password\/(\w+)/)!;
    assertStringIncludes(mail.html!, token);
    const changed = await post("/reset-password", { token, newPassword: "another long password" });
    assertEquals(changed.status, 200);
    const signedIn = await post("/sign-in/email", {
      email: ADA.email,
      password: "another long password",
    });
    assertEquals(signedIn.status, 200);
    const unknown = await post("/request-password-reset", { email: "nobody@example.com" });
    assertEquals(unknown, known);
    assertEquals((await deliver()).length, 0);
  },
);

Deno.test("AuthConfig.mail verifies addresses, and their changes", options, async () => {
  await reset();
  const { post, deliver, auth } = createLab(() => ({
    emailAndPassword: { ...EMAIL_AND_PASSWORD, requireEmailVerification: true },
    user: { changeEmail: { enabled: true } },
  }));
  await post("/sign-up/email", ADA);
  const [mail] = await deliver();
  assertEquals(mail.subject, "Confirm your address for Notes");
  const [, token] = mail.text.match(/token=([\w.-]+)/)!;
  await auth.api.verifyEmail({ query: { token } });
  const { token: session } = await auth.api.signInEmail({ body: ADA });
  const headers = new Headers({ authorization: `Bearer ${session}` });
  await auth.api.changeEmail({ headers, body: { newEmail: "new@example.com" } });
  const [change] = await deliver();
  assertEquals([change.to, change.subject], [[ADA.email], "Confirm your new address for Notes"]);
  assertStringIncludes(change.text, "new@example.com");
});

Deno.test(
  "createAccountMails() serves plugins: magic links, one-time codes and invitations",
  options,
  async () => {
    await reset();
    const { post, deliver, mails } = createLab((own) => ({
      plugins: () => [
        magicLink({ sendMagicLink: own.sendMagicLink }),
        emailOTP({ sendVerificationOTP: own.sendVerificationOTP }),
      ],
    }), {
      templates: {
        oneTimeCode: async ({ code, appName }) =>
          await Promise.resolve({ subject: `${appName}: ${code}`, text: code }),
      },
    });
    assertEquals((await post("/sign-in/magic-link", { email: ADA.email })).status, 200);
    const [link] = await deliver();
    assertStringIncludes(link.text, "/api/auth/magic-link/verify?token=");
    await post("/email-otp/send-verification-otp", { email: ADA.email, type: "sign-in" });
    const [code] = await deliver();
    const { status } = await post("/sign-in/email-otp", { email: ADA.email, otp: code.text });
    assertEquals([status, code.subject], [200, `Notes: ${code.text}`]);
    await mails.sendInvitationEmail({
      id: "i1",
      email: "bob@example.com",
      organization: { name: "Acme & Co" },
      inviter: { user: { email: ADA.email, name: "Ada" } },
    });
    const [invitation] = await deliver();
    assertEquals(invitation.subject, "Join Acme & Co at Notes");
    assertStringIncludes(invitation.html!, "https://app.example.com/invitations/i1");
  },
);

/**
 * Sends a request while the queue holds each message back until the request waits for it.
 *
 * @returns The answer, and what the request waited for.
 */
async function throughHeldQueue<T>(request: () => Promise<T>) {
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<"the queue">();
  const messages: number[] = [];
  const restore = configureJobs({
    delivery: {
      graceSeconds: 60,
      deliver(jobs) {
        messages.push(jobs.length);
        reached.resolve("the queue");
        return held.promise;
      },
    },
  });
  try {
    const answer = request();
    const waitedFor = await Promise.race([reached.promise, answer.then(() => "nothing")]);
    held.resolve();
    return { answer: await answer, waitedFor, messages };
  } finally {
    restore();
  }
}

/** Requests that must not show whether an address has an account; the second is for one without. */
const PAIRS: Readonly<Record<string, (email: string) => unknown>> = {
  "/request-password-reset": (email) => ({ email }),
  "/send-verification-email": (email) => ({ email }),
  "/sign-up/email": (email) => ({ ...ADA, email }),
  "/email-otp/send-verification-otp": (email) => ({ email, type: "forget-password" }),
  "/email-otp/request-password-reset": (email) => ({ email }),
  "/sign-in/magic-link": (email) => ({ email }),
};

for (const isAudited of [false, true]) {
  for (const [path, getBody] of Object.entries(PAIRS)) {
    const name = `${path} answers alike, with as many statements and messages, for every address${
      isAudited ? " with the audit log" : ""
    }`;
    Deno.test(name, options, async () => {
      await reset();
      const { post } = createLab((own) => ({
        emailAndPassword: { ...EMAIL_AND_PASSWORD, requireEmailVerification: true },
        audit: isAudited,
        plugins: [
          emailOTP({ sendVerificationOTP: own.sendVerificationOTP }),
          magicLink({ sendMagicLink: own.sendMagicLink }),
        ],
        schema: { user: authUsers, authEvent: authEvents },
      }));
      await post("/sign-up/email", ADA);
      // the outbox is checked once
      await post("/sign-in/magic-link", { email: ADA.email });
      const answers: unknown[] = [];
      for (const email of [ADA.email, "nobody@example.com", "nobody2@example.com"]) {
        queries.length = 0;
        const { answer, ...queue } = await throughHeldQueue(() => post(path, getBody(email)));
        const shape = Object.keys(JSON.parse(answer.body)).sort();
        answers.push({ status: answer.status, shape, statements: queries.length, ...queue });
      }
      assertEquals(answers[1], answers[0]);
      assertEquals(answers[2], answers[0]);
      const { status, waitedFor } = answers[0] as { status: number; waitedFor: string };
      assertEquals([status, waitedFor], [200, "the queue"]);
    });
  }
}

Deno.test(
  "changes of address answer alike, with as many statements and messages, for every new address",
  options,
  async () => {
    await reset();
    const { post, auth, bearer } = createLab((own) => ({
      user: { changeEmail: { enabled: true } },
      plugins: [
        emailOTP({
          changeEmail: { enabled: true },
          sendVerificationOTP: own.sendVerificationOTP,
        }),
      ],
    }));
    await auth.api.signUpEmail({ body: { ...ADA, email: "bob@example.com" } });
    const { token } = await auth.api.signUpEmail({ body: ADA });
    bearer.token = token!;
    await post("/change-email", { newEmail: "first@example.com" });
    for (const path of ["/change-email", "/email-otp/request-email-change"]) {
      const answers: { waitedFor: string; answer: { status: number } }[] = [];
      for (const newEmail of ["bob@example.com", "nobody@example.com", "bob@example.com"]) {
        queries.length = 0;
        const { answer, ...queue } = await throughHeldQueue(() => post(path, { newEmail }));
        answers.push(Object.assign(queue, { answer, statements: queries.length }));
      }
      assertEquals(answers[1], answers[0]);
      assertEquals(answers[2], answers[0]);
      assertEquals([answers[0].answer.status, answers[0].waitedFor], [200, "the queue"]);
    }
  },
);

Deno.test(
  "AuthConfig.mail writes the mail in the transaction of the sign-up",
  options,
  async () => {
    await reset();
    const { post, deliver } = createLab(() => ({
      emailAndPassword: { ...EMAIL_AND_PASSWORD, requireEmailVerification: true },
    }));
    // the outbox is checked before, and breaks afterwards
    await post("/request-password-reset", { email: ADA.email });
    await pglite.exec(
      "ALTER TABLE trellis_jobs ADD CONSTRAINT broken CHECK (name = 'never') NOT VALID",
    );
    const failed = await post("/sign-up/email", ADA);
    await pglite.exec("ALTER TABLE trellis_jobs DROP CONSTRAINT broken");
    assertEquals(failed.status, 500);
    const { rows } = await pglite.query("select 1 from users");
    assertEquals([rows.length, (await deliver()).length], [0, 0]);
    assertEquals((await post("/sign-up/email", ADA)).status, 200);
    assertEquals((await deliver()).map(({ subject }) => subject), [
      "Confirm your address for Notes",
    ]);
  },
);

Deno.test(
  "a sign-up with the address of somebody else cannot be confirmed by a link if codes verify addresses",
  options,
  async () => {
    await reset();
    const { post, deliver } = createLab((own) => ({
      emailAndPassword: { ...EMAIL_AND_PASSWORD, requireEmailVerification: true },
      emailVerification: { sendOnSignUp: true, sendVerificationEmail: undefined },
      plugins: [
        emailOTP({
          sendVerificationOTP: own.sendVerificationOTP,
          overrideDefaultEmailVerification: true,
        }),
      ],
    }));
    await post("/sign-up/email", ADA);
    const mails = await deliver();
    assertEquals(mails.map(({ subject }) => subject), ["Your code for Notes"]);
    // the owner of the address has nothing to open, and only the browser that signed up asks for the code
    assertEquals(mails[0].text.includes("http"), false);
    assertEquals((await post("/sign-in/email", ADA)).status, 403);
    const [otp] = mails[0].text.match(/\d{6}/)!;
    const verified = await post("/email-otp/verify-email", { email: ADA.email, otp });
    assertEquals(verified.status, 200);
    assertEquals((await post("/sign-in/email", ADA)).status, 200);
  },
);

Deno.test(
  "AuthConfig.mail tells the owner of an address that somebody tried to sign up with it",
  options,
  async () => {
    await reset();
    const { post, deliver } = createLab(() => ({
      emailAndPassword: { ...EMAIL_AND_PASSWORD, requireEmailVerification: true },
    }));
    await post("/sign-up/email", ADA);
    await deliver();
    await post("/sign-up/email", { ...ADA, name: "Mallory" });
    const [mail] = await deliver();
    assertEquals([mail.to, mail.subject], [[ADA.email], "You already have an account at Notes"]);
    assertStringIncludes(mail.text, "Hello Ada <3,");
  },
);

Deno.test(
  "AuthConfig.mail answers 500 for every address if the table of jobs is missing",
  options,
  async () => {
    await reset();
    const { post } = createLab();
    await post("/sign-up/email", ADA);
    await pglite.exec("ALTER TABLE trellis_jobs RENAME TO hidden_jobs");
    try {
      const { post } = createLab(() => ({ appName: "other" }));
      for (const email of [ADA.email, "nobody@example.com"]) {
        const { result, lines } = await captureLogs(() =>
          post("/request-password-reset", { email })
        );
        assertEquals(result.status, 500);
        assertStringIncludes(JSON.stringify(lines), "trellis db tables jobs");
      }
    } finally {
      await pglite.exec("ALTER TABLE hidden_jobs RENAME TO trellis_jobs");
    }
  },
);

Deno.test("createAccountMails() sends the second factor by mail", options, async () => {
  await reset();
  const { mails, deliver } = createLab(undefined, {
    templates: {
      oneTimeCode: ({ code, purpose }) => ({ subject: purpose, text: code }),
    },
  });
  await mails.sendOTP({ user: ADA, otp: "123456" });
  await mails.sendDeleteAccountVerification({ user: ADA, url: "https://app.example.com/delete" });
  const sent = (await deliver()).map(({ subject }) => subject).sort();
  assertEquals(sent, ["Confirm the deletion of your account at Notes", "two-factor"]);
});

const THROWING: Readonly<Record<string, string>> = {
  "/email-otp/send-verification-otp": '{"success":true}',
  "/email-otp/request-password-reset": '{"success":true}',
};
for (const [path, answer] of Object.entries(THROWING)) {
  Deno.test(
    `${path} answers alike for every address when the function of the plugin throws`,
    options,
    async () => {
      await reset();
      const fail = (): never => {
        throw new Error("the mail service is down");
      };
      const { post } = createLab(() => ({
        plugins: [emailOTP({ sendVerificationOTP: fail })],
      }));
      await post("/sign-up/email", ADA);
      for (const email of [ADA.email, "nobody@example.com"]) {
        const { result, lines } = await captureLogs(() =>
          post(path, { email, type: "forget-password" })
        );
        assertEquals(result, { status: 200, body: answer });
        const errors = lines.filter(({ level }) => level === "ERROR");
        assertEquals(errors.length, email === ADA.email ? 1 : 0);
      }
    },
  );
}

Deno.test("AuthConfig.mail is refused beside a function of the application, and with invalid options", () => {
  const mails = createAccountMails({ getDb: () => db as never, appName: "Notes" });
  const send = () => Promise.resolve();
  const wrong: Partial<AuthConfig>[] = [
    { emailAndPassword: { enabled: true, sendResetPassword: send } },
    { emailVerification: { sendVerificationEmail: send } },
    { user: { changeEmail: { enabled: true, sendChangeEmailConfirmation: send } } },
  ];
  for (const part of wrong) {
    const config = { secret: SECRET, baseURL: "http://localhost:3000", mail: mails, ...part };
    assertThrows(() => createAuth(db, config), ConfigurationError, "keep one");
  }
  for (
    const invalid of [
      {},
      { getDb: () => db },
      { getDb: () => db, appName: "" },
      { getDb: () => db, appName: "A", templates: { welcome: () => {} } },
    ]
  ) {
    assertThrows(() => createAccountMails(invalid as never), ConfigurationError);
  }
  createAuth(db, { secret: SECRET, baseURL: "http://localhost:3000", mail: mails });
  const invitation = {
    id: "i1",
    email: "bob@example.com",
    organization: { name: "Acme" },
    inviter: { user: ADA },
  };
  assertThrows(() => mails.sendInvitationEmail(invitation), ConfigurationError, "invitationUrl");
});

Deno.test("AuthConfig.mail can be a function, which is called when better-auth starts", async () => {
  await reset();
  let loads = 0;
  const lab = createLab((mails) => ({
    mail: () => Promise.resolve((loads++, mails)),
    emailVerification: { sendOnSignUp: true },
  }));
  assertEquals(loads, 0);
  await lab.auth.api.signUpEmail({ body: ADA });
  await lab.auth.api.requestPasswordReset({ body: { email: ADA.email } });
  const { rows } = await pglite.query<{ job: string }>(
    "select name as job from trellis_jobs order by 1",
  );
  assertEquals(rows.map(({ job }) => job), [
    "mail.account.reset-password",
    "mail.account.verify-email",
  ]);
  assertEquals(loads, 1);
});

Deno.test("AuthConfig.mail is refused when its function returns no mails", async () => {
  const lab = createLab((mails) => ({ mail: (() => ({ mails })) as never }));
  await assertRejects(
    () => lab.auth.api.ok(),
    ConfigurationError,
    'async () => (await import("./mails.ts")).mails',
  );
});

Deno.test("AuthConfig.mail that a function loads is refused beside a mail function of better-auth", async () => {
  const lab = createLab((mails) => ({
    mail: () => mails,
    emailAndPassword: { enabled: true, sendResetPassword: () => Promise.resolve() },
  }));
  await assertRejects(
    () => lab.auth.api.ok(),
    ConfigurationError,
    "AuthConfig.emailAndPassword.sendResetPassword are both set",
  );
});

Deno.test(
  "names that are messages of their own are left out of the default mails",
  options,
  async () => {
    await reset();
    const { mails, deliver } = createLab();
    const hostile = [
      "Ada\r\nBcc: evil@example.com",
      "Your prize waits at evil.example",
      "https://evil.example",
      "evil.example/x",
      "x".repeat(65),
    ];
    const send = async (name: string) => {
      await mails.sendInvitationEmail({
        id: "i1",
        email: "bob@example.com",
        organization: { name },
        inviter: { user: { email: "x@example.com", name } },
      });
      const [mail] = await deliver();
      return mail;
    };
    for (const name of hostile) {
      const { subject, text, html, to } = await send(name);
      assertEquals([to, subject], [["bob@example.com"], "Join an organization at Notes"]);
      assertStringIncludes(text, "x@example.com invites you to an organization at Notes.");
      assert(!`${text}${html}`.includes("evil"), name);
    }
    for (const name of ["Ada Lovelace", "J. R. Smith", "O'Brien & Sons <3", "Zoë 王"]) {
      assertStringIncludes((await send(name)).text, `${name} invites you to ${name} at Notes.`);
    }
  },
);
