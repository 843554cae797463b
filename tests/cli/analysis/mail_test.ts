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

testGrants([
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
