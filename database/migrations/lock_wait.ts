import { retry } from "../../core/retry.ts";
import { hasSqlState } from "../../errors/driver_error.ts";
import { maskStatement } from "../../sql/mask_statement.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";
import { tokenize } from "../../sql/tokenize.ts";
import type { LockLimits, MigrationContext } from "./context.ts";
import { MigrationError } from "./migration_error.ts";
import { compatibleModes, type StrongLock } from "./statement_locks.ts";
import type { MigrationStep, PlannedMigration } from "./steps.ts";

/** Transaction that holds a lock. */
interface LockHolder {
  /** The relation, as the migration writes it. */
  readonly relation: string;
  /** Process and state of the holder, with its statement without values. */
  readonly description: string;
  /** Age of its transaction in milliseconds; `undefined` if it is unknown or ends by itself. */
  readonly ageMs: number | undefined;
}

/** lock_not_available and deadlock_detected. */
const NOT_LOCKED: readonly string[] = ["55P03", "40P01"];

/** Checks whether a statement did not get its locks. */
export function isNotLocked(error: unknown): boolean {
  return hasSqlState(error, NOT_LOCKED);
}

/** Error of an attempt that did not get its locks. */
class LockBusyError extends Error {}

const HOLDERS =
  "WITH wanted AS (SELECT to_regclass(relation)::oid AS id, relation, compatible FROM " +
  "jsonb_to_recordset($1::jsonb) AS w (relation text, compatible jsonb)), " +
  "locked AS (SELECT * FROM wanted UNION ALL SELECT i.indrelid, relation, compatible " +
  "FROM wanted JOIN pg_index i ON i.indexrelid = id) " +
  "SELECT DISTINCT ON (l.pid) l.pid, k.relation, a.state, a.query, a.backend_type, " +
  "extract(epoch FROM clock_timestamp() - a.state_change)::int AS state_s, " +
  "(extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)::bigint::text AS age_ms " +
  "FROM locked k JOIN pg_locks l ON l.relation = k.id AND l.locktype = 'relation' AND l.granted " +
  "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) " +
  "AND NOT k.compatible ? l.mode LEFT JOIN pg_stat_activity a ON a.pid = l.pid " +
  "WHERE l.pid IS DISTINCT FROM pg_backend_pid() ORDER BY l.pid";

/** Finds the transactions that hold locks which conflict with others. */
async function findHolders(
  locks: readonly StrongLock[],
  { session, clock }: MigrationContext,
): Promise<LockHolder[]> {
  const wanted = locks.filter(({ relation }) => relation !== "")
    .map(({ relation, mode }) => ({ relation, compatible: compatibleModes(mode) }));
  const rows = await retryIdempotent(
    () => session.query(HOLDERS, [JSON.stringify(wanted)]),
    clock,
  );
  return rows.map(({ pid, relation, state, query, backend_type, state_s, age_ms }) => {
    if (pid === null) {
      // only COMMIT PREPARED ends it
      const description = "a prepared transaction";
      return { relation: String(relation), description, ageMs: Infinity };
    }
    const isClient = backend_type === "client backend" && age_ms !== null;
    const since = state === null ? "" : ` (${state} for ${state_s} s)`;
    const sql = maskStatement(tokenize(String(query ?? "")));
    return {
      relation: String(relation),
      description: `process ${pid}${since}${sql === "" ? "" : `: ${sql}`}`,
      ageMs: isClient ? Number(age_ms) : undefined,
    };
  });
}

/**
 * Names the transactions that hold locks which conflict with others.
 *
 * @param locks The locks.
 * @param context Shared state of the run.
 */
export async function describeLockHolders(
  locks: readonly StrongLock[],
  context: MigrationContext,
): Promise<string> {
  return describeHolders(await findHolders(locks, context));
}

function describeHolders(holders: readonly LockHolder[]): string {
  if (holders.length === 0) return "another transaction holds a lock";
  const oldest = [...holders].sort((a, b) => (b.ageMs ?? 0) - (a.ageMs ?? 0));
  return oldest.slice(0, 3)
    .map(({ relation, description }) => `${relation} is locked by ${description}`).join("; ");
}

