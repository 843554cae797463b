import { monotonicNow } from "../../core/mod.ts";
import { causeChain, findInCauseChain, sqlStateOf } from "../../errors/mod.ts";
import type { SqlSession } from "../providers/provider.ts";
import { runWithRetry } from "../retry.ts";
import { waitForJob } from "./async_jobs.ts";
import { canBatch, runInBatches } from "./backfill.ts";
import { type MigrationContext, titleOf, toMigrationError } from "./context.ts";
import { clearStep, clearSteps, readSteps, type StepRow, writeApplied, writeStep } from "./history.ts";
import { MigrationError } from "./migration_error.ts";
import { indexOf, lookUpStatement } from "./recover.ts";
import { isConnectionLost, retryIdempotent } from "./retry_idempotent.ts";
import { recreateTable } from "./recreate.ts";
import type { MigrationStep, PlannedMigration } from "./steps.ts";

/**
 * Applies a migration statement by statement, each noted before and after it runs, so that a run which died goes on
 * where it stopped. What can share a transaction with its note does; of the rest the catalog tells whether it ran.
 *
 * @param planned The migration.
 * @param context What the run shares.
 * @throws {MigrationError} Names the statement that failed; what ran before it stays and is not run again.
 */
export async function applyStepwise(planned: PlannedMigration, context: MigrationContext): Promise<void> {
  const { file, steps } = planned;
  const startedAt = monotonicNow(context.clock);
  const noted = await retryIdempotent(() => readSteps(context.session, context.tables, file.tag), context.clock);
  const rows = new Map(noted.map((row) => [row.step, row]));
  assertSameSteps(planned, rows);
  const from = [...rows.values()].filter(({ state }) => state === "done").length;
  if (rows.size > 0) context.logger(`${file.tag}: goes on at statement ${from + 1} of ${steps.length}`);
  for (let index = 0; index < steps.length; index++) {
    if (rows.get(index)?.state === "done") continue;
    await context.lock.check();
    context.logger(`${file.tag}: statement ${index + 1} of ${steps.length}: ${titleOf(steps[index])}`);
    try {
      await new StepRun(planned, index, context).run(rows.get(index));
    } catch (error) {
      throw toMigrationError(file.tag, index, error);
    }
  }
  await context.lock.check();
  const durationMs = monotonicNow(context.clock) - startedAt;
  await retryIdempotent(() =>
    inTransaction(context, async (tx) => {
      const known = await tx.query(`SELECT tag FROM ${context.tables.migrations} WHERE tag = $1`, [file.tag]);
      if (known.length > 0) return;
      await tx.query(writeApplied(context.tables, { ...file, statements: steps.length, durationMs, executed: true }));
      await tx.query(clearSteps(context.tables, file.tag));
    }), context.clock);
}

/** What was done under one plan must not be taken for another plan's work. */
function assertSameSteps({ file, steps }: PlannedMigration, rows: ReadonlyMap<number, StepRow>): void {
  for (const { step, hash } of rows.values()) {
    if (steps[step]?.hash === hash) continue;
    throw new MigrationError(
      `${file.tag}.sql stopped at statement ${rows.size} in an earlier run, and its statement ${
        step + 1
      } is not the same ` +
        "any more: restore the file that began (or the version of this package), or finish it by hand and mark it as applied",
      { tag: file.tag, statement: step + 1 },
    );
  }
}

/** A transaction that another runner's taking over ends; done again after a conflict. */
function inTransaction(context: MigrationContext, fn: (tx: SqlSession) => Promise<void>): Promise<void> {
  const { session, lock, clock } = context;
  return runWithRetry(() =>
    session.transaction(async (tx) => {
      if (lock.fence !== undefined && (await tx.query(lock.fence)).length === 0) {
        throw new MigrationError("Another run took over this database's migrations: this one stops");
      }
      await fn(tx);
    }), { maxRetries: 8, clock });
}

/** Tries of a statement whose connection is lost again and again. */
const MAX_ATTEMPTS = 12;

