import { handler, testGrants } from "../fixtures/analyse.ts";

const MAILS = {
  "mails.ts": `import { configureMail, createSmtpTransport, defineMail } from "@trellis/fn/mail";
    import { getRequiredEnv } from "@trellis/fn/env";
    import { z } from "zod";
    import { readA } from "./queries.ts";
    configureMail({ transport: createSmtpTransport({ url: () => getRequiredEnv("SMTP_URL") }), from: "a@example.com" });
    export const welcome = defineMail({ name: "welcome", schema: z.object({ id: z.string() }),
      render: async ({ id }) => { await readA(); return { subject: id, text: id }; } });`,
};

const AUTH = {
  "auth.ts": `import { configureSessionAuth } from "@trellis/fn/auth";
    import { getDrizzleClient } from "@trellis/fn/database";
    import { welcome } from "./mails.ts";
    const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
    const send = async ({ id }) => { await welcome.send(await getDb(), { to: id, data: { id } }); };
    configureSessionAuth(getDb, { baseURL: "http://localhost", databaseHooks: { user: { create: { after: send } } } });`,
};

const ACCOUNTS = {
  "get_db.ts": `import { getDrizzleClient } from "@trellis/fn/database";
    export const getDb = () => getDrizzleClient({ provider: "embedded-pg" });`,
  "account_mails.ts": `import { createAccountMails } from "@trellis/fn/auth";
    import { getDb } from "./get_db.ts"; import { readA } from "./queries.ts";
    export const mails = createAccountMails({ getDb, appName: "A", templates: {
      magicLink: async ({ url }) => { await readA(); return { subject: url, text: url }; } } });`,
  "auth.ts": `import { configureSessionAuth } from "@trellis/fn/auth";
    import { getDb } from "./get_db.ts"; import { mails } from "./account_mails.ts";
    configureSessionAuth(getDb, { secret: "s", baseURL: "http://localhost", mail: mails,
      plugins: async () => [(await import("better-auth/plugins")).magicLink({ sendMagicLink: mails.sendMagicLink })] });`,
};

