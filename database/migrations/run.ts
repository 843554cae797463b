import type { DistSqlOptions } from "../../distsql/engine.ts";
import { type Clock, monotonicNow, systemClock, toMonotonic } from "../../core/async/clock.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { checkDatabaseConfig } from "../config/check_config.ts";
import { openShared, withSession } from "../providers/client.ts";
import type { DatabaseConfig } from "../config/config.ts";
import type { DedicatedSession } from "../providers/provider.ts";
import type { DrizzleClient } from "../session/drizzle_client.ts";
import { getLimit } from "../providers/statement_limit.ts";
import { applyPending, type MigratedFile } from "./apply_pending.ts";
import {
  type BackfillLimits,
  type LockLimits,
  type MigrationContext,
  summarizeStatement,
  type UndecidedStatement,
} from "./context.ts";
import { type MigrationFolder, readMigrationFolder } from "./folder.ts";
import { createTables, nameTables, readApplied } from "./history.ts";
import { MigrationError, MigrationPlanError } from "./migration_error.ts";
import { assertNothingChanged, type MigrationStatus, planMigrations, ROLLBACK } from "./plan.ts";
import { describeFinding, formatPlanFinding, type PlanFinding } from "../../sql/plan_finding.ts";
import { planOnDatabase } from "./plan_on_database.ts";
import { type LockSettings, takeRunLock } from "./lock.ts";
import { planOnline } from "./online.ts";
import { assertNoSharedSettings } from "./session_settings.ts";
import type { PlannedMigration } from "./steps.ts";

export type { MigratedFile } from "./apply_pending.ts";

/** Folder of migrations and the database they belong to. */
export interface MigrationTarget {
  /** The folder of the files `<number>_<name>.sql`. */
  migrationsFolder: string;
  /** The database; on `distsql` with `isAdmin`. */
  database: DatabaseConfig;
  /**
   * Table that records the applied migrations.
   * @default "__orm_migrations"
   */
  migrationsTable?: string;
  /**
   * Schema of that table.
   * @default "orm"
   */
  migrationsSchema?: string;
  /** Translation options for `distsql`. */
  translation?: DistSqlOptions;
}

/** Options of {@link runMigrations}. */
export interface MigrateConfig extends MigrationTarget {
  /**
   * Allow only one run at a time.
   * @default true
   */
  useLock?: boolean;
  /** Called with each progress message: one line, without data. */
  logger?: (msg: string) => void;
  /**
   * Log the plan and write nothing.
   * @default false
   */
  dryRun?: boolean;
  /**
   * Seconds to wait for another run.
   * @default 600
   */
  lockTimeoutSeconds?: number;
  /**
   * Seconds after which the lease of a dead run expires, where the lock does not end with its
   * connection.
   * @default 60
   */
  lockTtlSeconds?: number;
  /**
   * Milliseconds that a statement waits for a lock on a table, while readers and writers wait
   * behind it. Then its transaction is rolled back and tried again. A file that sets
   * `lock_timeout` itself keeps its own value, and is not tried again. `distsql` has no such locks.
   * @default 2000
   */
  lockTimeoutMs?: number;
  /**
   * Attempts to get the locks of a transaction, with growing pauses of up to 10 seconds. The run
   * then stops with an error that names who holds them.
   * @default 20
   */
  lockMaxAttempts?: number;
  /**
   * Milliseconds that a transaction of a change in batches should take. The number of its rows is
   * adapted to that, and it waits no longer for a locked row.
   * @default 200
   */
  backfillBatchMs?: number;
  /**
   * Milliseconds that a replica may be behind while rows are changed in batches. The next batch
   * waits until it has caught up. Without the privileges of `pg_monitor` the lag is unknown, and the
   * log says so.
   * @default 5000
   */
  maxReplicationLagMs?: number;
  /**
   * Maximum duration in seconds of such a wait, also for locked rows and for others that wait for locks of
   * the table. The run then stops with an error, and a later run continues after the last batch.
   * @default 600
   */
  backfillMaxWaitSeconds?: number;
  /**
   * Maximum duration in seconds of a background job of `distsql` (an index, a validation), and of
   * each statement of a migration: a `CREATE INDEX`, an `UPDATE`, the copy of a table. The runner's
   * own statements are limited by `DatabaseConfig.statementTimeoutSeconds`.
   * @default 3600
   */
  jobTimeoutSeconds?: number;
  /**
   * Time in epoch milliseconds after which no further file, statement or batch begins. A later run
   * continues. A file that is one transaction is never interrupted.
   * @default no limit
   */
  stopAtMs?: number;
  /**
   * Decides about a statement that an earlier run was interrupted in, when neither the records nor
   * the catalog show whether it ran. Without it the run stops with an error.
   */
  onUndecided?: (statement: UndecidedStatement) => "done" | "run" | Promise<"done" | "run">;
  /**
   * Clock that waits and reads the time.
   * @default systemClock
   */
  clock?: Clock;
}

