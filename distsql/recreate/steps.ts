import type { RunSql } from "../../sql/session.ts";
import type { Clock } from "../../core/async/clock.ts";
import { hasSqlState } from "../../errors/driver_error.ts";
import { readGrants } from "../schema/read_table.ts";
import { RecreationError } from "./recreation_error.ts";
import type {
  GrantsStep,
  PositionStep,
  RenameSequenceStep,
  StatementStep,
} from "./recreation_plan.ts";
import type { TableGrant } from "../schema/table_schema.ts";
import { relationOid } from "./work_table.ts";
import { pollJob, readJob } from "./poll_job.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";

/** Settings for background jobs. */
export interface JobSettings {
  /** Maximum duration of a job. */
  jobTimeoutMs: number;
  /** Clock that waits and reads the time. */
  clock: Clock;
}

async function isDone(run: RunSql, { done }: StatementStep): Promise<boolean> {
  return done !== undefined && (await run(done))[0]?.done === true;
}

/** Runs a statement unless the catalog shows its effect, and waits for the job that it starts. */
export async function runStatement(
  run: RunSql,
  step: StatementStep,
  settings: JobSettings,
): Promise<void> {
  if (await isDone(run, step)) return;
  const { job, undo, sql } = step;
  if (job !== undefined && (await readJob(run, job.name, undefined))?.isRunning) {
    return await waitForJob(run, step, undefined, settings);
  }
  // the remains of a failed build have the name
  if (undo !== undefined && await relationOid(run, undo.index) !== undefined) {
    await run(undo.sql);
  }
  const [row] = await run(sql);
  const jobId = row?.job_id;
  if (job !== undefined) {
    await waitForJob(run, step, jobId === undefined ? undefined : String(jobId), settings);
  }
}

async function waitForJob(
  run: RunSql,
  step: StatementStep,
  jobId: string | undefined,
  { clock, jobTimeoutMs }: JobSettings,
): Promise<void> {
  const { outcome, job } = await pollJob({
    read: () => readJob(run, step.job!.name, jobId),
    isValid: () => isDone(run, step),
    firstDelayMs: 100,
    timeoutMs: jobTimeoutMs,
    clock,
  });
  if (outcome === "valid") return;
  if (outcome === "timeout") {
    throw new RecreationError(
      `the background job to ${step.title} is still running: run this again to continue waiting ` +
        "for it",
      { reason: "unfinished" },
    );
  }
  const details = job === undefined ? "" : ` (${job.detail})`;
  throw new RecreationError(
    `could not ${step.title}: the background job ended without success${details}`,
    { reason: "failed" },
  );
}

/** Sets an identity column to the position of the old one. */
export async function setPosition(
  run: RunSql,
  table: string,
  step: PositionStep,
): Promise<void> {
  const column = quoteName(step.column);
  let next: bigint;
  if (step.sequence === undefined) {
    const [row] = await run(`SELECT (coalesce(max(${column}), 0) + 1)::text AS next FROM ${table}`);
    next = BigInt(String(row.next));
    if (next < 1n) return;
  } else {
    const { schema, name, increment } = step.sequence;
    const [row] = await run(
      `SELECT last_value::text AS last, is_called FROM ${qualify(schema, name)}`,
    );
    next = BigInt(String(row.last)) + (row.is_called === true ? BigInt(increment) : 0n);
  }
  const [{ own }] = await run(`SELECT ${getSequence(table, step.column)} AS own`);
  const [now] = await run(`SELECT last_value::text AS last, is_called FROM ${own}`);
  if (now.is_called === false && BigInt(String(now.last)) === next) return;
  await run(`ALTER TABLE ${table} ALTER COLUMN ${column} RESTART WITH ${next}`);
}

/** Sets the grants of a table, or of its column's sequence, and revokes default ones. */
export async function copyGrants(run: RunSql, step: GrantsStep): Promise<void> {
  const { table, column, grants } = step;
  const relation = column === undefined
    ? table
    : String((await run(`SELECT ${getSequence(table, column)} AS name`))[0].name);
  const [{ oid }] = await run(`SELECT to_regclass(${quoteLiteral(relation)})::oid::text AS oid`);
  const present = await readGrants(run, String(oid), column === undefined ? "r" : "s");
  const getKey = (grant: TableGrant): string => JSON.stringify(grant);
  const minus = (a: readonly TableGrant[], b: readonly TableGrant[]): TableGrant[] => {
    const keys = new Set(b.map(getKey));
    return a.filter((grant) => !keys.has(getKey(grant)));
  };
  const on = `ON ${column === undefined ? "TABLE" : "SEQUENCE"} ${relation}`;
  for (const [first, privileges] of group(minus(present, grants))) {
    await run(`REVOKE ${privileges} ${on} FROM ${roleSql(first)}`);
  }
  for (const [first, privileges] of group(minus(grants, present))) {
    const option = first.grantable ? " WITH GRANT OPTION" : "";
    await run(`GRANT ${privileges} ${on} TO ${roleSql(first)}${option}`);
  }
}

function roleSql({ grantee }: TableGrant): string {
  return grantee === null ? "PUBLIC" : quoteName(grantee);
}

/** Groups grants into one statement per role and grant option. */
function group(grants: readonly TableGrant[]): [TableGrant, string][] {
  const groups = new Map<string, TableGrant[]>();
  for (const grant of grants) {
    const key = JSON.stringify([grant.grantee, grant.grantable]);
    groups.set(key, [...groups.get(key) ?? [], grant]);
  }
  return [...groups.values()].map((own) => [
    own[0],
    own.map(({ privilege, column }) =>
      column === undefined ? privilege : `${privilege} (${quoteName(column)})`
    ).join(
      ", ",
    ),
  ]);
}

function getSequence(table: string, column: string): string {
  return `pg_get_serial_sequence(${quoteLiteral(table)}, ${quoteLiteral(column)})`;
}

/** Renames the sequence of an identity column to that of the old one. */
export async function renameSequence(
  run: RunSql,
  table: string,
  step: RenameSequenceStep,
): Promise<void> {
  const [row] = await run(
    "SELECT c.oid::regclass::text AS sequence, c.relname::text AS name FROM pg_class c " +
      `WHERE c.oid = ${getSequence(table, step.column)}::regclass`,
  );
  if (row === undefined || row.name === step.name) return;
  try {
    await run(`ALTER SEQUENCE ${row.sequence} RENAME TO ${quoteName(step.name)}`);
  } catch (error) {
    // a sequence name that is not needed must not fail the run where sequences cannot be renamed
    if (!hasSqlState(error, ["0A000"])) throw error;
  }
}
