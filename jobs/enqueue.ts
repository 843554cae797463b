import type { SQL } from "drizzle-orm";
import type { Clock } from "../core/async/clock.ts";
import { splitEvery } from "../core/lists/group_by.ts";
import { beforeDeadline } from "../core/request_context.ts";
import { joinSql, type PlainSql, rawSql, sql } from "../database/session/plain_sql.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSql, sendAhead } from "../database/session/run_sql.ts";
import type { TransactionState } from "../database/session/transaction_state.ts";
import { findSession } from "../database/session/statement_session.ts";
import { findTransactionState } from "../database/session/transaction_guard.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { log } from "../observability/logger.ts";
import { addOccurrences } from "../observability/metrics.ts";
import { listWords } from "../sql/list_words.ts";
import type { JobUniqueOptions } from "./job_options.ts";
import type { NewJob } from "./job_row.ts";
import { JOBS_CHANNEL } from "./notify.ts";
import { type CommittedJob, findTestClock, getDueSeconds, getJobsConfig } from "./job_settings.ts";
import { explainTable, sqlArray, sqlIn, sqlNow } from "./job_sql.ts";

/** Client or transaction of `@trellis/fn/database`. */
export interface JobClient {
  /** Runs a statement. */
  execute(query: SQL): PromiseLike<unknown>;
}

/** Statements outside of a transaction that are sent at once: the server works on several connections. */
const AT_ONCE = 4;

/**
 * Inserts jobs in the transaction of a client, or in separate transactions.
 *
 * @param client The client.
 * @param rows The jobs.
 */
export async function insertJobs(client: JobClient, rows: readonly NewJob[]): Promise<void> {
  if (rows.length === 0) return;
  const { clock, delivery } = getJobsConfig();
  const state = findTransactionState(client);
  const batches = splitRows(dropRepeated(rows)).map((batch) => {
    const hasKeys = batch.some(({ hasKey }) => hasKey);
    const build = (mayExist: boolean): PlainSql => {
      const inserting = buildInsert(batch, { clock: findTestClock(clock), mayExist });
      return delivery?.notifies ? buildNotify(client, batch, inserting) : inserting;
    };
    return { build, hasKeys };
  });
  if (state !== undefined) {
    for (const { build, hasKeys } of batches) insertAhead(client, state, build(hasKeys));
    return addCommitted(state, rows);
  }
  for (const part of splitEvery(batches, AT_ONCE)) {
    await Promise.all(part.map(({ build, hasKeys }) => insertAtOnce(client, build, hasKeys)));
  }
  await onCommitted(rows);
}

/** Leaves out rows whose key is repeated: a statement can take over the earlier job of a key once. */
function dropRepeated(rows: readonly NewJob[]): readonly NewJob[] {
  if (rows[0].unique === undefined) return rows;
  const byId = new Map<string, NewJob>();
  for (const row of rows) if (row.unique?.replace || !byId.has(row.id)) byId.set(row.id, row);
  return [...byId.values()];
}

/** Rows have their ids already, so a repeated insert, which looks for them, has no further effect. */
async function insertAtOnce(
  client: JobClient,
  build: (mayExist: boolean) => PlainSql,
  hasKeys: boolean,
): Promise<void> {
  let mayExist = hasKeys;
  const insert = async () => {
    const statement = build(mayExist);
    mayExist = true;
    await runSql(client, statement);
  };
  await withDistSqlRetry(insert, { idempotent: true }).catch((error) => {
    throw explainTable(error);
  });
}

/**
 * Sends the insert without waiting for its answer, which costs no round trip. The transaction waits
 * for it, and fails if it has failed.
 */
function insertAhead(client: JobClient, state: TransactionState, statement: PlainSql): void {
  // reported here too: the caller may only see that the transaction was aborted
  sendAhead(client, state, statement).catch((error) =>
    log("ERROR", "enqueueing failed, the transaction is rolled back", {
      error: explainTable(error),
    })
  );
}

/** Jobs of running transactions. */
const uncommitted: WeakMap<TransactionState, NewJob[]> = new WeakMap();

