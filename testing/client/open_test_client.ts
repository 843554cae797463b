import { resolve } from "node:path";
import process from "node:process";
import { parseJsonOr } from "../../core/http/parse_json.ts";
import { setTestServices } from "../../core/test_services.ts";
import { redirectClients } from "../../database/providers/client.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { type JobDetails, listJobs } from "../../jobs/job_admin.ts";
import type { RelayResult } from "../../jobs/relay.ts";
import type { MailMessage } from "../../mail/transports.ts";
import { setLogOutput } from "../../observability/output.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";
import { describeLogError, type ErrorLine } from "../describe_log_error.ts";
import { findLinks } from "../find_links.ts";
import type {
  TestClient,
  TestClientOptions,
  TestClock,
  TestMail,
  TestRequest,
  TestResponse,
} from "../test_client.ts";
import { createQueueEvent, createScheduleEvent } from "../trigger_events.ts";
import { buildRequest, readResponse, sendRequest } from "./send_request.ts";
import { installTestIssuer } from "./test_jwt.ts";
import { TestProject } from "./test_project.ts";
import { createTestSockets } from "./test_sockets.ts";
import { createApiKey, createTestUser } from "./test_users.ts";

/** Variables of functions that a test does not set. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  AUTH_SECRET: "only for tests: 32 characters or more",
  LOG_LEVEL: "ERROR",
  METRICS_DISABLED: "true",
  // deployed functions have Lambda's version of Node.js
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
};
/** Jobs that enqueue jobs without end must not run endlessly. */
const MAX_ROUNDS = 100;

let isOpen = false;

/** Opens a test client. Imported by `createTestClient()` on its first call. */
export async function openTestClient(options: TestClientOptions): Promise<TestClient> {
  if (isOpen) {
    throw new ConfigurationError(
      "A test client is open in this process: close it first, or use one client for the file. A test that runs into " +
        "its timeout, such as Bun's of 5 seconds, leaves its client open",
    );
  }
  isOpen = true;
  const cleanup: (() => void | Promise<void>)[] = [() => void (isOpen = false)];
  async function close(): Promise<void> {
    for (const step of cleanup.splice(0).reverse()) await step();
  }
  try {
    const root = resolve(options.root ?? ".");
    cleanup.push(setVariables({ ...ENVIRONMENT, ...options.env }));
    const project = await TestProject.open(root);
    cleanup.push(setVariables(project.createVariables()));
    const database = await openDatabase(project, options.migrations);
    if (database !== undefined) cleanup.push(() => database.close());
    if (options.migrations !== false) redirectClients(database?.config ?? refuseDatabase);
    cleanup.push(() => redirectClients(undefined));
    cleanup.push(setLogOutput(printErrors));
    return createClient(project, database, cleanup, close);
  } catch (error) {
    await close();
    throw error;
  }
}

/** Sets variables that are not set, and returns how to remove them again. */
function setVariables(values: Readonly<Record<string, string>>): () => void {
  const missing = Object.keys(values).filter((name) => !process.env[name]);
  for (const name of missing) process.env[name] = values[name];
  return function removeVariables(): void {
    for (const name of missing) delete process.env[name];
  };
}

async function openDatabase(
  project: TestProject,
  migrations: TestClientOptions["migrations"],
): Promise<TestDatabase<Record<string, unknown>> | undefined> {
  if (migrations === false) return undefined;
  const migrationsFolder = migrations === undefined
    ? project.findMigrations()
    : resolve(project.root, migrations);
  return migrationsFolder === undefined
    ? undefined
    : await createTestDatabase({ migrationsFolder });
}

/** Refuses to open the database that the project is configured with. */
function refuseDatabase(): never {
  throw new ConfigurationError(
    "The test client has no database: the project has no folder of migrations. Set the option migrations of " +
      "createTestClient() to the folder, or to false to use the configured database",
  );
}