/** Migration of a dry run. */
export interface DryRunMigration {
  /** The migration. */
  tag: string;
  /** Statements for the provider; empty if any of the file's statements is rejected. */
  statements: string[];
  /** True if they would run as one transaction. */
  atomic: boolean;
  /** Differences in behavior on the provider. */
  warnings: string[];
}

/** Result of {@link runMigrations}. */
export interface MigrateResult {
  /** Number of migrations applied by this run. */
  applied: number;
  /** Migrations applied by this run, in order. */
  migrations: MigratedFile[];
  /** Tags that another run applied while this run waited. */
  appliedElsewhere: string[];
  /** False if `stopAtMs` has passed and migrations are left. */
  isComplete: boolean;
  /** All findings of the plan; a dry run includes errors. */
  findings: PlanFinding[];
  /** Warnings among the findings, one sentence each. */
  warnings: string[];
  /** Plan of a dry run. */
  plan?: DryRunMigration[];
}

/**
 * Applies the pending migrations of a database, in order. On PostgreSQL each file is one
 * transaction, unless statements of it would stop the traffic on a filled table: these run in an
 * online form. On the distributed-SQL provider, and for files that request it, each statement runs
 * separately and is recorded, so that an interrupted run continues where it stopped. Concurrent
 * runs wait for each other.
 *
 * @param config Folder, database and options.
 * @returns The applied migrations.
 * @throws {MigrationError} If the folder is invalid, an applied file changed, a statement fails, or
 * another run takes too long.
 * @throws {MigrationPlanError} If statements of the pending files cannot be run: has all findings,
 * and nothing was run.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, runMigrations } from "@trellis/fn/database";
 * import { mkdtempSync, writeFileSync } from "node:fs";
 *
 * const migrationsFolder = mkdtempSync("/tmp/migrations-");
 * writeFileSync(`${migrationsFolder}/0001_notes.sql`, "CREATE TABLE notes (id int PRIMARY KEY);");
 * const result = await runMigrations({ migrationsFolder, database: { provider: "embedded-pg" } });
 * console.log(result.applied); // 1
 * await closeDrizzleClient();
 * ```
 */
export function runMigrations(config: MigrateConfig): Promise<MigrateResult> {
  return runMigrationFolder(config, () => readMigrationFolder(config.migrationsFolder));
}

/**
 * Applies the pending migrations of a folder in memory, like {@link runMigrations}.
 *
 * @param config Database and options.
 * @param readFolder Returns the folder.
 */
export async function runMigrationFolder(
  config: RunConfig,
  readFolder: () => MigrationFolder,
): Promise<MigrateResult> {
  const settings = resolve(config);
  const folder = readFolder();
  return await withSession(config.database, async (session) => {
    const before = planMigrations(folder, await readApplied(session, settings.tables) ?? []);
    assertNothingChanged(before);
    // plan before anything is locked or written, so that errors are reported first
    const target = { provider: config.database.provider, translation: config.translation ?? {} };
    const plan = await planOnDatabase(folder, before, target, session, settings.tables);
    const { planned, findings, warnings } = plan;
    for (const finding of findings) {
      settings.logger(`${finding.severity}: ${formatPlanFinding(finding)}`);
    }
    const result: MigrateResult = {
      applied: 0,
      migrations: [],
      appliedElsewhere: [],
      isComplete: true,
      findings,
      warnings,
    };
    if (before.pending.length === 0) settings.logger("nothing to migrate");
    if (config.dryRun === true) {
      return { ...result, plan: logPlan(await toRun(planned, config, session), settings.logger) };
    }
    if (before.pending.length === 0) return result;
    if (findings.some(({ severity }) => severity === "error")) {
      throw new MigrationPlanError(findings);
    }
    return await migrate(config, settings, session, { folder, planned, before, result });
  });
}

/** Options of a run whose folder is read. */
type RunConfig = Omit<MigrateConfig, "migrationsFolder">;

interface Settings extends LockSettings {
  lockLimits: LockLimits | undefined;
  backfill: BackfillLimits;
  jobTimeoutMs: number;
  /** On the clock of `monotonicNow()`. */
  stopMs: number;
}

