/** Each client of the library with a server whose answers begin and never end: every request has a limit for all of it. */
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { createJwtAuth } from "../../auth/jwt/mod.ts";
import type { LambdaContext } from "../../core/mod.ts";
import { sendSmokeRequest } from "../../cli/deploy/smoke.ts";
import { openSecretValues } from "../../cli/secrets/secret_values.ts";
import { closeDrizzleClient, executeRows, getDrizzleClient } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { createDsqlToken } from "../../database/providers/distsql.ts";
import { createRdsToken } from "../../database/providers/rds_token.ts";
import { loadSources } from "../../env/mod.ts";
import { resetSources } from "../../env/sources.ts";
import { causeChain } from "../../errors/cause_chain.ts";
import { createDynamoDbStore } from "../../idempotency/mod.ts";
import { createSqsDelivery } from "../../jobs/mod.ts";
import { createLocalTransport } from "../../mail/mail_settings.ts";
import { createSesTransport, createSmtpTransport, type MailMessage } from "../../mail/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { createPublisher } from "../../realtime/mod.ts";
import { createLambdaContext, createRestApiEvent, createStorageEvent } from "../../testing/mod.ts";
import { defineUpload, defineUploadHandler } from "../../uploads/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { DATA_API } from "../support/fault_targets.ts";
import {
  type Stall,
  STALLS,
  STARTED_SMTP,
  startStallingServer,
} from "../support/stalling_server.ts";
import { withEnv } from "../support/with_env.ts";

setLogOutput(() => {});

const MAIL: MailMessage = {
  id: "m1",
  name: "welcome",
  from: "notes@example.com",
  to: ["ada@example.com"],
  cc: [],
  bcc: [],
  replyTo: [],
  headers: {},
  subject: "Welcome",
  text: "Hello",
};
const JOB = { id: "j1", name: "index", group: null, delaySeconds: 0, correlationId: null };
const SIGNAL = new AbortController().signal;
const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;

/** A request to the server at `url`, and what its error says. */
interface Call {
  readonly service: string;
  readonly message: string;
  /** True if the answer's body is not read. */
  readonly readsStatus?: boolean;
  send(url: string): Promise<unknown>;
}

const store = createDynamoDbStore({ tableName: "records" });
/** Creates a context with much time: timers are fast here, and loading a client may take seconds. */
function createPatientContext(): LambdaContext {
  return createLambdaContext({ timeoutMs: 900_000 });
}

const claim = defineApiHandler({ ...QUIET, idempotency: { store } })(function createOrder() {
  return { statusCode: 200, body: "" };
});
const upload = defineUpload({ bucket: "files", prefix: "a", types: ["image/png"], maxBytes: 100 });
const readUpload = defineUploadHandler({ upload, ...QUIET })(async function saveFile() {});

const CALLS: readonly Call[] = [
  {
    service: "jobs: SendMessageBatch of SQS",
    message: "Amazon SQS did not answer within 1 s",
    send: (url) => createSqsDelivery({ queueUrl: `${url}/jobs` }).deliver([JOB]),
  },
  {
    service: "idempotency: DynamoDB",
    message: "503",
    async send() {
      const headers = { "Idempotency-Key": "k-1" };
      const event = createRestApiEvent({ method: "POST", headers, body: "{}" });
      throw new Error(String((await claim(event, createPatientContext())).statusCode));
    },
  },
  {
    service: "mail: SES",
    message: "Amazon SES did not answer within 10 s",
    send: () => createSesTransport().send(MAIL, SIGNAL),
  },
  {
    service: "mail: the mailbox of trellis dev",
    message: "The local mailbox did not answer within 5 s",
    readsStatus: true,
    send: (url) => createLocalTransport(url).send(MAIL, SIGNAL),
  },
  {
    service: "auth: keys of a token issuer",
    message: "The keys of the token issuer cannot be loaded",
    send: (url) => authenticate(url),
  },
  {
    service: "auth: keys at a known address",
    message: "The keys of the token issuer cannot be loaded",
    send: (url) => authenticate(url, `${url}/keys`),
  },
  {
    service: "uploads: GetObject of S3",
    message: "Amazon S3 did not answer within 5 s",
    async send() {
      const key = `a/ada/${crypto.randomUUID()}`;
      const event = createStorageEvent([{ bucket: "files", key }]);
      await readUpload(event, createPatientContext());
    },
  },
  {
    service: "realtime: PostToConnection",
    message: "The WebSocket API did not answer within 5 s",
    send: (endpoint) =>
      createPublisher({ connections: {} as never, endpoint: () => endpoint }).send("c1", "hello"),
  },
  {
    service: "trellis secrets: Secrets Manager",
    message: "AWS Secrets Manager did not answer within 30 s",
    send: () => openSecretValues("notes-dev", {}).find(source("secretsmanager")),
  },
  {
    service: "trellis secrets: Parameter Store",
    message: "The SSM Parameter Store did not answer within 30 s",
    send: () => openSecretValues("notes-dev", {}).find(source("ssm")),
  },
  {
    service: "trellis deploy: smoke request",
    message: "failed 5 times",
    readsStatus: true,
    send: (url) => sendSmokeRequest(url, { stage: "dev", canRollBack: true, pauseMs: 0 }),
  },
];

const source = (service: "ssm" | "secretsmanager") =>
  ({ service, variable: "AUTH_SECRET", isSecret: true }) as never;

