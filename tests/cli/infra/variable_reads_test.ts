import { assertEquals } from "@std/assert";
import { type Fixture, handler, readInfraFacts, shareInfraFacts } from "../fixtures/analyse.ts";

/** What `fn.ts` reads: `A!` must be set, `B` may be, `C!*` is a secret; and what cannot be told, with its line. */
async function getReads(
  files: Fixture,
  read: typeof readInfraFacts = readInfraFacts,
): Promise<{ reads: string; unresolved: string[] }> {
  const found = await read(files);
  return {
    reads: found.variables.map(({ name, isRequired, isSecret }) =>
      `${name}${isRequired ? "!" : ""}${isSecret ? "*" : ""}`
    ).join(" "),
    // a place may be reached in several ways
    unresolved: [
      ...new Set(
        found.unresolved.map(({ place: { file, line }, message }) => `${file}:${line}: ${message}`),
      ),
    ],
  };
}

const ENV = `import { defineEnv, getOptionalEnv, getRequiredEnv } from "@trellis/fn/env";`;

const MAILS =
  `${ENV} import { configureMail, createSesTransport, createSmtpTransport, defineMail } from "@trellis/fn/mail";
import { getDrizzleClient } from "@trellis/fn/database";
import * as z from "zod";
export const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
configureMail({ transport: TRANSPORT, from: () => getRequiredEnv("MAIL_FROM") });
export const welcome = defineMail({ name: "welcome", schema: z.null(),
  render: () => ({ subject: getRequiredEnv("APP_NAME"), text: "" }) });`;
const SMTP = `createSmtpTransport({ url: () => getRequiredEnv("SMTP_URL") })`;
const SEND = handler(
  `import { getDb, welcome } from "./mails.ts";`,
  `await welcome.send(await getDb(), { to: "a@example.com", data: null });`,
);
const MAIL_WORKER = `import { defineJobQueueHandler } from "@trellis/fn/jobs";
import { getDb, welcome } from "./mails.ts";
export const handler = defineJobQueueHandler({ getDb, jobs: [welcome.job] });`;

const CASES: readonly (readonly [what: string, expected: string, files: Fixture])[] = [
  ["finds what a function reads when it runs and when it is loaded", "A! B C! D!", {
    "config.ts":
      `${ENV} export const config = { a: getRequiredEnv("A"), b: getOptionalEnv("B", "x") };`,
    "fn.ts": handler(
      `import "./config.ts"; ${ENV} import { d } from "./d.ts";`,
      `getRequiredEnv(\`C\`); return d();`,
    ),
    "d.ts":
      `${ENV} export const d = () => getRequiredEnv("D"); export const never = () => getRequiredEnv("NEVER");`,
  }],
  ["lets required win over optional", "A!", {
    "fn.ts": handler(ENV, `getOptionalEnv("A"); getRequiredEnv("A"); getOptionalEnv("A");`),
  }],
  [
    "knows that the client's address and the auth routes read the CDN's secret",
    "ORIGIN_VERIFY_SECRET",
    {
      "fn.ts": handler(
        `import { getClientAddress } from "@trellis/fn"; import { createAuthHandler } from "@trellis/fn/auth";`,
        `getClientAddress(event);`,
      ),
    },
  ],
  ["knows that the auth routes read the CDN's secret", "ORIGIN_VERIFY_SECRET", {
    "fn.ts":
      `import { createAuthHandler } from "@trellis/fn/auth"; export const handler = createAuthHandler(() => null);`,
  }],
  ["gives a function that only writes mails to the outbox nothing of the transport", "", {
    "mails.ts": MAILS.replace("TRANSPORT", SMTP),
    "fn.ts": SEND,
  }],
  [
    "gives the worker of mails what transport, sender and template read",
    "APP_NAME! MAIL_FROM! SMTP_URL!",
    {
      "mails.ts": MAILS.replace("TRANSPORT", SMTP),
      "fn.ts": MAIL_WORKER,
    },
  ],
  ["finds the transport of mails in a constant", "APP_NAME! MAIL_FROM! SMTP_URL!", {
    "mails.ts": MAILS.replace("TRANSPORT", "transport")
      .replace("configureMail({", `const transport = ${SMTP}; configureMail({`),
    "fn.ts": MAIL_WORKER,
  }],
  ["knows what is read when the module of mails is loaded", "SMTP_URL!", {
    "mails.ts": MAILS.replace(
      "TRANSPORT",
      `createSmtpTransport({ url: getRequiredEnv("SMTP_URL") })`,
    ),
    "fn.ts": SEND,
  }],
  ["knows a sender that is read when the module is loaded", "MAIL_FROM! SMTP_URL!", {
    "mails.ts": MAILS.replace("TRANSPORT", SMTP.replace("() => ", "")).replace(
      "from: () => ",
      "from: ",
    ),
    "fn.ts": SEND,
  }],
  ["knows the configuration set of SES", "APP_NAME! MAIL_CONFIGURATION_SET MAIL_FROM!", {
    "mails.ts": MAILS.replace("TRANSPORT", "createSesTransport()"),
    "fn.ts": MAIL_WORKER,
  }],
  ["follows names through constants, helpers and other packages' entry points", "ONE! TWO! THREE", {
    "names.ts": `export const NAMES = { one: "ONE" } as const;`,
    "env.ts":
      `import * as trellis from "@trellis/fn"; export function need(name: string) { return trellis.getRequiredEnv(name); }
       export const may = (name: string, fallback?: string) => trellis.getOptionalEnv(name, fallback);`,
    "fn.ts": handler(
      `import { NAMES } from "./names.ts"; import { may, need } from "./env.ts";`,
      `need(NAMES.one); need(true ? "TWO" : "ONE"); may("THREE");`,
    ),
  }],
  ["reads a definition when it is used, all of it", "A! B C! D E F!* G! H!", {
    "env.ts": `${ENV} import * as z from "zod";
      const shared = { G: {} };
      export const env = defineEnv({
        A: z.string(), B: z.string().optional(), C: { schema: z.coerce.number().int() },
        D: { default: "x" }, E: { schema: z.string().min(1).default("e") }, F: { secret: true }, ...shared,
        H: { optional: false },
      });
      export const unused = defineEnv({ UNUSED: {} });`,
    "fn.ts": handler(`import { env } from "./env.ts";`, "return env.A;"),
  }],
  ["leaves out a definition that reads from elsewhere", "", {
    "fn.ts": handler(
      `${ENV} const env = defineEnv({ A: {} }, { source: { A: "1" } });`,
      "return env.A;",
    ),
  }],
  ["finds process.env, also where its value is only compared", "A B C D", {
    "fn.ts": handler(
      `import process from "node:process"; import { env } from "node:process";`,
      `if (process.env.A === "x") return; const { B } = process.env; return String(B) + env.C + use(process.env.D);  function use(text: any) { return text; }`,
    ),
  }],
  ["leaves out names of other things that are called so", "", {
    "fn.ts": handler(
      `const process = { env: { A: 1 } }; function getRequiredEnv(name: string) { return name; }`,
      `getRequiredEnv("B"); return process.env.A;`,
    ),
  }],
];

