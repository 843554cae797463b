import {
  type BuildColumns,
  type HasDefault,
  type IsPrimaryKey,
  type NotNull,
  sql,
} from "drizzle-orm";
import {
  bigint,
  doublePrecision,
  index,
  integer,
  type PgBigInt53BuilderInitial,
  type PgDoublePrecisionBuilderInitial,
  type PgIntegerBuilderInitial,
  pgTable,
  type PgTableWithColumns,
  type PgTextBuilderInitial,
  type PgTimestampBuilderInitial,
  type PgUUIDBuilderInitial,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";

/** The columns of {@link trellisJobs}. */
export type JobsTableColumns = {
  /** Primary key. */
  id: IsPrimaryKey<NotNull<PgUUIDBuilderInitial<"id">>>;
  /** Name of the job. */
  name: NotNull<PgTextBuilderInitial<"name", [string, ...string[]]>>;
  /** JSON of the payload. */
  payload: NotNull<PgTextBuilderInitial<"payload", [string, ...string[]]>>;
  /** `queued`, `running`, `done`, `dead` or `cancelled`; `paused` in the row that pauses a name, `limit` in that of its limits. */
  state: NotNull<HasDefault<PgTextBuilderInitial<"state", [string, ...string[]]>>>;
  /** Part of the table: 0 to 15, -4 to -1 with a high priority, 16 to 19 with a low one; from 20 on for jobs with a limit. */
  shard: NotNull<PgIntegerBuilderInitial<"shard">>;
  /** Group whose jobs run one at a time. */
  groupKey: PgTextBuilderInitial<"group_key", [string, ...string[]]>;
  /** Order of jobs that were enqueued at the same time. */
  position: NotNull<PgBigInt53BuilderInitial<"position">>;
  /** Time at which the job was enqueued. */
  enqueuedAt: NotNull<PgTimestampBuilderInitial<"enqueued_at">>;
  /** Time from which it may run. */
  runAt: NotNull<PgTimestampBuilderInitial<"run_at">>;
  /** Time when the row is due: to run the job, to take over its lease or to remove it. */
  dueAt: PgTimestampBuilderInitial<"due_at">;
  /** Attempts so far. */
  attempts: NotNull<HasDefault<PgIntegerBuilderInitial<"attempts">>>;
  /** Number of the last lease. */
  fence: NotNull<HasDefault<PgIntegerBuilderInitial<"fence">>>;
  /** Time at which it ended. */
  finishedAt: PgTimestampBuilderInitial<"finished_at">;
  /** Error of the last failed attempt. */
  lastError: PgTextBuilderInitial<"last_error", [string, ...string[]]>;
  /** Correlation id of the request. */
  correlationId: PgTextBuilderInitial<"correlation_id", [string, ...string[]]>;
  /** W3C trace context of the request. */
  traceParent: PgTextBuilderInitial<"trace_parent", [string, ...string[]]>;
  /** Version of the job whose worker can run it: this one or a later one. */
  version: PgIntegerBuilderInitial<"version">;
  /** Part that is done, 0 to 1, as the handler reported it. */
  progress: PgDoublePrecisionBuilderInitial<"progress">;
  /** JSON of the handler's result. */
  result: PgTextBuilderInitial<"result", [string, ...string[]]>;
  /** JSON of the payload with which the job runs again, because it was replaced while it ran. */
  nextPayload: PgTextBuilderInitial<"next_payload", [string, ...string[]]>;
  /** Time from which it runs again. */
  nextRunAt: PgTimestampBuilderInitial<"next_run_at">;
  /** Id of what the job's limit counts: its name, or its name and key; `null` without a limit. */
  limitKey: PgUUIDBuilderInitial<"limit_key">;
};

/** The type of {@link trellisJobs}. */
export type JobsTable = PgTableWithColumns<{
  name: "trellis_jobs";
  schema: undefined;
  columns: BuildColumns<"trellis_jobs", JobsTableColumns, "pg">;
  dialect: "pg";
}>;

/** Declares a column of a time with its time zone, for the tables of jobs and workflows. */
export function instant<TName extends string>(name: TName): PgTimestampBuilderInitial<TName> {
  return timestamp(name, { withTimezone: true }) as PgTimestampBuilderInitial<TName>;
}

/**
 * The table of jobs for drizzle, as `JOBS_MIGRATION_SQL` creates it: export it from your schema, so that
 * drizzle-kit does not propose to drop it, and read jobs with it. Write to it with the functions of this
 * package only.
 *
 * @example
 * ```ts
 * import { count, eq, sql } from "@trellis/fn/database/orm";
 * import { JOBS_MIGRATION_SQL, trellisJobs } from "@trellis/fn/jobs";
 * import { createTestDatabase } from "@trellis/fn/testing";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * const [dead] = await db.select({ jobs: count() }).from(trellisJobs).where(eq(trellisJobs.state, "dead"));
 * console.log(dead.jobs); // 0
 * await close();
 * ```
 */
export const trellisJobs: JobsTable = pgTable("trellis_jobs", {
  id: uuid("id").primaryKey(),
  name: text("name").notNull(),
  payload: text("payload").notNull(),
  state: text("state").default("queued").notNull(),
  shard: integer("shard").notNull(),
  groupKey: text("group_key"),
  position: bigint("position", { mode: "number" }).notNull(),
  enqueuedAt: instant("enqueued_at").notNull(),
  runAt: instant("run_at").notNull(),
  dueAt: instant("due_at"),
  attempts: integer("attempts").default(0).notNull(),
  fence: integer("fence").default(0).notNull(),
  finishedAt: instant("finished_at"),
  lastError: text("last_error"),
  correlationId: text("correlation_id"),
  traceParent: text("trace_parent"),
  version: integer("version"),
  progress: doublePrecision("progress"),
  result: text("result"),
  nextPayload: text("next_payload"),
  nextRunAt: instant("next_run_at"),
  limitKey: uuid("limit_key"),
}, (table) => [
  index("trellis_jobs_waiting_idx").on(table.name, table.shard, table.dueAt)
    .where(sql`${table.finishedAt} IS NULL`),
  index("trellis_jobs_finished_idx").on(table.shard, table.dueAt)
    .where(sql`${table.finishedAt} IS NOT NULL`),
  index("trellis_jobs_group_order_idx")
    .on(table.groupKey, table.enqueuedAt, table.position, table.id)
    .where(sql`${table.groupKey} IS NOT NULL AND ${table.finishedAt} IS NULL`),
  index("trellis_jobs_ready_limit_idx").on(table.name, table.limitKey, table.shard, table.dueAt)
    .where(sql`${table.shard} >= 23 AND ${table.finishedAt} IS NULL`),
  index("trellis_jobs_running_limit_idx").on(table.name, table.limitKey)
    .where(sql`${table.limitKey} IS NOT NULL AND ${table.state} = 'running'`),
  uniqueIndex("trellis_jobs_running_group_unique").on(table.groupKey)
    .where(sql`${table.groupKey} IS NOT NULL AND ${table.state} = 'running'`),
]);