async function authenticate(issuer: string, jwksUrl?: string): Promise<unknown> {
  const auth = createJwtAuth({ issuer, audience: "https://api.example.com", jwksUrl });
  const part = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");
  const token = `${part({ alg: "ES256", kid: "k1" })}.${part({ exp: 2e9 })}.${"A".repeat(86)}`;
  const headers = { authorization: `Bearer ${token}` };
  return await auth.authenticate(createRestApiEvent({ headers }));
}

/** Runs work with timers that fire so many times earlier, which end within seconds what has a limit of a minute. */
async function withFastTimers(factor: number, work: () => Promise<void>): Promise<void> {
  const { setTimeout } = globalThis;
  const { timeout } = AbortSignal;
  globalThis.setTimeout =
    ((fn: () => void, ms = 0, ...rest: []) =>
      setTimeout(fn, ms / factor, ...rest)) as typeof setTimeout;
  AbortSignal.timeout = (ms) => timeout(ms / factor);
  try {
    await work();
  } finally {
    globalThis.setTimeout = setTimeout;
    AbortSignal.timeout = timeout;
  }
}

const AWS = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
  AWS_SESSION_TOKEN: undefined,
  AWS_PROFILE: undefined,
};
// the clients of AWS keep sockets and timers between requests
const options = { sanitizeOps: false, sanitizeResources: false };

// one server, because clients are kept
const server = await startStallingServer();
// the SDK does not close its connections
const credentialServer = await startStallingServer();
const mailServer = await startStallingServer(STARTED_SMTP);
Deno.test.afterAll(async () => {
  await server.stop();
  await credentialServer.stop();
  await mailServer.stop();
});

/** Runs work while all clients are pointed to the server. */
function withStall(
  stall: Stall,
  variables: Record<string, string | undefined>,
  work: () => Promise<void>,
): Promise<void> {
  server.stall = credentialServer.stall = mailServer.stall = stall;
  const all = { ...AWS, AWS_ENDPOINT_URL: server.url, ...variables };
  return withFastTimers(40, () => withEnv(all, work));
}

for (const stall of STALLS) {
  const hasStatus = stall === "after the header" || stall === "byte by byte";

  Deno.test(`requests end at their limit when an answer stops ${stall}`, options, async () => {
    await withStall(stall, {}, async () => {
      await Promise.all(CALLS.map(async ({ service, message, readsStatus, send }) => {
        if (readsStatus && hasStatus) return;
        const error = await assertRejects(() => send(server.url), Error, undefined, service);
        assertStringIncludes(error.message, message, service);
      }));
    });
  });

  Deno.test(`a mail ends at its limit when the greeting stops ${stall}`, options, async () => {
    await withStall(stall, {}, async () => {
      const transport = createSmtpTransport({ url: `smtp://127.0.0.1:${mailServer.port}` });
      const { message } = await assertRejects(() => transport.send(MAIL, SIGNAL), Error);
      // the client has a limit of its own for the greeting
      assertMatch(
        message,
        /^The mail server did not answer within 20 s$|^Greeting never received$/,
      );
      await mailServer.closed();
    });
  });

  Deno.test(`loadSources() fails at its limit when an answer stops ${stall}`, options, async () => {
    const variables = {
      AUTH_SECRET: undefined,
      LIMIT: undefined,
      AUTH_SECRET_SOURCE: "secretsmanager:notes-dev/AUTH_SECRET",
      LIMIT_SOURCE: "ssm:/notes-dev/LIMIT",
    };
    await withStall(stall, variables, async () => {
      const { message } = await assertRejects(() => loadSources(), Error);
      assertStringIncludes(message, "(AWS Secrets Manager did not answer within 5 s)");
      assertStringIncludes(message, "(The SSM Parameter Store did not answer within 5 s)");
      resetSources();
    });
  });

  Deno.test(`a statement of the Data API ends when an answer stops ${stall}`, options, async () => {
    const config = {
      provider: "serverless-pg",
      connectionString: DATA_API,
      statementTimeoutSeconds: 0.1,
    } as const;
    await withStall(stall, {}, async () => {
      const error = await assertRejects(async () =>
        await executeRows(await getDrizzleClient(config), sql`SELECT 1`)
      );
      const messages = causeChain(error).map((link) => String(link)).join();
      assertStringIncludes(messages, "The database did not answer within 0.1 s");
      await closeDrizzleClient(config);
    });
  });

  Deno.test(`requests end when an answer with credentials stops ${stall}`, options, async () => {
    const variables = {
      AWS_ACCESS_KEY_ID: undefined,
      AWS_SECRET_ACCESS_KEY: undefined,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${credentialServer.url}/credentials`,
    };
    const cluster = { host: "a.dsql.eu-central-1.on.aws", region: "eu-central-1", isAdmin: false };
    const instance = { host: "a.eu-central-1.rds.amazonaws.com", port: 5432, username: "app" };
    const calls = [
      async () => await (await createDsqlToken(cluster))(),
      async () => await (await createRdsToken(instance))(),
      () => createSqsDelivery({ queueUrl: `${server.url}/jobs` }).deliver([JOB]),
    ];
    await withStall(stall, variables, async () => {
      const errors = await Promise.all(calls.map((call) => assertRejects(call, Error)));
      assertEquals(errors.map(({ message }) => message), [
        "The provider of AWS credentials did not answer within 5 s",
        "The provider of AWS credentials did not answer within 5 s",
        "Amazon SQS did not answer within 1 s",
      ]);
    });
  });
}
