import type { PgTable } from "drizzle-orm/pg-core";
import { resolveApiKeyOptions } from "../../auth/keys/api_key_options.ts";
import { findApiKey, writeApiKeyUse } from "../../auth/keys/api_key_statements.ts";
import type { ApiKeyRow, UsagePlan } from "../../auth/keys/api_key_usage.ts";
import type { AuthSettings } from "../../auth/config/config.ts";
import { getSessionTables } from "../../auth/config/session_tables.ts";
import { getOrganizationQuery } from "../../auth/sessions/session_organization.ts";
import {
  endSession,
  extendSession,
  getSessionQuery,
} from "../../auth/sessions/session_statements.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { createRateLimitStore } from "../../database/rate_limits/store.ts";
import { createSessionClient } from "../../database/session/client.ts";
import { ConnectionSlots } from "../../database/session/connection_slots.ts";
import {
  type SqlDriver,
  type StatementRunner,
  withSavepoints,
} from "../../database/session/driver.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import type { PlainSql } from "../../database/session/plain_sql.ts";
import { runSql } from "../../database/session/run_sql.ts";
import { type TransactionClient, withTransaction } from "../../database/session/transaction.ts";
import type { StandardSchema } from "../../env/standard_schema.ts";
import { createDatabaseBackend, createTransactions } from "../../idempotency/database_backend.ts";
import { removeExpiredRecords } from "../../idempotency/remove_expired.ts";
import {
  buildFindIncomplete,
  buildRemoveParts,
  ignoreChunk,
  storePiece,
} from "../../jobs/changes/chunks.ts";
import { buildAdvance, buildRemovePositions, hasPosition } from "../../jobs/changes/positions.ts";
import {
  buildClaim,
  seekName,
  selectBatches,
  selectByIds,
  selectJoining,
  selectNextOfGroup,
  selectRunnable,
} from "../../jobs/claim.ts";
import type { AnyJob } from "../../jobs/define_job.ts";
import type { JobLimitOptions } from "../../jobs/job_options.ts";
import { buildLater } from "../../jobs/job_claimer.ts";
import { insertJobs } from "../../jobs/enqueue.ts";
import {
  buildDead,
  buildFinish,
  buildProgress,
  buildRelease,
  buildResult,
  buildRetry,
} from "../../jobs/finish.ts";
import {
  cancelJobs,
  countJobs,
  getJob,
  listJobs,
  pauseJobs,
  resumeJobs,
  retryJobs,
} from "../../jobs/job_admin.ts";
import { createJobRow } from "../../jobs/job_row.ts";
import { buildLook } from "../../jobs/lease_watch.ts";
import { buildLimitRow } from "../../jobs/limit_record.ts";
import {
  buildKeyWait,
  claimLimited,
  moveIds,
  probeLimited,
  seekLimited,
} from "../../jobs/limits.ts";
import { runRelay } from "../../jobs/relay.ts";
import { waitForJob } from "../../jobs/wait_for_job.ts";
import { createConnectionStore } from "../../realtime/connection_store.ts";
import { createConnectionTickets } from "../../realtime/connection_tickets.ts";
import { cancelWorkflow } from "../../workflows/cancel_workflow.ts";
import { NEW_ENTRY, readEntries, readWorkflow, writeEntries } from "../../workflows/journal.ts";
import { buildEnd, buildRemoval, buildUndo } from "../../workflows/run_turn.ts";
import { insertSignal, signalWorkflow } from "../../workflows/signal_workflow.ts";
import { createTurnJob, insertWorkflow, prepareStart } from "../../workflows/start_workflow.ts";
import { getWorkflow, listWorkflows, retryWorkflow } from "../../workflows/workflow_admin.ts";
import { type AuthUse, listAuthConfigs, listAuthUses } from "../grants/auth_needs.ts";
import { type JobNeed, listOwnUses } from "../grants/job_needs.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";

