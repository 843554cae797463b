import { hasSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DedicatedSession } from "../providers/provider.ts";
import type { Row, SqlSession } from "../../sql/session.ts";
import { compareTags } from "./files.ts";
import { MigrationError } from "./migration_error.ts";
import type { AppliedMigration, MigrationStatus } from "./plan.ts";
import { quoteLiteral, quoteName } from "../../sql/quote.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";

/** Quoted, qualified names of the tables that record migrations. */
export interface HistoryTables {
  /** Unquoted name of the schema. */
  schema: string;
  /** The schema, quoted. */
  quotedSchema: string;
  /** Table with one row per migration. */
  migrations: string;
  /** Table with one row per statement of an unfinished migration that is not one transaction. */
  steps: string;
  /** Table with one row that names the current run. */
  lease: string;
}

/** Progress of a statement. */
export type StepState = "running" | "building" | "done";

/** Record of a statement of an unfinished migration. */
export interface StepRow {
  /** Index of the statement in the migration, from 0. */
  step: number;
  /** SHA-256 of the statement as sent. */
  hash: string;
  /** Progress of the statement. */
  state: StepState;
  /** Background job started by the statement. */
  jobId: string | undefined;
  /** Last key of a change in batches, or the plan of a table recreation, as JSON. */
  watermark: string | undefined;
}

/** PostgreSQL truncates longer identifiers silently. */
const MAX_NAME_BYTES = 63;

/**
 * Returns the names of the tables that record migrations.
 *
 * @param table Name of the tracking table.
 * @param schema Name of its schema.
 * @throws {ConfigurationError} If a name is empty or too long.
 */
export function nameTables(table = "__orm_migrations", schema = "orm"): HistoryTables {
  checkName("migrationsTable", table, MAX_NAME_BYTES - "_steps".length);
  checkName("migrationsSchema", schema, MAX_NAME_BYTES);
  const quotedSchema = quoteName(schema);
  return {
    schema,
    quotedSchema,
    migrations: `${quotedSchema}.${quoteName(table)}`,
    steps: `${quotedSchema}.${quoteName(`${table}_steps`)}`,
    lease: `${quotedSchema}.${quoteName(`${table}_lease`)}`,
  };
}

function checkName(field: string, name: unknown, maxBytes: number): void {
  const bytes = typeof name === "string" ? new TextEncoder().encode(name).length : 0;
  if (bytes > 0 && bytes <= maxBytes) return;
  throw new ConfigurationError(
    `MigrateConfig.${field} must be a name of 1 to ${maxBytes} bytes, got ${JSON.stringify(name)}`,
  );
}

/**
 * Returns the statements that create the tables. Each uses only syntax that every provider accepts.
 */
function createStatements({ quotedSchema, migrations, steps, lease }: HistoryTables): string[] {
  return [
    `CREATE SCHEMA IF NOT EXISTS ${quotedSchema}`,
    `CREATE TABLE IF NOT EXISTS ${migrations} (tag text PRIMARY KEY, ` +
    `hash text NOT NULL, statements integer NOT NULL, ` +
    `duration_ms integer NOT NULL, executed boolean NOT NULL, ` +
    `applied_at timestamptz NOT NULL DEFAULT now())`,
    `CREATE TABLE IF NOT EXISTS ${steps} (tag text NOT NULL, ` +
    `step integer NOT NULL, hash text NOT NULL, ` +
    `state text NOT NULL, job_id text, watermark text, owner text NOT NULL, ` +
    `updated_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (tag, step))`,
    `CREATE TABLE IF NOT EXISTS ${lease} (id integer PRIMARY ` +
    `KEY, owner text NOT NULL, fence bigint NOT NULL, ` +
    `expires_at timestamptz NOT NULL)`,
  ];
}

const MISSING = ["42P01", "3F000"];

/**
 * Errors of two runs that create a table at the same time: IF NOT EXISTS checks before the other
 * run commits.
 */
