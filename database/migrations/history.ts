import { causeChain } from "../../errors/cause_chain.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DedicatedSession, Row, SqlSession } from "../providers/provider.ts";
import { compareTags } from "./files.ts";
import { MigrationError } from "./migration_error.ts";
import type { AppliedMigration, MigrationStatus } from "./plan.ts";
import { retryIdempotent } from "./retry_idempotent.ts";

/** Where the runner keeps its tables, quoted and qualified. */
export interface HistoryTables {
  /** The schema's name, as it is. */
  schema: string;
  /** The schema, quoted. */
  quotedSchema: string;
  /** One row for each migration. */
  migrations: string;
  /** One row for each statement of a migration that is under way and is not one transaction. */
  steps: string;
  /** The one row that says who runs. */
  lease: string;
}

/** How far a statement of a migration got. */
export type StepState = "running" | "building" | "done";

/** A statement of a migration that is under way. */
export interface StepRow {
  /** Its place among the migration's statements, from 0. */
  step: number;
  /** SHA-256 of the statement as it is run. */
  hash: string;
  /** How far it got. */
  state: StepState;
  /** The background job that it started. */
  jobId: string | undefined;
  /** The key up to which a change in batches got, or the plan by which a table is made again, as JSON. */
  watermark: string | undefined;
}

/** PostgreSQL cuts longer names off in silence. */
const MAX_NAME_BYTES = 63;

/** A name in quotes. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Names of the runner's tables.
 *
 * @param table Name of the tracking table.
 * @param schema Name of its schema.
 * @throws {ConfigurationError} When a name is empty or too long.
 */
export function nameTables(table = "__orm_migrations", schema = "orm"): HistoryTables {
  for (
    const [field, name, rest] of [["migrationsTable", table, "_steps"], [
      "migrationsSchema",
      schema,
      "",
    ]] as const
  ) {
    if (
      typeof name !== "string" || name === "" ||
      new TextEncoder().encode(name + rest).length > MAX_NAME_BYTES
    ) {
      throw new ConfigurationError(
        `MigrateConfig.${field} must be a name of 1 to ${MAX_NAME_BYTES - rest.length} bytes, got ${
          JSON.stringify(name)
        }`,
      );
    }
  }
  const quotedSchema = quoteName(schema);
  return {
    schema,
    quotedSchema,
    migrations: `${quotedSchema}.${quoteName(table)}`,
    steps: `${quotedSchema}.${quoteName(`${table}_steps`)}`,
    lease: `${quotedSchema}.${quoteName(`${table}_lease`)}`,
  };
}

