import type { BuildColumns, HasDefault, IsPrimaryKey, NotNull } from "drizzle-orm";
import {
  index,
  integer,
  type PgIntegerBuilderInitial,
  pgTable,
  type PgTableWithColumns,
  type PgTextBuilderInitial,
  type PgTimestampBuilderInitial,
  type PgUUIDBuilderInitial,
  primaryKey,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import { instant } from "../jobs/jobs_table.ts";

/** The columns of {@link trellisWorkflows}. */
export type WorkflowsTableColumns = {
  /** Primary key. */
  id: IsPrimaryKey<NotNull<PgUUIDBuilderInitial<"id">>>;
  /** Name of the workflow. */
  name: NotNull<PgTextBuilderInitial<"name", [string, ...string[]]>>;
  /** Version of the code that started it. */
  version: NotNull<PgIntegerBuilderInitial<"version">>;
  /** `running`, `stopped`, `done`, `failed` or `cancelled`. */
  state: NotNull<HasDefault<PgTextBuilderInitial<"state", [string, ...string[]]>>>;
  /** `run`, or `undo` and `cancel` while steps are taken back; `lost` if it failed with its turns. */
  mode: NotNull<HasDefault<PgTextBuilderInitial<"mode", [string, ...string[]]>>>;
  /** JSON of the input. */
  input: NotNull<PgTextBuilderInitial<"input", [string, ...string[]]>>;
  /** JSON of the result. */
  output: PgTextBuilderInitial<"output", [string, ...string[]]>;
  /** Why it failed or stopped. */
  error: PgTextBuilderInitial<"error", [string, ...string[]]>;
  /** The workflow that waits for it. */
  parentId: PgUUIDBuilderInitial<"parent_id">;
  /** Name of that workflow. */
  parentName: PgTextBuilderInitial<"parent_name", [string, ...string[]]>;
  /** Entry of that workflow. */
  parentEntry: PgTextBuilderInitial<"parent_entry", [string, ...string[]]>;
  /** Time of the start. */
  startedAt: NotNull<PgTimestampBuilderInitial<"started_at">>;
  /** Time of the end. */
  finishedAt: PgTimestampBuilderInitial<"finished_at">;
  /** Correlation id of the request. */
  correlationId: PgTextBuilderInitial<"correlation_id", [string, ...string[]]>;
};

/** The columns of {@link trellisWorkflowEntries}. */
export type WorkflowEntriesTableColumns = {
  /** The workflow. */
  workflowId: NotNull<PgUUIDBuilderInitial<"workflow_id">>;
  /** Position in the workflow; primary key with the workflow. */
  entry: NotNull<PgTextBuilderInitial<"entry", [string, ...string[]]>>;
  /** `step`, `sleep`, `wait`, `child`, `patch`, `undo` or `signal`. */
  kind: NotNull<PgTextBuilderInitial<"kind", [string, ...string[]]>>;
  /** Name of the step or signal. */
  name: NotNull<PgTextBuilderInitial<"name", [string, ...string[]]>>;
  /** `pending`, `done` or `failed`. */
  state: NotNull<PgTextBuilderInitial<"state", [string, ...string[]]>>;
  /** Attempts of a step. */
  attempts: NotNull<HasDefault<PgIntegerBuilderInitial<"attempts">>>;
  /** JSON of the result. */
  result: PgTextBuilderInitial<"result", [string, ...string[]]>;
  /** Error of the last failed attempt. */
  error: PgTextBuilderInitial<"error", [string, ...string[]]>;
  /** Time until which it waits. */
  wakeAt: PgTimestampBuilderInitial<"wake_at">;
  /** Time at which it was recorded first. */
  createdAt: NotNull<PgTimestampBuilderInitial<"created_at">>;
  /** Time at which it ended. */
  finishedAt: PgTimestampBuilderInitial<"finished_at">;
};

/** The type of {@link trellisWorkflows}. */
export type WorkflowsTable = PgTableWithColumns<{
  name: "trellis_workflows";
  schema: undefined;
  columns: BuildColumns<"trellis_workflows", WorkflowsTableColumns, "pg">;
  dialect: "pg";
}>;

/** The type of {@link trellisWorkflowEntries}. */
export type WorkflowEntriesTable = PgTableWithColumns<{
  name: "trellis_workflow_entries";
  schema: undefined;
  columns: BuildColumns<"trellis_workflow_entries", WorkflowEntriesTableColumns, "pg">;
  dialect: "pg";
}>;

/**
 * The table of workflows for drizzle, as `WORKFLOWS_MIGRATION_SQL` creates it: export it from your schema, so that
 * drizzle-kit does not propose to drop it. Write to it with the functions of this package only.
 *
 * @example
 * ```ts
 * import { trellisWorkflows } from "@trellis/fn/workflows";
 *
 * console.log(trellisWorkflows.startedAt.name); // started_at
 * ```
 */
export const trellisWorkflows: WorkflowsTable = pgTable("trellis_workflows", {
  id: uuid("id").primaryKey(),
  name: text("name").notNull(),
  version: integer("version").notNull(),
  state: text("state").default("running").notNull(),
  mode: text("mode").default("run").notNull(),
  input: text("input").notNull(),
  output: text("output"),
  error: text("error"),
  parentId: uuid("parent_id"),
  parentName: text("parent_name"),
  parentEntry: text("parent_entry"),
  startedAt: instant("started_at").notNull(),
  finishedAt: instant("finished_at"),
  correlationId: text("correlation_id"),
}, (table) => [index("trellis_workflows_state_idx").on(table.state, table.startedAt)]);

/**
 * The table of the steps of workflows for drizzle: export it from your schema, too.
 *
 * @example
 * ```ts
 * import { trellisWorkflowEntries } from "@trellis/fn/workflows";
 *
 * console.log(trellisWorkflowEntries.wakeAt.name); // wake_at
 * ```
 */
export const trellisWorkflowEntries: WorkflowEntriesTable = pgTable("trellis_workflow_entries", {
  workflowId: uuid("workflow_id").notNull(),
  entry: text("entry").notNull(),
  kind: text("kind").notNull(),
  name: text("name").notNull(),
  state: text("state").notNull(),
  attempts: integer("attempts").default(0).notNull(),
  result: text("result"),
  error: text("error"),
  wakeAt: instant("wake_at"),
  createdAt: instant("created_at").notNull(),
  finishedAt: instant("finished_at"),
}, (table) => [primaryKey({ columns: [table.workflowId, table.entry] })]);