/** The statements of this package that a function uses. */
export interface OwnStatements {
  /** Texts with the use that they belong to: `jobs: enqueue of a job (src/jobs/index_note.ts)`. */
  readonly statements: readonly { readonly name: string; readonly sql: string }[];
  /** Uses whose SQL is only known when they run. */
  readonly unchecked: readonly string[];
}

/** Work of this package on a client that records its statements. */
type Work = (tx: WorkClient) => Promise<unknown>;

/** The client of a transaction, which runs what a client runs. */
type WorkClient = DrizzleClient & TransactionClient;

/** Row of texts that answers every statement of some work. */
type Answer = Readonly<Record<string, string | null>>;

/** Work, with the row that leads it through its branches; without a row, no statement finds one. */
type Recipe = readonly [work: Work, answer?: Answer];

const ID = "00000000-0000-4000-8000-000000000000";
const LEASE = { id: ID, fence: 1 };
const SINCE = new Date(0);
const ANY: StandardSchema<unknown> = {
  "~standard": { version: 1, vendor: "trellis", validate: (value) => ({ value }) },
};

const createRow = (limit?: JobLimitOptions) =>
  createJobRow("job", ANY, null, { settings: { version: 1, unique: undefined, limit } });

/** Adds a job, or replaces an earlier one. */
const addJob = (isUnique: boolean, limit?: JobLimitOptions): Work => async (tx) => {
  const unique = isUnique ? { replace: true, periodSeconds: 1 } : undefined;
  await insertJobs(tx, [{ ...await createRow(limit), hasKey: isUnique, unique }]);
};
const LIMIT: JobLimitOptions = {
  concurrency: 1,
  perKey: { key: () => "", concurrency: 1, rate: { count: 1, periodSeconds: 1 } },
  rate: { count: 1, periodSeconds: 1 },
};

async function runAll(tx: DrizzleClient, statements: readonly PlainSql[]): Promise<void> {
  for (const statement of statements) await runSql(tx, statement);
}

/** Ends the transaction of some work, so that nothing is delivered after its COMMIT. */
class RolledBack extends Error {
  override readonly name: string = "RolledBack";
}

/** Records the texts of the statements of some work. It is not whole if the work fails: some may be missing. */
async function recordStatements(
  [work, answer]: Recipe,
): Promise<{ texts: ReadonlySet<string>; isWhole: boolean }> {
  const texts = new Set<string>();
  const names = Object.keys(answer ?? {});
  const runner: StatementRunner = {
    run({ text }) {
      if (!/^(?:savepoint|rollback|release) /.test(text)) texts.add(text);
      return Promise.resolve({
        columns: names.map((name) => ({ name, type: 0 })),
        rows: answer === undefined ? [] : [Object.values(answer)],
        command: "",
        rowCount: answer === undefined ? 0 : 1,
      });
    },
  };
  const driver: SqlDriver = {
    ...runner,
    client: undefined,
    transaction: (inside) => inside(withSavepoints(runner)),
  };
  const db = createSessionClient(driver, new ConnectionSlots(1), { schema: undefined });
  try {
    return await withTransaction(db, async (tx) => {
      await work(tx as WorkClient);
      throw new RolledBack();
    });
  } catch (error) {
    return { texts, isWhole: error instanceof RolledBack };
  }
}

const claimJobs: Work = async (tx) => {
  const options = {
    names: [await seekName("job", 1)],
    limit: 1,
    clock: undefined,
    withGroups: true,
  };
  const jobs = [{ jobName: "job", settings: { timeoutMs: 1000 } } as AnyJob];
  const selects = [
    selectRunnable(0, options),
    selectJoining(0, options),
    selectBatches(0, options, 2),
    selectByIds([ID], options),
    selectNextOfGroup("group", options),
  ];
  await runAll(tx, selects.map((select) => buildClaim(select, { jobs, clock: undefined })));
};

