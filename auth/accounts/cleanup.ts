import { type Clock, monotonicNow, systemClock, toMonotonic } from "../../core/async/clock.ts";
import { getDeadline } from "../../core/async/deadline.ts";
import type { LambdaContext } from "../../core/http/lambda.ts";
import { checkOptions, OBJECT_OPTION, type OptionRules } from "../../core/option_rules.ts";
import {
  defineScheduleHandler,
  type ScheduleHandlerFunction,
} from "../../core/triggers/schedule.ts";
import type { ScheduleEvent } from "../../core/triggers/trigger_events.ts";
import type { AsyncTriggerOptions, TriggerHandler } from "../../core/triggers/trigger_options.ts";
import {
  columnSql,
  listColumns,
  ReturnedColumns,
  type SqlColumn,
  tableSql,
} from "../../database/session/column_sql.ts";
import { getDataType, isTable } from "../../database/session/drizzle_table.ts";
import { bindSql, joinSql, sql } from "../../database/session/plain_sql.ts";
import { withQueryMetrics } from "../../database/queries/query_metrics.ts";
import { rateLimits } from "../../database/rate_limits/table.ts";
import { runSql } from "../../database/session/run_sql.ts";
import { record } from "../../env/recording.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { logInfo, logWarn } from "../../observability/logger.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import { AUTH_SCHEMA_MAPPING } from "../tables/schema.ts";
import { type BetterAuthInstance, getInternals } from "./instance.ts";

/** Options of {@link removeExpiredAuthRows}. */
export interface AuthCleanupOptions {
  /**
   * Days for which a row is kept after it expired, by the keys of `AuthConfig.schema`. `Infinity`
   * keeps the rows of a table. `authEvent` is the age of events in the audit log.
   * @default { verification: 1, rateLimit: 1, authEvent: Infinity }, 30 for all other tables
   */
  retentionDays?: Readonly<Record<string, number>>;
  /**
   * Rows that one statement deletes, 1 to 3,000 (the limit of a transaction on Aurora DSQL).
   * @default 500
   */
  batchSize?: number;
  /**
   * Time in milliseconds since 1970 at which no further batch is started.
   * @default none
   */
  stopAtMs?: number;
  /**
   * Source of the current time.
   * @default the system's
   */
  clock?: Clock;
}