/** The statements that make the tables: only such as every provider takes, each for itself. */
function createStatements({ quotedSchema, migrations, steps, lease }: HistoryTables): string[] {
  return [
    `CREATE SCHEMA IF NOT EXISTS ${quotedSchema}`,
    `CREATE TABLE IF NOT EXISTS ${migrations} (tag text PRIMARY KEY, hash text NOT NULL, statements integer NOT NULL, ` +
    `duration_ms integer NOT NULL, executed boolean NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    `CREATE TABLE IF NOT EXISTS ${steps} (tag text NOT NULL, step integer NOT NULL, hash text NOT NULL, ` +
    `state text NOT NULL, job_id text, watermark text, owner text NOT NULL, ` +
    `updated_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (tag, step))`,
    `CREATE TABLE IF NOT EXISTS ${lease} (id integer PRIMARY KEY, owner text NOT NULL, fence bigint NOT NULL, ` +
    `expires_at timestamptz NOT NULL)`,
  ];
}

function getCode(error: unknown): string | undefined {
  return causeChain(error).map(getSqlState).find((state) => state !== undefined);
}

const MISSING = ["42P01", "3F000"];

/** Two runners that make the same table at once: IF NOT EXISTS looks before the other one has committed. */
const LOST_A_RACE = ["23505", "42P06", "42P07", "42710", "40001"];

/**
 * Makes the runner's tables where they are not there; runners may race. A session that is one on the server makes them in
 * one message, which is one transaction.
 */
export async function createTables(
  session: SqlSession & Partial<Pick<DedicatedSession, "keepsSession">>,
  tables: HistoryTables,
): Promise<void> {
  const count =
    "SELECT count(*)::int AS there FROM (VALUES (to_regclass($1)), (to_regclass($2)), (to_regclass($3))) " +
    "AS t (id) WHERE id IS NOT NULL";
  const names = [tables.migrations, tables.steps, tables.lease];
  const present = await retryIdempotent(() => session.query(count, names));
  // asked first, since CREATE SCHEMA IF NOT EXISTS needs the right to create schemas even when it is there
  if (Number(present[0].there) === 3) return;
  if (session.keepsSession === true) {
    try {
      return await session.script(createStatements(tables));
    } catch (error) {
      if (!LOST_A_RACE.includes(getCode(error) ?? "")) throw error;
    }
  }
  for (const statement of createStatements(tables)) {
    for (let attempt = 0;; attempt++) {
      try {
        await retryIdempotent(() => session.query(statement));
        break;
      } catch (error) {
        if (attempt >= 5 || !LOST_A_RACE.includes(getCode(error) ?? "")) throw error;
      }
    }
  }
}

/**
 * The migrations that the database has.
 *
 * @returns The rows, or `undefined` when there is no tracking table.
 * @throws {MigrationError} When the table is another tool's.
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
    const code = getCode(cause);
    if (code !== undefined && MISSING.includes(code)) return undefined;
    if (code !== "42703") throw cause;
    throw new MigrationError(
      `Table ${tables.migrations} belongs to another tool: set migrationsTable and migrationsSchema to other names, ` +
        "and mark what that tool applied as applied",
      { cause },
    );
  }
}

/** The statements of a migration that an earlier run began. */
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
 * @returns The places of the statements, from 0, by tag; none where the runner has made no tables.
 */
export async function readDoneSteps(
  session: SqlSession,
  tables: HistoryTables,
): Promise<Map<string, Set<number>>> {
  const done = new Map<string, Set<number>>();
  try {
    const select = `SELECT tag, step FROM ${tables.steps} WHERE state = 'done'`;
    for (const { tag, step } of await retryIdempotent(() => session.query(select))) {
      done.set(String(tag), (done.get(String(tag)) ?? new Set()).add(Number(step)));
    }
  } catch (cause) {
    if (!MISSING.includes(getCode(cause) ?? "")) throw cause;
  }
  return done;
}

/** Migrations that began statement by statement and have not ended; none where the runner has made no tables. */
export async function readUnfinished(
  session: SqlSession,
  tables: HistoryTables,
): Promise<NonNullable<MigrationStatus["unfinished"]>> {
  try {
    const select = `SELECT tag, count(*) FILTER (WHERE state = 'done')::int AS done, ` +
      `to_char(max(updated_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS noted FROM ${tables.steps} GROUP BY tag`;
    const rows = await retryIdempotent(() => session.query(select));
    return rows.map(({ tag, done, noted }) => ({
      tag: String(tag),
      statementsDone: Number(done),
      notedAt: new Date(String(noted)),
    })).sort((a, b) => compareTags(a.tag, b.tag));
  } catch (cause) {
    if (MISSING.includes(getCode(cause) ?? "")) return [];
    throw cause;
  }
}

/** Texts of the runner's own as SQL literals, for scripts that take no parameters. */
export function literal(text: string): string {
  const escaped = text.replaceAll("'", "''");
  return escaped.includes("\\") ? `E'${escaped.replaceAll("\\", "\\\\")}'` : `'${escaped}'`;
}

/** The statement that notes how far a statement got. */
export function writeStep(
  tables: HistoryTables,
  tag: string,
  owner: string,
  row: Pick<StepRow, "step" | "hash" | "state"> & Partial<StepRow>,
): string {
  const { step, hash, state, jobId, watermark } = row;
  const values = [
    literal(tag),
    step,
    literal(hash),
    literal(state),
    orNull(jobId),
    orNull(watermark),
    literal(owner),
  ];
  return `INSERT INTO ${tables.steps} (tag, step, hash, state, job_id, watermark, owner) VALUES (${
    values.join(", ")
  }) ` +
    "ON CONFLICT (tag, step) DO UPDATE SET hash = EXCLUDED.hash, state = EXCLUDED.state, job_id = EXCLUDED.job_id, " +
    "watermark = EXCLUDED.watermark, owner = EXCLUDED.owner, updated_at = now()";
}

function orNull(text: string | undefined): string {
  return text === undefined ? "NULL" : literal(text);
}

/** The statement that notes a migration as applied. */
export function writeApplied(
  tables: HistoryTables,
  row: { tag: string; hash: string; statements: number; durationMs: number; executed: boolean },
): string {
  const { tag, hash, statements, durationMs, executed } = row;
  return `INSERT INTO ${tables.migrations} (tag, hash, statements, duration_ms, executed) VALUES ` +
    `(${literal(tag)}, ${literal(hash)}, ${statements}, ${Math.round(durationMs)}, ${executed})`;
}

/** The statement that forgets the progress of a migration that is done. */
export function clearSteps(tables: HistoryTables, tag: string): string {
  return `DELETE FROM ${tables.steps} WHERE tag = ${literal(tag)}`;
}

/** The statement that forgets one statement of a migration. */
export function clearStep(tables: HistoryTables, tag: string, step: number): string {
  return `${clearSteps(tables, tag)} AND step = ${step}`;
}