/** duplicate_table, which means indexes too. */
const DUPLICATE = "42P07";

class StepRun {
  readonly #step: MigrationStep;
  readonly #index: number;
  readonly #tag: string;
  readonly #context: MigrationContext;

  constructor(planned: PlannedMigration, index: number, context: MigrationContext) {
    this.#step = planned.steps[index];
    this.#index = index;
    this.#tag = planned.file.tag;
    this.#context = context;
  }

  async run(row: StepRow | undefined): Promise<void> {
    const { run, batch } = this.#step;
    if (run === "recreate") return await this.#recreate(row);
    if (run === "together") {
      if (batch !== undefined || row?.watermark !== undefined) return await this.#batched(row?.watermark);
      return await this.#together();
    }
    await this.#alone(row);
  }

  #note(state: StepRow["state"], rest: Partial<StepRow> = {}): string {
    const { tables, lock } = this.#context;
    return writeStep(tables, this.#tag, lock.owner, { step: this.#index, hash: this.#step.hash, state, ...rest });
  }

  async #write(state: StepRow["state"], rest: Partial<StepRow> = {}): Promise<void> {
    const { session, clock } = this.#context;
    await retryIdempotent(() => session.query(this.#note(state, rest)), clock);
  }

  /** The statement and its note in one transaction: whatever happens, both are there or neither. */
  async #together(): Promise<void> {
    const { limitsRows } = this.#context;
    for (let attempt = 0;; attempt++) {
      try {
        return await inTransaction(this.#context, async (tx) => {
          await tx.query(this.#step.sql);
          await tx.query(this.#note("done"));
        });
      } catch (error) {
        if (this.#isIgnored(error)) return await this.#write("done");
        if (limitsRows && isOverLimit(error) && canBatch(this.#step)) return await this.#batched(undefined);
        if (!isConnectionLost(error) || attempt >= MAX_ATTEMPTS) throw error;
        if ((await this.#read())?.state === "done") return;
      }
    }
  }

  /** What is noted of this statement by now. */
  async #read(): Promise<StepRow | undefined> {
    const { session, tables, clock } = this.#context;
    const rows = await retryIdempotent(() => readSteps(session, tables, this.#tag), clock);
    return rows.find(({ step }) => step === this.#index);
  }

  #batched(watermark: string | undefined): Promise<void> {
    return runInBatches(this.#step, watermark, this.#context, {
      run: (work) => inTransaction(this.#context, work),
      read: () => this.#read(),
      note: (state, mark) => this.#note(state, { watermark: mark }),
    });
  }

  async #recreate(row: StepRow | undefined): Promise<void> {
    const keep = (plan: string): Promise<void> => this.#write("running", { watermark: plan });
    await recreateTable(this.#step.sql, row?.watermark, keep, this.#context);
    await this.#write("done");
  }

  /** The server takes the statement by itself alone: a note before, and after a death a look into the catalog. */
  async #alone(row: StepRow | undefined): Promise<void> {
    try {
      await this.#runAlone(row);
    } catch (error) {
      const sqlState = sqlStateOf(findInCauseChain(error, (link) => sqlStateOf(link) !== undefined));
      // the server said no: nothing is under way, and the file may be mended before the next run
      if (sqlState !== undefined && !isConnectionLost(error)) await this.#forget(sqlState).catch(() => {});
      throw error;
    }
  }

  async #forget(sqlState?: string): Promise<void> {
    const { session, tables, clock } = this.#context;
    // CREATE INDEX CONCURRENTLY leaves an invalid index behind when it fails; one that was there is another's
    if (sqlState !== undefined && sqlState !== DUPLICATE) {
      const evidence = await retryIdempotent(() => lookUpStatement(session, this.#step.sql), clock);
      if (evidence === "invalid") await this.#dropIndex();
    }
    await retryIdempotent(() => session.query(clearStep(tables, this.#tag, this.#index)), clock);
  }

  async #runAlone(row: StepRow | undefined): Promise<void> {
    let jobId = row?.jobId;
    if (row === undefined) await this.#write("running");
    const isRecovering = row !== undefined;
    if (!isRecovering || (row.state === "running" && !(await this.#wasRun()))) {
      const started = await this.#execute();
      if (this.#step.job !== undefined) {
        jobId = started;
        await this.#write("building", { jobId });
      }
    }
    if (this.#step.job !== undefined) await this.#finishJob(jobId, isRecovering);
    await this.#write("done");
  }

  /** Runs the statement; a lost connection or a repeated try asks the catalog what became of it. */
  async #execute(): Promise<string | undefined> {
    const { session, clock } = this.#context;
    let tries = 0;
    for (;;) {
      try {
        const rows = await runWithRetry(() => {
          tries++;
          return session.query(this.#step.sql);
        }, { maxRetries: 8, clock });
        const id = rows[0]?.job_id;
        return id === undefined || id === null ? undefined : String(id);
      } catch (error) {
        if (this.#isIgnored(error)) return undefined;
        const isLost = isConnectionLost(error);
        if ((!isLost && tries === 1) || tries > MAX_ATTEMPTS) throw error;
        if (await this.#wasRun()) return undefined;
        if (!isLost) throw error;
      }
    }
  }

  async #wasRun(): Promise<boolean> {
    const { session, onUndecided, clock, logger } = this.#context;
    const evidence = await retryIdempotent(() => lookUpStatement(session, this.#step.sql), clock);
    logger(`${this.#tag}: statement ${this.#index + 1} was under way: the catalog says ${evidence}`);
    if (evidence === "done" || evidence === "run") return evidence === "done";
    if (evidence === "invalid") {
      // it may still be building, and then its job tells
      if (this.#step.job !== undefined) return true;
      await this.#dropIndex();
      return false;
    }
    const answer = await onUndecided?.({ tag: this.#tag, statement: this.#index + 1, sql: this.#step.sql });
    if (answer !== undefined) return answer === "done";
    throw new MigrationError(
      `An earlier run stopped in the middle of statement ${
        this.#index + 1
      } of ${this.#tag}.sql, and the catalog cannot tell ` +
        "whether it ran: look, and answer with onUndecided",
      { tag: this.#tag, statement: this.#index + 1 },
    );
  }

  async #dropIndex(): Promise<void> {
    const { session, clock } = this.#context;
    const index = indexOf(this.#step.sql);
    if (index !== undefined) await retryIdempotent(() => session.query(index.dropSql), clock);
  }

  /** Waits for the job; after a death it may be gone without a trace, then the work is begun again once. */
  async #finishJob(jobId: string | undefined, isRecovering: boolean): Promise<void> {
    const { job } = this.#step;
    if (job === undefined) return;
    const outcome = await waitForJob(job, jobId, this.#context);
    if (outcome.isValid) return;
    if (job.kind === "index") await this.#dropIndex();
    if (isRecovering && outcome.detail === undefined) {
      const again = await this.#execute();
      await this.#write("building", { jobId: again });
      return await this.#finishJob(again, false);
    }
    await this.#forget();
    throw new MigrationError(
      `Statement ${this.#index + 1} of ${this.#tag}.sql: the background job failed` +
        `${outcome.detail === undefined ? "" : ` (${outcome.detail})`}; ` +
        (job.kind === "index"
          ? "its invalid index was dropped: mend the rows and run the migrations again"
          : "the constraint holds for new rows only: mend the rows and run the migrations again"),
      { tag: this.#tag, statement: this.#index + 1 },
    );
  }

  #isIgnored(error: unknown): boolean {
    const { ignores } = this.#step;
    return ignores !== undefined && causeChain(error).some((link) => ignores.includes(sqlStateOf(link) ?? ""));
  }
}

function isOverLimit(error: unknown): boolean {
  return findInCauseChain(error, (link) => sqlStateOf(link) === "54000") !== undefined;
}