function addCommitted(state: TransactionState, rows: readonly NewJob[]): void {
  const known = uncommitted.get(state);
  if (known !== undefined) {
    for (const row of rows) known.push(row);
    return;
  }
  const jobs = [...rows];
  uncommitted.set(state, jobs);
  const previous = state.onCommitted;
  state.onCommitted = async function deliverCommitted(): Promise<void> {
    await previous?.();
    await onCommitted(jobs);
  };
}

/** Hands over committed jobs. Never throws: the relay picks up what was not delivered. */
async function onCommitted(jobs: readonly NewJob[]): Promise<void> {
  try {
    countEnqueued(jobs);
    await deliver(jobs);
  } catch (error) {
    log("WARN", "jobs were not delivered, the relay will do it", { jobs: jobs.length, error });
  }
}

/**
 * Hands over the id of no job, which a worker ignores. A request that must not show whether it has
 * enqueued a job waits for the queue as long as if it had.
 */
export async function deliverDecoy(): Promise<void> {
  const decoy: CommittedJob = {
    id: crypto.randomUUID(),
    name: "",
    group: null,
    delaySeconds: 0,
    correlationId: null,
  };
  try {
    await deliver([decoy]);
  } catch (error) {
    log("WARN", "the queue did not accept a message", { error });
  }
}

/**
 * Hands over a job whose attempt failed, if the delivery keeps the delay of the next one. Never throws:
 * otherwise the relay does it.
 *
 * @param job The job and the time until its next attempt.
 */
export async function deliverAgain(job: CommittedJob): Promise<void> {
  const { maxDelaySeconds = -1 } = getJobsConfig().delivery ?? {};
  if (job.delaySeconds > maxDelaySeconds) return;
  try {
    await deliver([job]);
  } catch (error) {
    log("WARN", "a job was not delivered again, the relay will do it", { job_id: job.id, error });
  }
}

async function deliver(jobs: readonly CommittedJob[]): Promise<void> {
  const { delivery } = getJobsConfig();
  if (delivery === undefined) return;
  await beforeDeadline("The delivery of jobs", () => delivery.deliver(jobs));
}

function countEnqueued(jobs: readonly NewJob[]): void {
  const counts = new Map<string, number>();
  for (const { name } of jobs) counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const [job, count] of counts) {
    addOccurrences({ job }, [["JobsEnqueued", "Count", count]]);
  }
}

/** Rows of one statement: far below the 3,000 rows of a transaction on the distributed provider. */
const MAX_ROWS = 1000;
/** Characters of the payloads of one statement, far below the 10 MiB of a transaction there; one payload may be longer. */
const MAX_CHARACTERS = 300_000;

function splitRows(rows: readonly NewJob[]): NewJob[][] {
  const batches: NewJob[][] = [];
  let left = 0;
  for (const row of rows) {
    left -= row.payload.length;
    const last = batches.at(-1);
    if (last === undefined || left < 0 || last.length === MAX_ROWS) {
      batches.push([row]);
      left = MAX_CHARACTERS - row.payload.length;
    } else last.push(row);
  }
  return batches;
}

/** Builds the statement that inserts jobs and announces when the first of them may run. */
function buildNotify(
  client: JobClient,
  rows: readonly NewJob[],
  inserting: PlainSql,
): PlainSql {
  // of all providers, only Aurora DSQL has no savepoints, and it has no NOTIFY
  if (findSession(client)?.statements.rules.savepoints === false) {
    throw new ConfigurationError(
      "createNotifyDelivery needs PostgreSQL, Aurora DSQL has no NOTIFY: configure createStreamDelivery or " +
        "createSqsDelivery, or leave the jobs to workers that poll",
    );
  }
  const first = Math.min(...rows.map(({ delaySeconds }) => delaySeconds));
  return sql`with added as (${inserting} returning 1)
  select pg_notify(${JOBS_CHANNEL}::text, ${String(first)}::text)`;
}

/** How rows are inserted. */
export interface InsertOptions {
  /** Clock of a test. */
  readonly clock: Clock | undefined;
  /** True if the statement may run twice, or a row may have a key. */
  readonly mayExist: boolean;
}

/**
 * Builds the statement that inserts jobs. Its text is the same for each number of them.
 *
 * @param rows The jobs, all of one name.
 * @param options With `mayExist`, a job whose id exists already is left out, which costs a bit more.
 */