const LOST_A_RACE = ["23505", "42P06", "42P07", "42710", "40001"];

/**
 * Creates the missing tables; concurrent runs are safe. A session with a single server session
 * sends one message, which is one transaction.
 */
export async function createTables(
  session: SqlSession & Partial<Pick<DedicatedSession, "keepsSession">>,
  tables: HistoryTables,
): Promise<void> {
  const count = "SELECT count(*)::int AS there FROM (VALUES " +
    "(to_regclass($1)), (to_regclass($2)), (to_regclass($3))) " +
    "AS t (id) WHERE id IS NOT NULL";
  const names = [tables.migrations, tables.steps, tables.lease];
  const present = await retryIdempotent(() => session.query(count, names));
  // check first: CREATE SCHEMA IF NOT EXISTS needs the CREATE privilege even if the schema exists
  if (Number(present[0].there) === 3) return;
  if (session.keepsSession === true) {
    try {
      return await session.script(createStatements(tables));
    } catch (error) {
      if (!hasSqlState(error, LOST_A_RACE)) throw error;
    }
  }
  for (const statement of createStatements(tables)) {
    for (let attempt = 0;; attempt++) {
      try {
        await retryIdempotent(() => session.query(statement));
        break;
      } catch (error) {
        if (attempt >= 5 || !hasSqlState(error, LOST_A_RACE)) throw error;
      }
    }
  }
}

/**
 * Reads the applied migrations.
 *
 * @returns The rows, or `undefined` if there is no tracking table.
 * @throws {MigrationError} If the table belongs to another tool.
 */
export async function readApplied(
  session: SqlSession,
  tables: HistoryTables,
): Promise<AppliedMigration[] | undefined> {
  try {
    const select =
      `SELECT tag, hash, executed, applied_at::text AS applied_at FROM ${tables.migrations}`;
    const rows = await retryIdempotent(() => session.query(select));
    return rows.map(({ tag, hash, executed, applied_at }) => ({
      tag: String(tag),
      hash: String(hash),
      executed: executed === true,
      appliedAt: new Date(String(applied_at).replace(/([+-]\d\d)$/, "$1:00")),
    }));
  } catch (cause) {
    if (hasSqlState(cause, MISSING)) return undefined;
    if (!hasSqlState(cause, ["42703"])) throw cause;
    throw new MigrationError(
      `Table ${tables.migrations} belongs to another tool: set migrationsTable and ` +
        "migrationsSchema to other names, and mark the migrations that the other tool applied " +
        "as applied",
      { cause },
    );
  }
}

/** Reads the recorded statements of a migration. */
export async function readSteps(
  session: SqlSession,
  tables: HistoryTables,
  tag: string,
): Promise<StepRow[]> {
  const rows: Row[] = await session.query(
    `SELECT step, hash, state, job_id, watermark FROM ${tables.steps} WHERE tag = $1 ORDER BY step`,
    [tag],
  );
  return rows.map(({ step, hash, state, job_id, watermark }) => ({
    step: Number(step),
    hash: String(hash),
    state: state as StepState,
    jobId: job_id === null ? undefined : String(job_id),
    watermark: watermark === null ? undefined : String(watermark),
  }));
}

/**
 * Reads which statements of unfinished migrations are done.
 *
 * @returns Indexes of the statements, from 0, by tag; empty if the tables do not exist.
 */
export async function readDoneSteps(
  session: SqlSession,
  tables: HistoryTables,
): Promise<Map<string, Set<number>>> {
  const done = new Map<string, Set<number>>();
  const select = `SELECT tag, step FROM ${tables.steps} WHERE state = 'done'`;
  for (const { tag, step } of await readIfThere(session, select)) {
    done.set(String(tag), (done.get(String(tag)) ?? new Set()).add(Number(step)));
  }
  return done;
}

/**
 * Reads the recorded statements of unfinished migrations.
 *
 * @returns SHA-256 by index of the statement, from 0, by tag; empty if the tables do not exist.
 */
