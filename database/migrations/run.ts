import { type Clock, systemClock } from "../../core/async/clock.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { closeUnused, openShared } from "../client.ts";
import { checkDatabaseConfig, type DatabaseConfig, getConnectionKey } from "../config.ts";
import type { DistSqlOptions } from "../distsql/options.ts";
import type { DedicatedSession, DrizzleClient } from "../providers/provider.ts";
import { getLimit } from "../providers/statement_limit.ts";
import { guardTransactions } from "../transaction_guard.ts";
import { applyPending, type MigratedFile } from "./apply_pending.ts";
import { type MigrationContext, summarizeStatement, type UndecidedStatement } from "./context.ts";
import { type MigrationFolder, readMigrationFolder } from "./folder.ts";
import { createTables, type HistoryTables, nameTables, readApplied } from "./history.ts";
import { type MigrationLock, takeAdvisoryLock, takeLease, takeProcessLock } from "./lock.ts";
import { MigrationPlanError } from "./migration_error.ts";
import { assertNothingChanged, type MigrationStatus, planMigrations } from "./plan.ts";
import { describeFinding, formatPlanFinding, type PlanFinding } from "./plan_finding.ts";
import { planOnDatabase } from "./plan_on_database.ts";
import type { PlannedMigration } from "./steps.ts";

export type { MigratedFile } from "./apply_pending.ts";

/** Which database the migrations of which folder belong to. */
export interface MigrationTarget {
  /** The folder of the files `<number>_<name>.sql`. */
  migrationsFolder: string;
  /** The database; on `distsql` with `isAdmin`. */
  database: DatabaseConfig;
  /**
   * The table that says which migrations are applied.
   * @default "__orm_migrations"
   */
  migrationsTable?: string;
  /**
   * The schema of that table.
   * @default "orm"
   */
  migrationsSchema?: string;
  /** Choices of the translation for `distsql`. */
  translation?: DistSqlOptions;
}

/** Options of {@link runMigrations}. */
export interface MigrateConfig extends MigrationTarget {
  /**
   * Let one run at a time migrate the database.
   * @default true
   */
  useLock?: boolean;
  /** Told what happens, one line each, without data. */
  logger?: (msg: string) => void;
  /**
   * Tell the plan and write nothing.
   * @default false
   */
  dryRun?: boolean;
  /**
   * Seconds to wait for another run.
   * @default 600
   */
  lockTimeout?: number;
  /**
   * Seconds after which a run that died is taken over, where the lock does not end with its connection.
   * @default 60
   */
  lockTtl?: number;
  /**
   * Seconds that a background job of `distsql` (an index, a validation) may take, and each statement of a migration: a
   * `CREATE INDEX`, an `UPDATE`, the copy of a table. `DatabaseConfig.statementTimeoutSeconds` limits the runner's own
   * statements.
   * @default 3600
   */
  jobTimeout?: number;
  /**
   * Decides about a statement in whose middle an earlier run died, when neither its progress nor the catalog tells
   * whether it ran. Without it the run stops with that question.
   */
  onUndecided?: (statement: UndecidedStatement) => "done" | "run" | Promise<"done" | "run">;
  /**
   * Waits.
   * @default systemClock
   */
  clock?: Clock;
}

/** A migration of a dry run. */
export interface DryRunMigration {
  /** The migration. */
  tag: string;
  /** The statements as the provider would get them; none when one of the file's statements is refused. */
  statements: string[];
  /** Whether they would be one transaction. */
  atomic: boolean;
  /** What would behave differently on the provider. */
  warnings: string[];
}

/** What {@link runMigrations} did. */
export interface MigrateResult {
  /** How many migrations this run applied. */
  applied: number;
  /** Which, in order. */
  migrations: MigratedFile[];
  /** Tags that another run applied while this one waited for it. */
  appliedElsewhere: string[];
  /** Everything that planning found; a dry run gives refusals too. */
  findings: PlanFinding[];
  /** The warnings among the findings, one sentence each. */
  warnings: string[];
  /** What a dry run would do. */
  plan?: DryRunMigration[];
}