const endJobs: Work = (tx) =>
  runAll(tx, [
    buildFinish({ ids: [ID], fence: 1, keepSeconds: 1 }, undefined),
    buildFinish({ ids: [ID], fence: 1, keepSeconds: 1, result: "null" }, undefined),
    buildRetry(LEASE, { delaySeconds: 1, error: "", isFree: false }, undefined),
    buildRetry(LEASE, { delaySeconds: 1, error: "", isFree: true }, undefined),
    buildDead(LEASE, "", undefined),
    buildRelease({ ids: [ID], fence: 1 }, undefined),
    buildResult(ID, "null"),
    buildProgress(LEASE, 0),
    buildLook([ID]),
  ]);

const relayJobs: Work = (tx) =>
  runRelay({
    getDb: () => tx,
    runDue: undefined,
    delivery: { graceSeconds: 1, deliver: () => Promise.resolve() },
    schedules: [],
    clock: undefined,
    random: () => 0,
    hasMetrics: false,
  });

const claimLimitedJobs: Work = async (tx) => {
  const { concurrency, perKey, rate } = LIMIT;
  const settings = { version: 1, timeoutMs: 1000 };
  const names = await Promise.all([
    LIMIT,
    { rate },
    { concurrency },
    { perKey },
    { perKey: { key: perKey!.key, concurrency: 1 } },
    { perKey: { key: perKey!.key, rate } },
  ].map((limit) => seekLimited({ jobName: "job", settings: { ...settings, limit } } as AnyJob)));
  await probeLimited(tx, [names[0]], undefined, 0);
  await moveIds(tx, [ID], [names[0]], undefined);
  for (const sought of names) {
    for (const ids of [undefined, [ID]]) {
      for (const withGroups of [true, false]) {
        const claim = { limit: 1, clock: undefined, withGroups, ids, from: ID };
        await claimLimited(tx as unknown as TransactionClient, sought, claim, 0);
      }
    }
    await runAll(tx, [
      buildKeyWait(sought, undefined),
      buildLimitRow(sought, undefined),
      buildLater([ID], 1, undefined),
    ]);
  }
};

const WORK: readonly Recipe[] = [[claimJobs], [endJobs]];
const LIMITED: readonly Recipe[] = [
  ...WORK,
  [
    claimLimitedJobs,
    { payload: "{}", now_ms: "0", enqueued_ms: "0", age_ms: "0", id: ID, name: "job" },
  ],
];

/** The work of each use of the table of jobs. */
const JOBS: Readonly<Record<JobNeed, readonly Recipe[]>> = {
  enqueue: [[addJob(false)]],
  enqueueLimited: [[addJob(false, LIMIT)]],
  replace: [[addJob(true)], [(tx) => pauseJobs(tx, "job")]],
  replaceLimited: [[addJob(true, LIMIT)]],
  work: WORK,
  workLimited: LIMITED,
  relay: [...WORK, [relayJobs, { name: null, dead: "0" }]],
  read: [
    [(tx) => listJobs(tx)],
    [(tx) => getJob(tx, ID)],
    [countJobs],
    [
      (tx) => waitForJob(tx, ID, { result: undefined } as AnyJob["settings"]),
      { state: "done", result: null },
    ],
  ],
  change: [
    [(tx) => retryJobs(tx, [ID])],
    [(tx) => cancelJobs(tx, [ID])],
    [(tx) => cancelJobs(tx, [ID], { running: true })],
  ],
  resume: [[(tx) => resumeJobs(tx, "job")]],
};

const startWorkflow: Work = async (tx) =>
  insertWorkflow(
    tx,
    await prepareStart({ name: "workflow", version: 1, input: ANY }, null),
  );

const IDEMPOTENT: readonly Recipe[] = [[async (tx) => {
  const backend = createDatabaseBackend(() => tx);
  const terms = { leaseSeconds: 1, ttlSeconds: 1 };
  const attempt = { id: ID, fence: ID, ...terms };
  await backend.claim({ id: ID, fingerprint: "" }, terms);
  await backend.complete(attempt, "");
  await backend.release(attempt);
  await createTransactions(() => tx).find(attempt);
}]];