testGrants([
  [
    "grants the auth routes INSERT on the table of jobs if mails of accounts are configured",
    "accounts SELECT+INSERT+UPDATE+DELETE, sessions SELECT+INSERT+UPDATE+DELETE, trellis_jobs INSERT, " +
    "users SELECT+INSERT+UPDATE+DELETE, verification SELECT+INSERT+UPDATE+DELETE",
    {
      ...ACCOUNTS,
      "fn.ts":
        `import "./auth.ts"; import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
        export const handler = createAuthHandler(getConfiguredSessionAuth);`,
    },
  ],
  [
    "grants the auth routes INSERT on the table of jobs if a function loads the mails of accounts",
    "accounts SELECT+INSERT+UPDATE+DELETE, sessions SELECT+INSERT+UPDATE+DELETE, trellis_jobs INSERT, " +
    "users SELECT+INSERT+UPDATE+DELETE, verification SELECT+INSERT+UPDATE+DELETE",
    {
      ...ACCOUNTS,
      "auth.ts":
        `import { configureSessionAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
        configureSessionAuth(getDb, { secret: "s", baseURL: "http://localhost",
          mail: async () => (await import("./account_mails.ts")).mails,
          plugins: async () => (await import("./plugins.ts")).loadPlugins() });`,
      "plugins.ts": `import { mails } from "./account_mails.ts";
        export const loadPlugins = async () =>
          [(await import("better-auth/plugins")).magicLink({ sendMagicLink: mails.sendMagicLink })];`,
      "fn.ts":
        `import "./auth.ts"; import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
        export const handler = createAuthHandler(getConfiguredSessionAuth);`,
    },
  ],
  [
    "grants session checks no table of jobs if a function loads the mails of accounts",
    "sessions SELECT+UPDATE, users SELECT",
    {
      ...ACCOUNTS,
      "auth.ts":
        `import { configureSessionAuth } from "@trellis/fn/auth"; import { getDb } from "./get_db.ts";
        configureSessionAuth(getDb, { secret: "s", baseURL: "http://localhost",
          mail: async () => (await import("./account_mails.ts")).mails });`,
      "fn.ts": `import "./auth.ts"; import { defineApiHandler } from "@trellis/fn/validation";
        export const handler = defineApiHandler({ auth: "session" })(async () => ({ statusCode: 200, body: "" }));`,
    },
  ],
  [
    "grants routes that send no mail no table of jobs if mails of accounts are configured",
    "sessions SELECT+UPDATE+DELETE, users SELECT",
    {
      ...ACCOUNTS,
      "auth.ts": ACCOUNTS["auth.ts"].replace(/,\s*plugins: .*\] \}/, " }"),
      "fn.ts":
        `import "./auth.ts"; import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
        export const handler = createAuthHandler(getConfiguredSessionAuth, { routes: ["/get-session"] });`,
    },
  ],
  [
    "grants session checks no table of jobs if mails of accounts are configured",
    "sessions SELECT+UPDATE, users SELECT",
    { ...ACCOUNTS, "fn.ts": handler(`import "./auth.ts";`, "return 1;", `{ auth: "session" }`) },
  ],
  [
    "grants a worker of mails of accounts the tables of the templates",
    "a SELECT, trellis_jobs SELECT+UPDATE",
    {
      ...ACCOUNTS,
      "fn.ts": `import { defineJobQueueHandler } from "@trellis/fn/jobs";
        import { getDb } from "./get_db.ts"; import { mails } from "./account_mails.ts";
        export const handler = defineJobQueueHandler({ getDb, jobs: mails.jobs });`,
    },
  ],
  [
    "grants a call of a mail's function INSERT on the table of jobs",
    "trellis_jobs INSERT",
    {
      ...ACCOUNTS,
      "fn.ts": handler(
        `import { mails } from "./account_mails.ts";`,
        `return mails.sendMagicLink({ email: "a@example.com", url: "https://a.example" });`,
      ),
    },
  ],
  [
    "grants INSERT on the table of jobs to a query that sends a mail, and nothing of its template",
    "c UPDATE, trellis_jobs INSERT",
    {
      ...MAILS,
      "save.ts":
        `import { defineQuery } from "./db.ts"; import { welcome } from "./mails.ts"; import { c } from "./schema.ts";
        export const save = defineQuery({ transaction: true, tables: [{ table: c, operations: ["UPDATE"] }] },
          async function save(tx, id) { await tx.update(c).set({ id }); await welcome.send(tx, { to: id, data: { id } }); });`,
      "fn.ts": handler(`import { save } from "./save.ts";`, "return save('n1');"),
    },
  ],
  [
    "grants a function that only checks sessions nothing of the mails in their configuration",
    "sessions SELECT+UPDATE, users SELECT",
    {
      ...MAILS,
      ...AUTH,
      "fn.ts": handler(`import "./auth.ts";`, "", `{ auth: "session" }`),
    },
  ],
  [
    "grants the auth routes what the functions in their configuration need",
    "accounts SELECT+INSERT+UPDATE+DELETE, sessions SELECT+INSERT+UPDATE+DELETE, " +
    "trellis_jobs INSERT, users SELECT+INSERT+UPDATE, verification SELECT+INSERT+DELETE",
    {
      ...MAILS,
      ...AUTH,
      "fn.ts":
        `import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth"; import "./auth.ts";
        export const handler = createAuthHandler(getConfiguredSessionAuth);`,
    },
  ],
  [
    "grants a worker of mails the table of jobs and the tables of its templates",
    "a SELECT, trellis_jobs SELECT+UPDATE",
    {
      ...MAILS,
      "fn.ts": `import { defineJobQueueHandler } from "@trellis/fn/jobs";
        import { getDrizzleClient } from "@trellis/fn/database";
        import { welcome } from "./mails.ts";
        export const handler = defineJobQueueHandler({ getDb: () => getDrizzleClient({ provider: "embedded-pg" }), jobs: [welcome.job] });`,
    },
  ],
]);