/**
 * Runs the migrations that a database lacks, in the order of their numbers. On PostgreSQL a file is one transaction; on
 * the distributed-SQL provider, and where a file says so, each statement stands for itself and its progress is noted, so
 * that a run which died goes on where it stopped. Of several runs at once one works and the others wait and report.
 *
 * @param config Folder, database, and how to run.
 * @returns What was applied.
 * @throws {MigrationError} When the folder is not in order, an applied file was changed, a statement fails, or another run
 * takes too long.
 * @throws {MigrationPlanError} When statements of the pending files cannot be run. It has all findings, and nothing was run.
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
export async function runMigrations(config: MigrateConfig): Promise<MigrateResult> {
  const settings = resolve(config);
  const folder = readMigrationFolder(config.migrationsFolder);
  return await withSession(config.database, async (session) => {
    const before = planMigrations(folder, await readApplied(session, settings.tables) ?? []);
    assertNothingChanged(before);
    // planned before anything is locked or written: what cannot be run is said first
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
      findings,
      warnings,
    };
    if (before.pending.length === 0) settings.logger("nothing to migrate");
    if (config.dryRun === true) return { ...result, plan: logPlan(planned, settings.logger) };
    if (before.pending.length === 0) return result;
    if (findings.some(({ severity }) => severity === "error")) {
      throw new MigrationPlanError(findings);
    }
    return await migrate(config, settings, session, { folder, planned, before, result });
  });
}

interface Settings {
  tables: HistoryTables;
  logger: (message: string) => void;
  clock: Clock;
  lockTimeoutMs: number;
  lockTtlMs: number;
  jobTimeoutMs: number;
}

function resolve(config: MigrateConfig): Settings {
  const {
    lockTimeout = 600,
    lockTtl = 60,
    jobTimeout = 3600,
    logger = () => {},
    clock = systemClock,
  } = config;
  for (const [name, value] of Object.entries({ lockTimeout, lockTtl, jobTimeout })) {
    if (!(value > 0 && value < 1e6)) {
      throw new ConfigurationError(
        `MigrateConfig.${name} must be a number of seconds above 0, got ${value}`,
      );
    }
  }
  checkDatabaseConfig(config.database);
  return {
    tables: nameTables(config.migrationsTable, config.migrationsSchema),
    logger,
    clock,
    lockTimeoutMs: lockTimeout * 1000,
    lockTtlMs: lockTtl * 1000,
    jobTimeoutMs: jobTimeout * 1000,
  };
}

/**
 * Runs work on a session of its own. A connection to a server is opened for the work and closed after it; a database in
 * this process stays open, since closing it would lose what it holds in memory.
 */
export async function withSession<T>(
  database: DatabaseConfig,
  fn: (session: DedicatedSession) => Promise<T>,
): Promise<T> {
  const connection = await openShared(checkDatabaseConfig(database), { check: false });
  const session = await connection.openSession();
  try {
    return await fn(session);
  } finally {
    await session.close();
    if (database.provider !== "embedded-pg") await closeUnused(database);
  }
}

interface Work {
  folder: MigrationFolder;
  planned: readonly PlannedMigration[];
  before: MigrationStatus;
  result: MigrateResult;
}

async function migrate(
  config: MigrateConfig,
  settings: Settings,
  session: DedicatedSession,
  { folder, planned, before, result }: Work,
): Promise<MigrateResult> {
  const { tables, logger, clock } = settings;
  const lock = await takeLock(config, settings, session);
  try {
    await createTables(session, tables);
    const after = lock.waited
      ? planMigrations(folder, await readApplied(session, tables) ?? [])
      : before;
    assertNothingChanged(after);
    const pending = new Set(after.pending);
    const appliedElsewhere = before.pending.filter((tag) => !pending.has(tag));
    if (appliedElsewhere.length > 0) logger(`another run applied ${appliedElsewhere.join(", ")}`);
    const context: MigrationContext = {
      session,
      tables,
      lock,
      limitsRows: config.database.provider === "distsql",
      jobTimeoutMs: settings.jobTimeoutMs,
      logger,
      clock,
      onUndecided: config.onUndecided,
      openClient: () => openPatientClient(config.database, settings.jobTimeoutMs),
    };
    const todo = planned.filter(({ file }) => pending.has(file.tag));
    session.limitStatements?.(settings.jobTimeoutMs);
    const migrations = await applyPending(
      todo,
      context,
      session.keepsSession && lock.fence === undefined,
    );
    return { ...result, applied: migrations.length, migrations, appliedElsewhere };
  } finally {
    session.limitStatements?.(getLimit(config.database).ms);
    // a lock whose connection is gone is gone too, and the error that ended the run matters more
    await lock.release().catch(() => {});
  }
}

/** A client whose statements may take as long as those of a migration. */
async function openPatientClient(database: DatabaseConfig, ms: number): Promise<DrizzleClient> {
  const connection = await openShared(database);
  return guardTransactions(await connection.createClient(undefined, { ms }));
}

const NO_LOCK: Omit<MigrationLock, "owner"> = {
  waited: true, // without a lock another run may have been here since the plan was made
  fence: undefined,
  check: () => Promise.resolve(),
  release: () => Promise.resolve(),
};

async function takeLock(
  config: MigrateConfig,
  settings: Settings,
  session: DedicatedSession,
): Promise<MigrationLock> {
  if (config.useLock === false) return { ...NO_LOCK, owner: crypto.randomUUID() };
  const options = {
    timeoutMs: settings.lockTimeoutMs,
    ttlMs: settings.lockTtlMs,
    logger: settings.logger,
    clock: settings.clock,
    openSession: async () => (await openShared(config.database, { check: false })).openSession(),
  };
  if (config.database.provider === "embedded-pg") {
    return await takeProcessLock(
      `${getConnectionKey(config.database)} ${settings.tables.migrations}`,
      options,
    );
  }
  return await (session.keepsSession ? takeAdvisoryLock : takeLease)(
    session,
    settings.tables,
    options,
  );
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