/** The work of members of workflows and of functions of this package, by their names. */
const FUNCTIONS: Readonly<Record<string, readonly Recipe[]>> = {
  start: [[startWorkflow]],
  job: [
    [startWorkflow],
    [async (tx) => {
      await readWorkflow(tx, ID, undefined);
      await readEntries(tx, ID);
      const ending = { state: "done", mode: "run", output: null, error: null } as const;
      await runAll(tx, [
        buildUndo(ID, ""),
        buildEnd({ id: ID, mode: "run" }, ending, undefined),
        ...buildRemoval(ID, 1, undefined),
      ]);
      const wake = await createTurnJob("workflow", { id: ID });
      await insertSignal(tx, ID, {
        name: "signal",
        payload: "null",
        wake,
      });
      await cancelWorkflow(tx, ID);
      await writeEntries(tx, ID, [{ ...NEW_ENTRY, key: "0", kind: "step", name: "" }], undefined);
    }, { id: ID, name: "workflow", entry: "0" }],
  ],
  get: [[(tx) => getWorkflow(tx, ID), { input: "null", output: null }]],
  getWorkflow: [[(tx) => getWorkflow(tx, ID), { input: "null", output: null }]],
  listWorkflows: [[(tx) => listWorkflows(tx)]],
  signalWorkflow: [[(tx) => signalWorkflow(tx, ID, "signal"), {
    name: "workflow",
    finished: null,
  }]],
  cancelWorkflow: [[(tx) => cancelWorkflow(tx, ID)]],
  retryWorkflow: [
    [(tx) => retryWorkflow(tx, ID), { name: "workflow" }],
    [(tx) => retryWorkflow(tx, ID)],
  ],
  createTransactionStore: IDEMPOTENT,
  createLeaseStore: IDEMPOTENT,
  removeExpiredRecords: [[(tx) => removeExpiredRecords(() => tx)]],
  createConnectionStore: [[async (tx) => {
    const store = createConnectionStore(() => tx);
    await store.subscribe("connection", "topic");
    await store.unsubscribe("connection", "topic");
    await store.list("topic", { limit: 1 });
    await store.findTopics("connection");
    await store.remove("connection");
    await store.removeExpired();
  }]],
  createConnectionTickets: [[async (tx) => {
    const tickets = createConnectionTickets(() => tx);
    const user = { id: ID, email: "", emailVerified: true };
    const ticket = await tickets.createConnectionTicket({ user });
    // no statement finds the ticket
    const event = { queryStringParameters: { ticket } } as Partial<ApiEvent> as ApiEvent;
    await tickets.authenticate(event).catch(() => {});
  }]],
  defineChangeStreamHandler: [
    [async (tx) => {
      await runSql(tx, buildAdvance({ id: ID, consumer: "", commitNs: 0n }));
      await hasPosition(tx, ID);
      await runAll(tx, [
        buildFindIncomplete("", 1),
        buildRemovePositions(0, 0n, 1),
        buildRemoveParts("", 1, 1),
      ]);
    }],
    [
      async (tx) => {
        await ignoreChunk(tx, "", "");
        await storePiece(tx, "", { type: "fragment", chunkId: "", index: 0, data: "" });
      },
      {
        state: "open",
        data: '{"commitNs":"0","fragments":2}',
        fragment: "0",
        parts: "1",
        stored: "1",
      },
    ],
  ],
};

const KEY = { id: ID, refillAmount: 1, rateLimitMax: 1 } as ApiKeyRow;
const KEY_USES: readonly (readonly [ApiKeyRow, UsagePlan])[] = [
  [KEY, { quota: "decrement", counter: "increment" }],
  [{ ...KEY, lastRefillAt: SINCE, lastRequest: SINCE }, { quota: "refill", counter: "start" }],
];