/**
 * Returns the limits of the locks of a migration; `undefined` if the provider has no locks, or if
 * the file sets `lock_timeout` itself.
 *
 * @param planned The migration.
 * @param context Shared state of the run.
 */
export function getLockLimits(
  { file }: Pick<PlannedMigration, "file">,
  { lockLimits }: MigrationContext,
): LockLimits | undefined {
  return /\block_timeout\b/i.test(file.sql) ? undefined : lockLimits;
}

/**
 * Returns the setting to make before each statement of a transaction, or `undefined` if the current
 * one is right. Changes of rows wait as long as they need, unless the transaction holds a lock that
 * others notice. DO and CALL always do, because they may handle the error of a timeout and go on.
 *
 * @param steps The statements of the transaction.
 * @param limits Limits of the locks.
 */
export function planLockTimeouts(
  steps: readonly Pick<MigrationStep, "locks" | "hidesLocks">[],
  limits: LockLimits | undefined,
): (string | undefined)[] {
  let [isLimited, isHolding] = [false, false];
  return steps.map(({ locks = [], hidesLocks = false }) => {
    isHolding ||= locks.length > 0;
    const wasLimited = isLimited;
    isLimited = limits !== undefined && isHolding && !hidesLocks;
    if (isLimited === wasLimited) return undefined;
    return `SET LOCAL lock_timeout TO ${isLimited ? limits!.timeoutMs : "DEFAULT"}`;
  });
}

/**
 * Checks that no old transaction holds the locks of statements, for work that is not repeated.
 *
 * @param steps The statements.
 * @param context Shared state of the run.
 */
export async function canLock(
  steps: readonly MigrationStep[],
  context: MigrationContext,
): Promise<boolean> {
  const { lockLimits: limits } = context;
  const locks = steps.flatMap((step) => step.locks ?? []);
  if (limits === undefined || locks.length === 0) return true;
  return (await findHolders(locks, context)).every((holder) => isShort(holder, limits));
}

function isShort({ ageMs = 0 }: LockHolder, { timeoutMs }: LockLimits): boolean {
  return ageMs < timeoutMs;
}

/**
 * Runs a transaction that takes locks, and runs it again if it does not get them in time. While an
 * old transaction holds a lock, the work does not begin, so that no queue of readers and writers
 * forms behind it.
 *
 * @param tag The migration.
 * @param steps The statements of the transaction.
 * @param limits Limits of the locks.
 * @param context Shared state of the run.
 * @param work The transaction; it makes the settings of {@link planLockTimeouts}.
 * @returns The result of the work.
 * @throws {MigrationError} If the locks were not free in the last attempt: names who holds them.
 */
export async function withLocks<T>(
  tag: string,
  steps: readonly MigrationStep[],
  limits: LockLimits | undefined,
  context: MigrationContext,
  work: () => Promise<T>,
): Promise<T> {
  const locks = steps.flatMap((step) => step.locks ?? []);
  if (limits === undefined || locks.length === 0) return await work();

  async function attempt(retries: number): Promise<T> {
    if (retries > 0) await context.lock.check();
    const old = (await findHolders(locks, context)).filter((holder) => !isShort(holder, limits!));
    if (old.length > 0) throw new LockBusyError(describeHolders(old));
    try {
      return await work();
    } catch (cause) {
      if (!isNotLocked(cause)) throw cause;
      throw new LockBusyError(await describeLockHolders(locks, context), { cause });
    }
  }
  try {
    return await retry(attempt, {
      maxAttempts: limits.maxAttempts,
      baseDelayMs: 500,
      maxDelayMs: 10_000,
      clock: context.clock,
      isRetryable: (error) => error instanceof LockBusyError && !context.isOver(),
      onRetry: (error) => context.logger(`${tag}: waiting: ${(error as Error).message}`),
    });
  } catch (error) {
    if (!(error instanceof LockBusyError)) throw error;
    throw new MigrationError(
      `${tag}.sql did not get its locks within ${limits.maxAttempts} attempts of ` +
        `${limits.timeoutMs} ms, and nobody was kept waiting longer: ${error.message}. End that ` +
        "transaction, or run the migrations again when there is less traffic: they continue " +
        "where they stopped",
      { tag, cause: error },
    );
  }
}
