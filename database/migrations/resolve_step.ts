import {
  type AlterAction,
  type DistSqlColumn,
  type DistSqlNotNull,
  type DistSqlTruncation,
  readAlterActions,
} from "../../distsql/engine.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import { quoteNameAt } from "../../sql/sql_name.ts";
import type { MigrationContext } from "./context.ts";
import type { StepRow } from "./history.ts";
import { addNotNullSql, readNotNull } from "./not_null.ts";
import { COLUMN, RELATION } from "./recover.ts";
import type { MigrationStep } from "./steps.ts";
import { tableToEmpty } from "./truncate_order.ts";
import { quoteName } from "../../sql/quote.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";

/**
 * Resolution of a step: the step to run, nothing because it is done (`satisfied`), or nothing for
 * it and the steps that complete it (`skipped`).
 */
export type StepResolution = MigrationStep | "satisfied" | "skipped";

/**
 * Decides from the catalog which part of a step is left to do. Changes nothing, and gives the same
 * result in a run that continues an earlier one.
 *
 * @param step The planned step.
 * @param row Record of the step.
 * @param context Shared state of the run.
 */
export async function resolveStep(
  step: MigrationStep,
  row: StepRow | undefined,
  context: MigrationContext,
): Promise<StepResolution> {
  if (step.truncates !== undefined) return await resolveTruncation(step, step.truncates, context);
  if (row?.watermark !== undefined) {
    return step.run === "standalone" ? { ...step, run: "recreate" } : step;
  }
  const ifTable = step.run === "recreate" ? missingOkTable(step.sql) : step.ifTable;
  if (ifTable !== undefined && !await exists(RELATION, [ifTable], context)) return "skipped";
  // a recorded step created the column itself
  if (
    step.ifNoColumn !== undefined && row === undefined && await hasColumn(step.ifNoColumn, context)
  ) return "skipped";
  const [notNull] = step.notNull ?? [];
  if (notNull?.does === "add") return await resolveAddition(step, notNull, context);
  if (notNull?.does === "validate") return await resolveValidation(step, notNull, context);
  return step.run === "standalone" && await needsRecreation(step.sql, context)
    ? { ...step, run: "recreate" }
    : step;
}

async function exists(
  sql: string,
  params: string[],
  { session, clock }: MigrationContext,
): Promise<boolean> {
  const [row] = await retryIdempotent(() => session.query(sql, params), clock);
  return row?.there === true;
}

function hasColumn({ table, column }: DistSqlColumn, context: MigrationContext): Promise<boolean> {
  return exists(COLUMN, [table, column], context);
}

/** Returns the table of ALTER TABLE IF EXISTS. */
function missingOkTable(sql: string): string | undefined {
  const reader = parseStatement(sql);
  if (!reader.is(0, "ALTER", "TABLE", "IF", "EXISTS")) return undefined;
  return quoteNameAt(reader, reader.skip(4, "ONLY"));
}

async function resolveTruncation(
  step: MigrationStep,
  truncation: DistSqlTruncation,
  context: MigrationContext,
): Promise<MigrationStep> {
  const table = await tableToEmpty(truncation, context);
  if (table === truncation.tables[truncation.place]) return step;
  return { ...step, sql: `DELETE FROM ${table}` };
}

async function resolveAddition(
  step: MigrationStep,
  about: DistSqlNotNull,
  { session, clock }: MigrationContext,
): Promise<StepResolution> {
  const state = await readNotNull(session, about, clock);
  // the server's error names the missing object
  if (state === undefined) return step;
  if (state.isNative || state.checks.length > 0) return "satisfied";
  return { ...step, sql: addNotNullSql(about, about.name ?? "not_null", state) };
}

async function resolveValidation(
  step: MigrationStep,
  about: DistSqlNotNull,
  { session, clock }: MigrationContext,
): Promise<StepResolution> {
  const state = await readNotNull(session, about, clock);
  if (state?.isNative === true) return "satisfied";
  const check = state?.checks.find(({ isValid }) => !isValid);
  if (check === undefined) return "satisfied";
  const name = quoteName(check.name);
  const sql = `ALTER TABLE ASYNC ${about.table} VALIDATE CONSTRAINT ${name}`;
  return { ...step, sql, job: { kind: "constraint", table: about.table, name } };
}

const KEY = "SELECT count(*) > 0 AS there FROM pg_constraint c WHERE " +
  "c.conrelid = to_regclass($1) AND c.contype = 'p' AND " +
  "(c.conname = $2 OR EXISTS (SELECT FROM pg_attribute a " +
  "WHERE a.attrelid = c.conrelid AND a.attname = $3 " +
  "AND a.attnum = ANY (c.conkey)))";
const NO_IDENTITY = "SELECT count(*) > 0 AS there FROM pg_attribute WHERE " +
  "attrelid = to_regclass($1) AND attname = $2 " +
  "AND NOT attisdropped AND (NOT attnotnull OR atttypid <> 'bigint'::regtype)";

/**
 * Checks whether an ALTER TABLE needs a change that the provider does not support in place:
 * dropping the primary key or one of its columns, or an identity for a column that is not bigint or
 * forbids NULL only by a CHECK.
 */
async function needsRecreation(sql: string, context: MigrationContext): Promise<boolean> {
  const reader = parseStatement(sql);
  if (!context.limitsRows || !reader.is(0, "ALTER", "TABLE")) return false;
  const table = quoteNameAt(reader, reader.alteredTableAt());
  for (const action of readAlterActions(reader)) {
    if (await isRefused(action, table, context)) return true;
  }
  return false;
}

async function isRefused(
  action: AlterAction,
  table: string,
  context: MigrationContext,
): Promise<boolean> {
  switch (action.kind) {
    case "drop_constraint":
      return await exists(KEY, [table, action.name, ""], context);
    case "drop_column":
      return await exists(KEY, [table, "", action.name], context);
    case "alter_column":
      return action.change === "add_identity" &&
        await exists(NO_IDENTITY, [table, action.column.name], context);
    default:
      return false;
  }
}
