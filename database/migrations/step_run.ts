import { findSqlState, hasSqlState } from "../../errors/driver_error.ts";
import { runWithRetry } from "../session/retry.ts";
import { waitForJob } from "./async_jobs.ts";
import { notBatchable, queryRunner, runInBatches } from "./backfill.ts";
import type { MigrationContext } from "./context.ts";
import { clearStep, readSteps, type StepRow, writeStep } from "./history.ts";
import { MigrationError } from "./migration_error.ts";
import { dropNotNullChecks } from "./not_null.ts";
import { buildsConcurrently, dropIndexSql, lookUpStatement } from "./recover.ts";
import { recreateTable } from "./recreation.ts";
import { planLockTimeouts, withLocks } from "./lock_wait.ts";
import { type MigrationStep, type PlannedMigration, toPostgresStep } from "./steps.ts";
import { decideChange, isOverLimit, needsBatches } from "../../distsql/engine.ts";
import { isConnectionLost, retryIdempotent } from "../../sql/retry_idempotent.ts";
import type { SqlSession } from "../../sql/session.ts";

/** Maximum attempts of a statement whose connection is lost. */
const MAX_ATTEMPTS = 12;

/** Result instead of a job id: the object already existed. */
const ALREADY_THERE = "already there";

/** duplicate_table, which includes indexes. */
const DUPLICATE = "42P07";

/** Outcome of a step that did not fail. */
export type StepOutcome = "done" | "skipped" | "paused";

/** Run of one recorded step of a migration. */
export class StepRun {
  readonly #step: MigrationStep;
  readonly #index: number;
  readonly #tag: string;
  readonly #context: MigrationContext;
  /** Line of the statement that runs. */
  line: number;

  /**
   * @param tag The migration.
   * @param index Index of the step, from 0.
   * @param step The step, as resolved from the catalog.
   * @param context Shared state of the run.
   */
  constructor(tag: string, index: number, step: MigrationStep, context: MigrationContext) {
    this.#step = step;
    this.line = step.line;
    this.#index = index;
    this.#tag = tag;
    this.#context = context;
  }

  /**
   * Runs the step; returns `skipped` if its object exists and the file ignores that, and `paused` if
   * the time of the run was over before its end.
   */
  async run(row: StepRow | undefined): Promise<StepOutcome> {
    const { run } = this.#step;
    if (run === "standalone") return await this.#alone(row);
    if (run === "recreate") await this.#recreate(row);
    else if (row?.watermark !== undefined || await this.#isBackfill() || await this.#isTooLarge()) {
      return await this.#batched(row?.watermark);
    } else return await this.#together();
    return "done";
  }

