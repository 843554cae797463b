import { type DistSqlJob, pollJob, readJob } from "../../distsql/engine.ts";
import { getName } from "../../sql/sql_name.ts";
import { tokenize } from "../../sql/tokenize.ts";
import { queryRunner } from "./backfill.ts";
import type { MigrationContext } from "./context.ts";
import { MigrationError } from "./migration_error.ts";
import { CONSTRAINT_STATE, INDEX_STATE } from "./recover.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";

/** Outcome of a background job. */
export interface JobOutcome {
  /** True if the catalog shows the index or constraint as valid. */
  isValid: boolean;
  /** Reason of a failure, from the provider. */
  detail: string | undefined;
}

/**
 * Waits for a background job. The catalog decides about success, not the job's status: a job may be
 * "completed" although its table was dropped, and jobs are deleted half an hour after they end.
 *
 * @param job The index or constraint that the job makes valid.
 * @param jobId Id of the job, if known.
 * @param context Shared state of the run.
 * @returns The outcome.
 * @throws {MigrationError} If the job takes longer than `jobTimeoutMs`.
 */
export async function waitForJob(
  job: DistSqlJob,
  jobId: string | undefined,
  context: MigrationContext,
): Promise<JobOutcome> {
  const { clock, jobTimeoutMs, lock, logger } = context;
  const run = queryRunner(context);
  const { outcome, job: state } = await pollJob({
    read: () => readJob(run, lastName(job.name ?? job.table), jobId),
    isValid: (current) => isValid(job, current?.objectName, context),
    onWait: () => logger(`waiting for the background job on ${job.table}`),
    afterWait: () => lock.check(),
    firstDelayMs: 200,
    timeoutMs: jobTimeoutMs,
    clock,
  });
  if (outcome === "timeout") {
    throw new MigrationError(
      `The background job on ${job.table} is still ${state?.status}: run the migrations ` +
        "again to continue waiting for it",
    );
  }
  const isDone = outcome === "valid";
  return { isValid: isDone, detail: isDone ? undefined : state?.detail };
}

async function isValid(
  job: DistSqlJob,
  objectName: string | undefined,
  context: MigrationContext,
): Promise<boolean> {
  const { session, clock } = context;
  // the provider shows the catalog's name after the schema
  const name = job.name === undefined
    ? objectName?.slice(objectName.indexOf(".") + 1)
    : lastName(job.name);
  if (name === undefined) return false;
  const sql = job.kind === "index" ? INDEX_STATE : CONSTRAINT_STATE;
  const rows = await retryIdempotent(() => session.query(sql, [name, job.table]), clock);
  return rows[0]?.valid === true;
}

/** Returns the last part of a qualified name, in the catalog's form. */
function lastName(name: string): string {
  const token = tokenize(name).filter(({ kind }) => kind === "word" || kind === "quoted").at(-1);
  return token === undefined ? name : getName(token);
}