function createClient(
  project: TestProject,
  database: TestDatabase<Record<string, unknown>> | undefined,
  cleanup: (() => void | Promise<void>)[],
  close: () => Promise<void>,
): TestClient {
  const mails: TestMail[] = [];
  const queued: QueuedMessage[] = [];
  const sockets = createTestSockets(project);
  setTestServices({
    sendMail: (mail) => void mails.push(toTestMail(mail as MailMessage)),
    sendToJobQueue: (body, delaySeconds) =>
      void queued.push({ body, dueMs: Date.now() + delaySeconds * 1000 }),
    postToConnection: sockets.post,
  });
  cleanup.push(() => setTestServices(undefined));
  const clock = installVirtualDate();
  cleanup.push(() => clock.restore());
  const issuer = installTestIssuer();
  cleanup.push(() => issuer.restore());

  function getDb(): TestDatabase<Record<string, unknown>>["db"] {
    return database === undefined ? refuseDatabase() : database.db;
  }

  async function request(
    method: string,
    path: string,
    options: TestRequest = {},
  ): Promise<TestResponse> {
    const sent = buildRequest(method, path, options);
    const response = await readResponse(
      await sendRequest(project, sent, options.as?.authorizer),
    );
    const { expect } = options;
    if (expect === undefined || expect === response.status) return response;
    throw new Error(
      `${method} ${path} answered ${response.status}, expected ${expect}: ` +
        new TextDecoder().decode(response.bytes),
    );
  }
  const bind = (method: string) => (path: string, options?: TestRequest) =>
    request(method, path, options);

  return {
    get: bind("GET"),
    post: bind("POST"),
    put: bind("PUT"),
    patch: bind("PATCH"),
    delete: bind("DELETE"),
    request,
    fetch: (sent) => sendRequest(project, sent),
    invoke: async (name, event) => await project.invoke(project.get(name), event),
    createTestUser: (options = {}) => createTestUser(project, options),
    createApiKey: (user, options = {}) => createApiKey(project, user, options),
    createJwt: issuer.createJwt,
    mails: () => [...mails],
    async runJobs(): Promise<JobDetails[]> {
      const db = getDb();
      await runJobs(project, queued);
      return await listJobs(db, { limit: 1000 });
    },
    connect: sockets.connect,
    clock: { now: clock.now, advance: clock.advance },
    get db() {
      return getDb();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function toTestMail(mail: MailMessage): TestMail {
  const { text, html } = mail;
  return { ...mail, links: findLinks(html === undefined ? [text] : [text, html]) };
}

/** A message that waits for the consumer of the queue of jobs. */
interface QueuedMessage {
  readonly body: string;
  /** The time at which the queue delivers it, in milliseconds since 1970. */
  readonly dueMs: number;
}

function isDue({ dueMs }: QueuedMessage): boolean {
  return dueMs <= Date.now();
}

/** Calls the relays and the consumers of the queue until nothing is due. */
async function runJobs(project: TestProject, queued: QueuedMessage[]): Promise<void> {
  const relays = await project.find("schedule", ({ isJobRelay }) => isJobRelay);
  const consumers = await project.find("queue", ({ isJobQueue }) => isJobQueue);
  if (relays.length === 0) {
    throw new ConfigurationError(
      "runJobs() needs the project's relay: a function of defineJobRelayHandler in schedule/",
    );
  }
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const messages = queued.splice(0);
    const due = messages.filter(isDue);
    queued.push(...messages.filter((message) => !isDue(message)));
    if (due.length > 0) {
      for (const fn of consumers) await project.invoke(fn, createQueueEvent(due));
    }
    let delivered = 0;
    for (const fn of relays) {
      delivered += (await project.invoke(fn, createScheduleEvent()) as RelayResult).delivered;
    }
    if (delivered === 0 && !queued.some(isDue)) return;
  }
  throw new Error(`Jobs are still due after ${MAX_ROUNDS} rounds: they enqueue others without end`);
}

/** Prints log lines: errors with their stack, others unchanged. */
function printErrors(text: string): void {
  for (const line of text.split("\n").filter(Boolean)) {
    const fields: ErrorLine = Object(parseJsonOr(line));
    if (fields.error === undefined) {
      process.stderr.write(`${line}\n`);
      continue;
    }
    const { text: title, lines } = describeLogError(fields);
    const report = [`${fields.level} ${fields.message}${title}`, ...lines];
    process.stderr.write(`${report.join("\n    ")}\n`);
  }
}

/** A clock that is ahead of the real one. */
interface VirtualDate extends TestClock {
  /** Restores the real clock. */
  restore(): void;
}

/**
 * Replaces `Date` by one that can be moved forward. The embedded database reads its time from it, so
 * that `now()` in statements moves, too. It is a `Proxy`, because `Date` can also be called without `new`, which a subclass cannot.
 */
function installVirtualDate(): VirtualDate {
  const RealDate = Date;
  let aheadMs = 0;
  const now = () => RealDate.now() + aheadMs;
  const VirtualDate = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) => name === "now" ? now : Reflect.get(target, name, receiver),
  });
  globalThis.Date = VirtualDate;
  return {
    now,
    advance(ms): void {
      if (!(ms >= 0)) throw new RangeError(`advance() needs milliseconds of at least 0, got ${ms}`);
      aheadMs += ms;
    },
    restore(): void {
      globalThis.Date = RealDate;
    },
  };
}