export function buildInsert(
  rows: readonly NewJob[],
  { clock, mayExist }: InsertOptions,
): PlainSql {
  const [{ unique, limitKey }] = rows;
  // all of them have a limit, or none
  const isLimited = limitKey !== null;
  const list = (
    type: Parameters<typeof sqlArray>[1],
    read: (row: NewJob) => string | number | null,
  ) => sqlArray(rows.map(read), type);
  const arrays = [
    list("uuid", ({ id }) => id),
    list("text", ({ name }) => name),
    list("text", ({ payload }) => payload),
    list("int", ({ shard }) => shard),
    list("text", ({ group }) => group),
    list("bigint", ({ position }) => position),
    list("float8", ({ delaySeconds }) => delaySeconds),
    list("float8", ({ delaySeconds }) => getDueSeconds(delaySeconds)),
    list("text", ({ correlationId }) => correlationId),
    list("text", ({ traceParent }) => traceParent),
    list("int", ({ version }) => version),
    list("uuid", (row) => row.limitKey),
  ];
  const onConflict = unique !== undefined
    ? takeOver(unique, isLimited, clock)
    : mayExist
    ? sql` on conflict do nothing`
    : sql``;
  return sql`insert into "trellis_jobs" as e ("id", "name", "payload", "shard", "group_key", "position",
  "enqueued_at", "run_at", "due_at", "correlation_id", "trace_parent", "version", "limit_key")
  select n."id", n."name", n."payload", n."shard", n."group_key", n."position", ${sqlNow(clock)},
    ${sqlIn(clock, sql`n."delay"`)}, ${
    sqlIn(clock, sql`n."due"`)
  }, n."correlation_id", n."trace_parent",
    n."version", n."limit_key"
  from unnest(${
    joinSql(arrays, ", ")
  }) n ("id", "name", "payload", "shard", "group_key", "position",
    "delay", "due", "correlation_id", "trace_parent", "version", "limit_key")${onConflict}`;
}

/** Values that a job which is taken over gets; `excluded` is the new one. */
const TAKEN_OVER: Readonly<Record<string, string>> = {
  state: "'queued'",
  attempts: "0",
  finished_at: "null",
  last_error: "null",
  progress: "null",
  result: "null",
  ...Object.fromEntries(
    listWords(`
      payload shard group_key position enqueued_at run_at due_at correlation_id trace_parent version
    `).map((column) => [column, `excluded."${column}"`]),
  ),
};

const IS_RUNNING = `e."state" = 'running'`;

/** A job that runs stays as it is, and runs again with the new payload when it has ended. */
const REPLACEMENT: PlainSql = rawSql(
  [
    ...Object.entries(TAKEN_OVER).map(([column, value]) =>
      `"${column}" = case when ${IS_RUNNING} then e."${column}" else ${value} end`
    ),
    `"next_payload" = case when ${IS_RUNNING} then excluded."payload" end`,
    `"next_run_at" = case when ${IS_RUNNING} then excluded."run_at" end`,
  ].join(", "),
);

/** Makes the earlier job of a key the new one. Its fence stays, so that an earlier worker cannot end it. */
function takeOver(
  { periodSeconds = Infinity, replace, whileQueued }: JobUniqueOptions,
  isLimited: boolean,
  clock: Clock | undefined,
): PlainSql {
  const key = isLimited ? sql`, "limit_key" = excluded."limit_key"` : sql``;
  const update = sql` on conflict ("id") do update set ${REPLACEMENT}${key} where`;
  if (whileQueued) return sql`${update} e."state" <> 'queued' and e."next_payload" is null`;
  // a job that is replaced has no period unless it is given
  const seconds = replace && periodSeconds === Infinity ? 0 : periodSeconds;
  const isOver = seconds === Infinity
    ? sql`false`
    : sql`(e."finished_at" is not null and e."enqueued_at" <= ${sqlIn(clock, -seconds)})`;
  const isReplaced = replace
    ? sql`e."state" in ('queued', 'running', 'dead', 'cancelled')`
    : sql`false`;
  return sql`${update} ${isOver} or ${isReplaced}`;
}