function resolve(config: RunConfig): Settings {
  const {
    lockTimeoutSeconds = 600,
    lockTtlSeconds = 60,
    lockTimeoutMs = 2000,
    lockMaxAttempts = 20,
    backfillBatchMs = 200,
    maxReplicationLagMs = 5000,
    backfillMaxWaitSeconds = 600,
    jobTimeoutSeconds = 3600,
    logger = () => {},
    clock = systemClock,
    stopAtMs = Infinity,
  } = config;
  const seconds = {
    lockTimeoutSeconds,
    lockTtlSeconds,
    jobTimeoutSeconds,
    backfillMaxWaitSeconds,
  };
  for (const [name, value] of Object.entries(seconds)) {
    if (!(value > 0 && value < 1e6)) {
      throw new ConfigurationError(
        `MigrateConfig.${name} must be a number of seconds above 0, got ${value}`,
      );
    }
  }
  const counts = { lockTimeoutMs, lockMaxAttempts, backfillBatchMs, maxReplicationLagMs };
  for (const [name, value] of Object.entries(counts)) {
    if (Number.isInteger(value) && value > 0 && value < 1e9) continue;
    throw new ConfigurationError(
      `MigrateConfig.${name} must be a whole number above 0, got ${value}`,
    );
  }
  checkDatabaseConfig(config.database);
  const { provider } = config.database;
  return {
    tables: nameTables(config.migrationsTable, config.migrationsSchema),
    logger,
    clock,
    lockTimeoutMs: lockTimeoutSeconds * 1000,
    lockTtlMs: lockTtlSeconds * 1000,
    lockLimits: provider === "distsql"
      ? undefined
      : { timeoutMs: lockTimeoutMs, maxAttempts: lockMaxAttempts },
    backfill: {
      batchMs: backfillBatchMs,
      maxLagMs: maxReplicationLagMs,
      maxWaitMs: backfillMaxWaitSeconds * 1000,
    },
    jobTimeoutMs: jobTimeoutSeconds * 1000,
    stopMs: toMonotonic(stopAtMs, clock),
  };
}

interface Work {
  folder: MigrationFolder;
  planned: readonly PlannedMigration[];
  before: MigrationStatus;
  result: MigrateResult;
}

async function migrate(
  config: RunConfig,
  settings: Settings,
  session: DedicatedSession,
  { folder, planned, before, result }: Work,
): Promise<MigrateResult> {
  const { tables, logger, clock } = settings;
  const lock = await takeRunLock(config, settings, session);
  try {
    await createTables(session, tables);
    // another run may have ended between the plan and the lock
    const after = planMigrations(folder, await readApplied(session, tables) ?? []);
    assertNothingChanged(after);
    assertSameMigrations(after);
    const pending = new Set(after.pending);
    const appliedElsewhere = before.pending.filter((tag) => !pending.has(tag));
    if (appliedElsewhere.length > 0) logger(`another run applied ${appliedElsewhere.join(", ")}`);
    const context: MigrationContext = {
      session,
      tables,
      lock,
      limitsRows: config.database.provider === "distsql",
      lockLimits: settings.lockLimits,
      backfill: settings.backfill,
      jobTimeoutMs: settings.jobTimeoutMs,
      isOver: () => monotonicNow(clock) >= settings.stopMs,
      logger,
      clock,
      onUndecided: config.onUndecided,
      openClient: () => openMigrationClient(config.database, settings.jobTimeoutMs),
    };
    const todo = await toRun(planned.filter(({ file }) => pending.has(file.tag)), config, session);
    if (session.isPooled) assertNoSharedSettings(todo);
    session.limitStatements?.(settings.jobTimeoutMs);
    const migrations = await applyPending(
      todo,
      context,
      session.keepsSession && lock.fence === undefined,
    );
    const isComplete = migrations.length === todo.length;
    if (!isComplete) logger("stopped: the time of this run is over, a later run continues");
    return { ...result, applied: migrations.length, migrations, appliedElsewhere, isComplete };
  } finally {
    session.limitStatements?.(getLimit(config.database).ms);
    // if the connection is gone, so is the lock, and the error that ended the run matters more
    await lock.release().catch(() => {});
  }
}

/**
 * Checks that a rollback runs on the migrations for which it was planned.
 *
 * @throws {MigrationError} If another run has applied or rolled back migrations.
 */
function assertSameMigrations({ pending, unknown }: MigrationStatus): void {
  if (!pending.some((tag) => tag.startsWith(ROLLBACK))) return;
  if (unknown.length === 0 && pending.length === 1) return;
  throw new MigrationError(
    "Another run has changed the migrations of this database: plan the rollback again",
  );
}

/** Returns the migrations in the form in which they run on the tables as they are now. */
async function toRun(
  planned: readonly PlannedMigration[],
  { database, migrationsTable, migrationsSchema }: RunConfig,
  session: DedicatedSession,
): Promise<readonly PlannedMigration[]> {
  if (database.provider === "distsql") return planned;
  return await planOnline(planned, session, nameTables(migrationsTable, migrationsSchema));
}

/** Opens a client whose statements have the time limit of migrations. */
async function openMigrationClient(database: DatabaseConfig, ms: number): Promise<DrizzleClient> {
  const connection = await openShared(database);
  return connection.createClient(undefined, { ms });
}

function logPlan(
  planned: readonly PlannedMigration[],
  logger: (message: string) => void,
): DryRunMigration[] {
  return planned.map(({ file, steps, atomic, findings }) => {
    logger(`${file.tag}: ${steps.length} statements${atomic ? " in one transaction" : ""}`);
    steps.forEach((step, index) =>
      logger(`${file.tag}:   ${index + 1}. ${summarizeStatement(step)}`)
    );
    const warnings = findings.filter(({ severity }) => severity === "warning").map(describeFinding);
    return { tag: file.tag, statements: steps.map(({ sql }) => sql), atomic, warnings };
  });
}