/** Work with the tables of one configuration of accounts. */
type AuthWork = (db: DrizzleClient, settings: AuthSettings) => Promise<unknown>;

const checkSession: AuthWork = async (db, settings) => {
  await getSessionQuery(db, settings).find(db, "");
  const found = { token: "", expiresAt: SINCE };
  await extendSession(db, settings, found, { expiresAt: SINCE, updatedAt: SINCE });
};

const checkApiKey: AuthWork = async (db, { schema }) => {
  const { user } = getSessionTables(schema);
  const settings = resolveApiKeyOptions({}, { user, ...schema });
  await findApiKey(db, settings, "");
  for (const [row, plan] of KEY_USES) {
    await writeApiKeyUse(db, settings, { row, plan, now: SINCE });
  }
};

/** The work of the uses of accounts whose statements better-auth does not build. */
const ACCOUNTS: Readonly<
  Partial<Record<AuthUse["need"], { readonly feature: string; readonly work: AuthWork }>>
> = {
  check: { feature: "sessions", work: checkSession },
  expire: { feature: "sessions", work: (db, settings) => endSession(db, settings, "", SINCE) },
  organization: {
    feature: "sessions",
    work: (db, settings) => getOrganizationQuery(db, settings).find(db, ""),
  },
  "api-key": { feature: "API keys", work: checkApiKey },
};

/** Counts a request in a table of limits, and takes that back. */
const countRequest = (table: PgTable | undefined): Recipe => [async (tx) => {
  const store = createRateLimitStore(tx, table);
  await store.giveBack("", await store.take("", { limit: 1, windowSeconds: 1 }));
}, { count0: "1", startedMs0: "0", nowMs: "0" }];

/** Returns the work of a use of accounts with each configuration: none if better-auth builds the statements. */
function getAuthWork(
  fn: LoadedFunction,
  need: AuthUse["need"],
): { feature: string; recipes: readonly Recipe[] } {
  if (need === "limits") {
    const recipes = fn.list("configureRateLimits").map(({ args: [, options] }) =>
      countRequest((options as { table?: PgTable } | undefined)?.table)
    );
    return { feature: need, recipes };
  }
  const account = ACCOUNTS[need];
  if (account === undefined) return { feature: "accounts", recipes: [] };
  const recipes = listAuthConfigs(fn).map((config): Recipe => {
    const settings = { schema: config.schema ?? {}, library: config } as Partial<
      AuthSettings
    > as AuthSettings;
    return [(tx) => account.work(tx, settings)];
  });
  return { feature: account.feature, recipes };
}

/**
 * Lists the statements of this package that a function uses. They are recorded: the code that runs them in production runs
 * with a client that sends nothing.
 *
 * @param fn The function.
 */
export async function readOwnStatements(fn: LoadedFunction): Promise<OwnStatements> {
  const names = new Map<string, string>();
  const unchecked: string[] = [];
  async function add(name: string, recipes: readonly Recipe[]): Promise<void> {
    const recorded = await Promise.all(recipes.map(recordStatements));
    for (const text of recorded.flatMap(({ texts }) => [...texts])) {
      if (!names.has(text)) names.set(text, name);
    }
    if (recorded.length === 0 || recorded.some(({ isWhole }) => !isWhole)) unchecked.push(name);
  }
  for (const { feature, use, reason } of listOwnUses(fn)) {
    await add(`${feature}: ${reason}`, feature === "jobs" ? JOBS[use as JobNeed] : FUNCTIONS[use]);
  }
  for (const { need, why, place } of listAuthUses(fn)) {
    const { feature, recipes } = getAuthWork(fn, need);
    await add(`${feature}: ${why} (${place.file})`, recipes);
  }
  return { statements: [...names].map(([sql, name]) => ({ name, sql })), unchecked };
}