/** Result of {@link removeExpiredAuthRows}. */
export interface AuthCleanupResult {
  /** Number of removed rows by the keys of `AuthConfig.schema`. */
  readonly removed: Readonly<Record<string, number>>;
  /** False if `stopAtMs` was reached before all expired rows were removed. */
  readonly isComplete: boolean;
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const RETENTION_DAYS: Readonly<Record<string, number>> = {
  verification: 1,
  rateLimit: 1,
  authEvent: Infinity,
};
const MAX_BATCH = 3000;

const isCount = (value: unknown) =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_BATCH;

const RULES = {
  retentionDays: OBJECT_OPTION,
  batchSize: [isCount, `a whole number from 1 to ${MAX_BATCH}`],
  stopAtMs: [(value) => typeof value === "number" && value > 0, "milliseconds since 1970"],
  clock: OBJECT_OPTION,
} as const satisfies OptionRules;

/**
 * Removes expired rows in batches: sessions, verifications, rows of plugins with a column
 * `expiresAt`, such as invitations, API keys and device codes, and rate limits. Each batch is a
 * separate statement, so it runs on every provider, and a run that is interrupted is continued
 * by the next one.
 *
 * @param auth The instance of {@link createAuth}.
 * @param options Retention, size of the batches and end of the run.
 * @returns The numbers of removed rows.
 * @throws {ConfigurationError} If an option is invalid, or `retentionDays` names a table that the
 * configuration does not have.
 * @throws {DatabaseError} If a statement fails. Earlier batches stay removed.
 *
 * @example
 * ```ts
 * import { AUTH_MIGRATION_SQL, createAuth, removeExpiredAuthRows } from "@trellis/fn/auth";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTestDatabase } from "@trellis/fn/testing";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of AUTH_MIGRATION_SQL.split("--> statement-breakpoint")) await db.execute(sql.raw(statement));
 *
 * const auth = createAuth(db, { secret: crypto.randomUUID(), baseURL: "http://localhost:3000" });
 * console.log(await removeExpiredAuthRows(auth, { retentionDays: { session: 90 } }));
 * // { removed: { session: 0, verification: 0 }, isComplete: true }
 * await close();
 * ```
 */
export async function removeExpiredAuthRows(
  auth: BetterAuthInstance,
  options: AuthCleanupOptions = {},
): Promise<AuthCleanupResult> {
  checkOptions("removeExpiredAuthRows", options, RULES);
  const { retentionDays = {}, batchSize = 500, stopAtMs = Infinity, clock = systemClock } = options;
  const stopMs = toMonotonic(stopAtMs, clock);
  const { db, settings } = getInternals(auth);
  const tables = findExpiringTables({
    ...AUTH_SCHEMA_MAPPING,
    ...settings.rateLimits.usesDatabase && { rateLimit: rateLimits },
    ...settings.schema,
  });
  checkRetention(retentionDays, tables);
  const nowMs = clock.now();
  const removed: Record<string, number> = {};
  let isComplete = true;
  for (const { model, table, expiry } of tables) {
    const days = retentionDays[model] ?? RETENTION_DAYS[model] ?? DEFAULT_DAYS;
    if (days === Infinity) continue;
    removed[model] = 0;
    const cutoff = new Date(nowMs - days * DAY_MS);
    let count = batchSize;
    while (count === batchSize && isComplete) {
      if (monotonicNow(clock) >= stopMs) isComplete = false;
      else removed[model] += count = await removeBatch(db, { table, expiry, cutoff, batchSize });
    }
  }
  return { removed, isComplete };
}

interface ExpiringTable {
  readonly model: string;
  readonly table: object;
  readonly expiry: SqlColumn;
}

/** Columns that determine the age of a row, by preference, with drizzle's type of their values. */
const EXPIRY_COLUMNS = [["expiresAt", "date"], ["lastRequest", "number"]] as const;

function findExpiringTables(schema: Readonly<Record<string, unknown>>): ExpiringTable[] {
  return Object.entries(schema).flatMap(([model, table]) => {
    if (!isTable(table)) return [];
    const columns = listColumns(table);
    const names = model === "authEvent" ? [["createdAt", "date"] as const] : EXPIRY_COLUMNS;
    const found = names.find(([name, type]) =>
      columns[name] !== undefined && getDataType(columns[name]) === type
    );
    if (found === undefined || columns.id === undefined) return [];
    return [{ model, table, expiry: columns[found[0]] }];
  });
}

function checkRetention(
  retentionDays: Readonly<Record<string, number>>,
  tables: readonly ExpiringTable[],
): void {
  const models = tables.map(({ model }) => model);
  const known = models.join(", ");
  for (const [model, days] of Object.entries(retentionDays)) {
    if (!models.includes(model)) {
      throw new ConfigurationError(
        `retentionDays.${model} is no table that expires: the configuration has ${known}`,
      );
    }
    if (!(days >= 0)) {
      throw new ConfigurationError(`retentionDays.${model} must be a number from 0, got ${days}`);
    }
  }
}

interface BatchOptions {
  readonly table: object;
  readonly expiry: SqlColumn;
  readonly cutoff: Date;
  readonly batchSize: number;
}

/** Removes up to one batch and returns the number of rows that were found. */
async function removeBatch(
  db: AuthDatabase,
  { table, expiry, cutoff, batchSize }: BatchOptions,
): Promise<number> {
  const { id } = listColumns(table);
  const limit = bindSql(getDataType(expiry) === "date" ? cutoff : cutoff.getTime(), expiry);
  const isExpired = sql`${columnSql(db, expiry)} < ${limit}`;
  const returned = new ReturnedColumns(db, { id });
  const find = sql`select ${returned.list} from ${tableSql(table)}
    where ${isExpired} limit ${batchSize}`;
  return await withQueryMetrics("removeExpiredAuthRows", async () => {
    const rows = await returned.run<{ id: unknown }>(db, find);
    if (rows.length === 0) return 0;
    const ids = joinSql(rows.map((row) => bindSql(row.id, id)), ", ");
    // a session that was extended in the meantime is kept
    const remove = sql`delete from ${tableSql(table)}
      where ${columnSql(db, id)} in (${ids}) and ${isExpired}`;
    await runSql(db, remove);
    return rows.length;
  });
}

/** Options of {@link createAuthCleanupHandler}. */
export interface AuthCleanupHandlerOptions
  extends AsyncTriggerOptions, Pick<AuthCleanupOptions, "retentionDays" | "batchSize"> {}

/** The function that {@link createAuthCleanupHandler} returns. */
export type AuthCleanupHandler = TriggerHandler<
  ScheduleEvent,
  AuthCleanupResult,
  ScheduleHandlerFunction<AuthCleanupResult>
>;

/** Time that a batch may take, in milliseconds. */
const BATCH_MS = 2_000;

/**
 * Creates the Lambda function that removes expired rows on a schedule, such as once a day. It stops
 * shortly before its timeout; the next run continues.
 *
 * @param getAuthInstance Returns the instance, such as `getConfiguredSessionAuth`.
 * @param options Retention, size of the batches, and the options of `defineScheduleHandler`.
 * @returns The function to export.
 * @throws {ConfigurationError} If an option is unknown or out of range.
 *
 * @example
 * ```ts
 * // src/functions/schedule/auth_cleanup.ts
 * import { createAuthCleanupHandler, defineAuth } from "@trellis/fn/auth";
 * import { getDrizzleClient } from "@trellis/fn/database";
 *
 * const { getAuth } = defineAuth(() => getDrizzleClient({ provider: "embedded-pg" }), {
 *   secret: "at-least-32-random-characters-0123456789",
 *   baseURL: "http://localhost:3000",
 * });
 * const handler = createAuthCleanupHandler(getAuth, { retentionDays: { session: 90 } });
 * ```
 */
export function createAuthCleanupHandler(
  getAuthInstance: () => BetterAuthInstance | Promise<BetterAuthInstance>,
  options: AuthCleanupHandlerOptions = {},
): AuthCleanupHandler {
  const { retentionDays, batchSize, ...trigger } = options;
  const operationName = trigger.operationName || "AuthCleanup";
  const handler = defineScheduleHandler({ ...trigger, operationName })(
    async function cleanUpAuth({ context }): Promise<AuthCleanupResult> {
      const result = await removeExpiredAuthRows(await getAuthInstance(), {
        ...retentionDays !== undefined && { retentionDays },
        ...batchSize !== undefined && { batchSize },
        ...getStop(context),
      });
      if (result.isComplete) logInfo("Expired auth rows were removed", { ...result.removed });
      else logWarn("Expired auth rows remain; the next run continues", { ...result.removed });
      return result;
    },
  );
  return record("createAuthCleanupHandler", [getAuthInstance, options], handler);
}

function getStop(context: LambdaContext): Pick<AuthCleanupOptions, "stopAtMs"> {
  const deadlineMs = getDeadline(context, Date.now());
  return deadlineMs === undefined ? {} : { stopAtMs: deadlineMs - BATCH_MS };
}