const readCase = shareInfraFacts(CASES.map(([, , files]) => files));
for (const [what, expected, files] of CASES) {
  Deno.test(`findVariableReads() ${what}`, async () => {
    const { reads, unresolved } = await getReads(files, readCase);
    assertEquals(unresolved, []);
    assertEquals(reads.split(" ").sort(), expected.split(" ").sort());
  });
}

const UNTOLD: readonly (readonly [what: string, expected: string, files: Fixture])[] = [
  [
    "a secret whose option generate is not a literal",
    "fn.ts:3: the option generate of secret() must be a literal: true or false",
    {
      "fn.ts": handler(
        `import { secret } from "@trellis/fn/env";`,
        `secret("A", { generate: process.argv.length > 2 });`,
      ),
    },
  ],
  [
    "a helper that is handed on",
    "fn.ts:3: the value of this parameter cannot be determined statically, but the name of an environment variable depends on it",
    {
      "fn.ts": `import { defineApiHandler } from "@trellis/fn";
${ENV}
const need = (name: string) => getRequiredEnv(name);
export const handler = defineApiHandler({})(async () => ["A", "B"].map(need));`,
    },
  ],
  [
    "a name that is worked out",
    "fn.ts:4: the name of an environment variable cannot be determined statically",
    {
      "fn.ts": `import { defineApiHandler } from "@trellis/fn";
${ENV}
export const handler = defineApiHandler({})(async ({ path }: any) => {
  return getRequiredEnv("PREFIX_" + path.name);
});`,
    },
  ],
  [
    "a function that is handed on",
    "fn.ts:3: getRequiredEnv is passed as a value: the variables it reads cannot be determined statically",
    {
      "fn.ts": `import { defineApiHandler } from "@trellis/fn";
${ENV}
export const handler = defineApiHandler({})(async () => ["A", "B"].map(getRequiredEnv));`,
    },
  ],
  [
    "an import that is worked out",
    "fn.ts:2: the name of an imported module is computed at run time",
    {
      "fn.ts": `import { defineApiHandler } from "@trellis/fn";
export const handler = defineApiHandler({})(async ({ path }: any) => import(path.name));`,
    },
  ],
];

const readUntold = shareInfraFacts(UNTOLD.map(([, , files]) => files));
for (const [what, expected, files] of UNTOLD) {
  Deno.test(`findVariableReads() names ${what}, with file and line`, async () => {
    assertEquals((await getReads(files, readUntold)).unresolved, [expected]);
  });
}

Deno.test("findVariableReads() finds what a query reads", async () => {
  const { unresolved, reads } = await getReads({
    "fn.ts": handler(
      `import { defineQuery } from "./db.ts"; import { names } from "elsewhere";
       const query = defineQuery({ tables: [{ table: names("a"), operations: ["SELECT"] }] }, async () => process.env.IN_A_QUERY);`,
      "return query();",
    ),
  });
  assertEquals([unresolved, reads], [[], "IN_A_QUERY"]);
});