export async function readStepHashes(
  session: SqlSession,
  tables: HistoryTables,
): Promise<Map<string, Map<number, string>>> {
  const hashes = new Map<string, Map<number, string>>();
  for (
    const row of await readIfThere(session, `SELECT tag, step, hash FROM ${tables.steps}`)
  ) {
    const tag = String(row.tag);
    const steps = hashes.get(tag) ?? new Map<number, string>();
    hashes.set(tag, steps.set(Number(row.step), String(row.hash)));
  }
  return hashes;
}

/** Runs a query; returns no rows if its table does not exist. */
async function readIfThere(session: SqlSession, select: string): Promise<Row[]> {
  try {
    return await retryIdempotent(() => session.query(select));
  } catch (cause) {
    if (hasSqlState(cause, MISSING)) return [];
    throw cause;
  }
}

/** Reads the unfinished migrations; empty if the tables do not exist. */
export async function readUnfinished(
  session: SqlSession,
  tables: HistoryTables,
): Promise<NonNullable<MigrationStatus["unfinished"]>> {
  const select = `SELECT tag, count(*) FILTER (WHERE state = 'done')::int AS done, ` +
    `to_char(max(updated_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS noted ` +
    `FROM ${tables.steps} GROUP BY tag`;
  const rows = await readIfThere(session, select);
  return rows.map(({ tag, done, noted }) => ({
    tag: String(tag),
    statementsDone: Number(done),
    notedAt: new Date(String(noted)),
  })).sort((a, b) => compareTags(a.tag, b.tag));
}

/** Returns the statement that records the progress of a statement. */
export function writeStep(
  tables: HistoryTables,
  tag: string,
  owner: string,
  row: Pick<StepRow, "step" | "hash" | "state"> & Partial<StepRow>,
): string {
  const { step, hash, state, jobId, watermark } = row;
  return `INSERT INTO ${tables.steps} (tag, step, hash, state, job_id, watermark, owner) ` +
    `VALUES (${quoteLiteral(tag)}, ${step}, ${quoteLiteral(hash)}, ${quoteLiteral(state)}, ` +
    `${orNull(jobId)}, ${orNull(watermark)}, ${quoteLiteral(owner)}) ` +
    "ON CONFLICT (tag, step) DO UPDATE SET hash = EXCLUDED.hash, " +
    "state = EXCLUDED.state, job_id = EXCLUDED.job_id, " +
    "watermark = EXCLUDED.watermark, owner = EXCLUDED.owner, updated_at = now()";
}

function orNull(text: string | undefined): string {
  return text === undefined ? "NULL" : quoteLiteral(text);
}

/** Returns the statement that records an applied migration. */
export function writeApplied(
  tables: HistoryTables,
  row: { tag: string; hash: string; statements: number; durationMs: number; executed: boolean },
): string {
  const { tag, hash, statements, durationMs, executed } = row;
  return `INSERT INTO ${tables.migrations} (tag, hash, statements, duration_ms, executed) VALUES ` +
    `(${quoteLiteral(tag)}, ${quoteLiteral(hash)}, ${statements}, ` +
    `${Math.round(durationMs)}, ${executed})`;
}

/** Returns the statement that deletes the records of migrations. */
export function removeApplied({ migrations }: HistoryTables, tags: readonly string[]): string {
  return `DELETE FROM ${migrations} WHERE tag IN (${tags.map(quoteLiteral).join(", ")})`;
}

/** Returns the statement that deletes the records of a finished migration's statements. */
export function clearSteps(tables: HistoryTables, tag: string): string {
  return `DELETE FROM ${tables.steps} WHERE tag = ${quoteLiteral(tag)}`;
}

/** Returns the statement that deletes the record of one statement. */
export function clearStep(tables: HistoryTables, tag: string, step: number): string {
  return `${clearSteps(tables, tag)} AND step = ${step}`;
}