  #note(state: StepRow["state"], rest: Partial<StepRow> = {}): string {
    const { tables, lock } = this.#context;
    return writeStep(tables, this.#tag, lock.owner, {
      step: this.#index,
      hash: this.#step.hash,
      state,
      ...rest,
    });
  }

  async #write(state: StepRow["state"], rest: Partial<StepRow> = {}): Promise<void> {
    const { session, clock } = this.#context;
    await retryIdempotent(() => session.query(this.#note(state, rest)), clock);
  }

  /**
   * Checks whether the file requests batches.
   *
   * @throws {MigrationError} If the statement cannot be split, before it changes a row.
   */
  async #isBackfill(): Promise<boolean> {
    if (this.#step.inBatches !== true) return false;
    const decision = await decideChange(this.#step.sql, queryRunner(this.#context));
    if (decision?.isBatchable === true) return true;
    const why = decision === undefined ? "" : `, because ${decision.reason}. ${decision.advice}`;
    throw new MigrationError(
      `${this.#tag}.sql:${this.line}: statement ${this.#index + 1} is marked as a backfill, and ` +
        `cannot be split into batches${why}`,
      { tag: this.#tag, statement: this.#index + 1, line: this.line },
    );
  }

  /**
   * Checks whether the statement changes too many rows for one transaction and can be split into
   * batches.
   */
  async #isTooLarge(): Promise<boolean> {
    return this.#context.limitsRows &&
      await needsBatches(this.#step.sql, queryRunner(this.#context));
  }

  /** Runs the statement and records it in one transaction. */
  async #together(): Promise<StepOutcome> {
    const { limitsRows } = this.#context;
    const [setting] = planLockTimeouts([this.#step], this.#context.lockLimits);
    const run = (): Promise<void> =>
      inTransaction(this.#context, async (tx) => {
        if (setting !== undefined) await tx.query(setting);
        for (const { sql, line } of this.#step.block ?? [this.#step]) {
          this.line = line;
          await tx.query(sql);
        }
        await tx.query(this.#note("done"));
      });
    for (let attempt = 0;; attempt++) {
      try {
        await this.#withLocks(run);
        return "done";
      } catch (error) {
        await this.#undo(error);
        if (this.#isIgnored(error)) {
          await this.#write("done");
          return "done";
        }
        if (limitsRows && isOverLimit(error)) return await this.#batchedAfter(error);
        if (!isConnectionLost(error) || attempt >= MAX_ATTEMPTS) throw error;
        if ((await this.#read())?.state === "done") return "done";
      }
    }
  }

  #withLocks(work: () => Promise<void>): Promise<void> {
    return withLocks(this.#tag, [this.#step], this.#context.lockLimits, this.#context, work);
  }

  /**
   * Drops a constraint whose validation failed because of the rows, so that the file can be
   * changed. If that fails too, a later run continues with the validation.
   */
  async #undo(error: unknown): Promise<void> {
    const { undo } = this.#step;
    if (undo === undefined || findSqlState(error)?.startsWith("23") !== true) return;
    const { tables, lockLimits, clock } = this.#context;
    const [drop] = toPostgresStep(undo, this.#step.line);
    const [setting] = planLockTimeouts([drop], lockLimits);
    const run = (): Promise<void> =>
      inTransaction(this.#context, async (tx) => {
        if (setting !== undefined) await tx.query(setting);
        await tx.query(undo);
        await tx.query(clearStep(tables, this.#tag, this.#index - 1));
      });
    await retryIdempotent(
      () => withLocks(this.#tag, [drop], lockLimits, this.#context, run),
      clock,
    ).catch(() => {});
  }

  /** Reads the current record of this statement. */
  async #read(): Promise<StepRow | undefined> {
    const { session, tables, clock } = this.#context;
    const rows = await retryIdempotent(() => readSteps(session, tables, this.#tag), clock);
    return rows.find(({ step }) => step === this.#index);
  }

  /** Splits the statement into batches after the server rejected it as a whole. */
  async #batchedAfter(error: unknown): Promise<StepOutcome> {
    const decision = await decideChange(this.#step.sql, queryRunner(this.#context));
    if (decision === undefined) throw error;
    if (!decision.isBatchable) {
      const place = { tag: this.#tag, statement: this.#index + 1 };
      const { message } = notBatchable(decision);
      throw new MigrationError(
        `${this.#tag}.sql failed at statement ${place.statement}. ${message}`,
        { ...place, cause: error },
      );
    }
    return await this.#batched(undefined);
  }

  async #batched(watermark: string | undefined): Promise<StepOutcome> {
    const isComplete = await runInBatches(this.#step.sql, watermark, this.#context, {
      run: (work) => inTransaction(this.#context, work),
      read: () => this.#read(),
      note: (state, mark) => this.#note(state, { watermark: mark }),
    });
    return isComplete ? "done" : "paused";
  }

  async #recreate(row: StepRow | undefined): Promise<void> {
    const keep = (plan: string): Promise<void> => this.#write("running", { watermark: plan });
    await recreateTable(this.#step.sql, row?.watermark, keep, this.#context);
    await this.#write("done");
  }

  /**
   * Runs a statement that cannot share a transaction: records it first, and after an interruption
   * checks the catalog.
   */
  async #alone(row: StepRow | undefined): Promise<"done" | "skipped"> {
    try {
      return await this.#runAlone(row);
    } catch (error) {
      const sqlState = findSqlState(error);
      // the server rejected the statement: it is not running, and the file may be fixed before the
      // next run
      if (sqlState !== undefined && !isConnectionLost(error)) {
        await this.#forget(sqlState).catch(() => {});
      }
      throw error;
    }
  }

  async #forget(sqlState?: string): Promise<void> {
    const { session, tables, clock } = this.#context;
    // a failed CREATE INDEX CONCURRENTLY leaves an invalid index; an index that existed before must
    // stay
    if (sqlState !== undefined && sqlState !== DUPLICATE) {
      const evidence = await retryIdempotent(() => lookUpStatement(session, this.#step.sql), clock);
      if (evidence === "invalid") await this.#dropIndex();
    }
    await retryIdempotent(() => session.query(clearStep(tables, this.#tag, this.#index)), clock);
  }

  async #runAlone(row: StepRow | undefined): Promise<"done" | "skipped"> {
    let jobId = row?.jobId;
    if (row === undefined) await this.#write("running");
    const isRecovering = row !== undefined;
    if (!isRecovering || (row.state === "running" && !(await this.#wasRun()))) {
      const started = await this.#execute(isRecovering);
      if (started === ALREADY_THERE) return "skipped";
      if (this.#step.job !== undefined) {
        jobId = started;
        await this.#write("building", { jobId });
      }
    }
    if (this.#step.job !== undefined) await this.#finishJob(jobId, isRecovering);
    else await this.#rebuildInvalid();
    await this.#dropNotNull();
    await this.#write("done");
    return "done";
  }

  /** Builds an index again that exists and is invalid, which IF NOT EXISTS would accept. */
  async #rebuildInvalid(): Promise<void> {
    if (!buildsConcurrently(this.#step.sql)) return;
    const { session, clock } = this.#context;
    const evidence = await retryIdempotent(() => lookUpStatement(session, this.#step.sql), clock);
    if (evidence !== "invalid") return;
    await this.#dropIndex();
    await this.#execute(true);
  }

  /** Drops the NOT NULL constraint and the CHECK that replaces it. */
  async #dropNotNull(): Promise<void> {
    const { session, clock } = this.#context;
    for (const about of this.#step.notNull ?? []) {
      if (about.does === "drop") await dropNotNullChecks(session, about, clock);
    }
  }

  /**
   * Runs the statement and returns its job. After a lost connection or in a later run, checks the
   * catalog for its outcome. An existing object counts as foreign only if this step certainly has
   * not run before.
   */
  async #execute(mayHaveRun: boolean): Promise<string | undefined> {
    const { session, clock } = this.#context;
    let attempts = 0;
    for (;;) {
      try {
        const rows = await runWithRetry(() => {
          attempts++;
          return session.query(this.#step.sql);
        }, { maxRetries: 8, clock });
        const id = rows[0]?.job_id;
        return id === undefined || id === null ? undefined : String(id);
      } catch (error) {
        if (this.#isIgnored(error)) return mayHaveRun ? undefined : ALREADY_THERE;
        const isLost = isConnectionLost(error);
        mayHaveRun ||= isLost;
        if ((!isLost && attempts === 1) || attempts > MAX_ATTEMPTS) throw error;
        if (await this.#wasRun()) return undefined;
        if (!isLost) throw error;
      }
    }
  }

  async #wasRun(): Promise<boolean> {
    const { session, onUndecided, clock, logger } = this.#context;
    const evidence = await retryIdempotent(() => lookUpStatement(session, this.#step.sql), clock);
    logger(
      `${this.#tag}: statement ${this.#index + 1} was interrupted: the catalog says ${evidence}`,
    );
    if (evidence === "done" || evidence === "run") return evidence === "done";
    if (evidence === "invalid") {
      // it may still be building; then its job shows the progress
      if (this.#step.job !== undefined) return true;
      await this.#dropIndex();
      return false;
    }
    const answer = await onUndecided?.({
      tag: this.#tag,
      statement: this.#index + 1,
      sql: this.#step.sql,
    });
    if (answer !== undefined) return answer === "done";
    throw new MigrationError(
      `An earlier run was interrupted in statement ${this.#index + 1} of ` +
        `${this.#tag}.sql, and the catalog does not show whether it ran: check the database, ` +
        "and answer with onUndecided",
      { tag: this.#tag, statement: this.#index + 1 },
    );
  }

  async #dropIndex(): Promise<void> {
    const { session, clock } = this.#context;
    const sql = dropIndexSql(this.#step.sql);
    if (sql !== undefined) await retryIdempotent(() => session.query(sql), clock);
  }

  /**
   * Waits for the job. After an interruption the job may no longer exist; then the statement is run
   * once more.
   */
  async #finishJob(jobId: string | undefined, isRecovering: boolean): Promise<void> {
    const { job } = this.#step;
    if (job === undefined) return;
    const outcome = await waitForJob(job, jobId, this.#context);
    if (outcome.isValid) return;
    if (job.kind === "index") await this.#dropIndex();
    if (isRecovering && outcome.detail === undefined) {
      const again = await this.#execute(true);
      await this.#write("building", { jobId: again });
      return await this.#finishJob(again, false);
    }
    await this.#forget();
    throw new MigrationError(
      `${this.#tag}.sql:${this.line}: the background job of statement ${this.#index + 1} failed` +
        `${outcome.detail === undefined ? "" : ` (${outcome.detail})`}; ` +
        (job.kind === "index"
          ? "its invalid index was dropped: fix the rows and run the migrations again"
          : "the constraint only applies to new rows: fix the existing rows and run the " +
            "migrations again"),
      { tag: this.#tag, statement: this.#index + 1, line: this.line },
    );
  }

  #isIgnored(error: unknown): boolean {
    const { ignores } = this.#step;
    return ignores !== undefined && hasSqlState(error, ignores);
  }
}

/** Runs work in a transaction and retries it after a conflict; fails if another run took over. */
export function inTransaction(
  context: MigrationContext,
  fn: (tx: SqlSession) => Promise<void>,
): Promise<void> {
  const { session, lock, clock } = context;
  return runWithRetry(() =>
    session.transaction(async (tx) => {
      if (lock.fence !== undefined && (await tx.query(lock.fence)).length === 0) {
        throw new MigrationError(
          "Another run took over the migrations of this database, so this run stops",
        );
      }
      await fn(tx);
    }), { maxRetries: 8, clock });
}

/**
 * Records a range of steps as done in one transaction, because a step that completes a skipped one
 * must never run separately.
 */
export function noteDone(
  { file, steps }: PlannedMigration,
  from: number,
  to: number,
  context: MigrationContext,
): Promise<void> {
  const { tables, lock } = context;
  return inTransaction(context, async (tx) => {
    for (let step = from; step < to; step++) {
      await tx.query(
        writeStep(tables, file.tag, lock.owner, { step, hash: steps[step].hash, state: "done" }),
      );
    }
  });
}
