import type { Clock } from "../core/async/clock.ts";
import { joinSql, type PlainSql, sql } from "../database/session/plain_sql.ts";
import { runSqlRows, type SqlClient } from "../database/session/run_sql.ts";
import { hasSqlState } from "../errors/driver_error.ts";
import { JobLeaseLostError } from "../jobs/job_errors.ts";
import { getReason } from "../core/triggers/trigger_failure.ts";
import { checkSize, toJson } from "../jobs/job_row.ts";
import { sqlNow } from "../jobs/job_sql.ts";
import type { WorkflowParent } from "./start_workflow.ts";
import { WorkflowCodeError } from "./workflow_errors.ts";

/** What an entry records. `patch` is a call of `patched`; `signal` waits for its `wait`. */
export type EntryKind = "step" | "sleep" | "wait" | "child" | "patch" | "undo" | "signal";

/** State of an entry. */
export type EntryState = "pending" | "done" | "failed";

/** Recorded step, wait or signal. */
export interface Entry {
  /** Position in the workflow: `00002`, or `00002.1.00000` in the second branch of `all`. Signals begin with `s.`. */
  readonly key: string;
  /** What it records. */
  readonly kind: EntryKind;
  /** Name of the step or signal. */
  readonly name: string;
  /** Whether it has ended. */
  readonly state: EntryState;
  /** Attempts of a step so far. */
  readonly attempts: number;
  /** JSON of the result; null for `undefined`. */
  readonly result: string | null;
  /** Description of the last error. */
  readonly error: string | null;
  /** Time at which a sleep, a wait or the delay of an attempt ends, in epoch milliseconds. */
  readonly wakeMs: number | null;
  /** Time at which it ended, in epoch milliseconds. */
  readonly finishedMs: number | null;
}

/**
 * How a workflow continues: `undo` after a failure, `cancel` after a request. Both take steps back. One that is `lost` has
 * failed because its turns did: nothing was taken back.
 */
export type WorkflowMode = "run" | "undo" | "cancel" | "lost";

/** Row of a workflow that a turn reads. */
export interface WorkflowRow {
  /** Primary key. */
  readonly id: string;
  /** Name of the workflow. */
  readonly name: string;
  /** Version of the code that started it. */
  readonly version: number;
  /** `running`, `stopped`, `done`, `failed` or `cancelled`. */
  readonly state: string;
  /** How it continues. */
  readonly mode: WorkflowMode;
  /** JSON of the input. */
  readonly input: string;
  /** Why it failed or stopped. */
  readonly error: string | null;
  /** The workflow that waits for this one. */
  readonly parent: WorkflowParent | undefined;
  /** Time of the start in epoch milliseconds. */
  readonly startedMs: number;
  /** Time of the end in epoch milliseconds. */
  readonly finishedMs: number | undefined;
  /** Time of the database in epoch milliseconds. */
  readonly nowMs: number;
}

const ms = (column: PlainSql): PlainSql => sql`extract(epoch from ${column}) * 1000`;

/**
 * Reads a workflow.
 *
 * @param db The client.
 * @param id The workflow.
 * @param clock Clock of a test.
 * @returns The row; `undefined` if it was removed.
 */
export async function readWorkflow(
  db: SqlClient,
  id: string,
  clock: Clock | undefined,
): Promise<WorkflowRow | undefined> {
  const [row] = await runSqlRows(
    db,
    sql`select "id", "name", "version", "state", "mode", "input", "error", "parent_id", "parent_name",
    "parent_entry", ${ms(sql`"started_at"`)} as started_ms, ${
      ms(sql`"finished_at"`)
    } as finished_ms,
    ${ms(sqlNow(clock))} as now_ms from "trellis_workflows" where "id" = ${id}::uuid`,
  );
  if (row === undefined) return undefined;
  const {
    parent_id,
    parent_name,
    parent_entry,
    started_ms,
    finished_ms,
    now_ms,
    version,
    ...rest
  } = row;
  return {
    ...rest as Pick<WorkflowRow, "id" | "name" | "state" | "mode" | "input" | "error">,
    version: Number(version),
    parent: parent_id === null
      ? undefined
      : { id: String(parent_id), name: String(parent_name), entry: String(parent_entry) },
    startedMs: Math.floor(Number(started_ms)),
    finishedMs: finished_ms === null ? undefined : Math.floor(Number(finished_ms)),
    nowMs: Math.floor(Number(now_ms)),
  };
}

/**
 * Reads the entries of a workflow, oldest first.
 *
 * @param db The client.
 * @param id The workflow.
 */
export async function readEntries(db: SqlClient, id: string): Promise<Entry[]> {
  const rows = await runSqlRows(
    db,
    sql`select "entry", "kind", "name", "state", "attempts", "result", "error",
    ${ms(sql`"wake_at"`)} as wake_ms, ${ms(sql`"finished_at"`)} as finished_ms
    from "trellis_workflow_entries" where "workflow_id" = ${id}::uuid order by "created_at", "entry"`,
  );
  return rows.map(({ entry, attempts, wake_ms, finished_ms, ...rest }) => ({
    ...rest as Pick<Entry, "kind" | "name" | "state" | "result" | "error">,
    key: String(entry),
    attempts: Number(attempts),
    wakeMs: wake_ms === null ? null : Math.round(Number(wake_ms)),
    finishedMs: finished_ms === null ? null : Math.round(Number(finished_ms)),
  }));
}

/** SQLSTATE of a unique violation. */
const EXISTS = "23505";

/**
 * Writes entries, each once: what another worker has recorded ends this attempt. Branches of one turn may write the same
 * decision twice, such as the end of a sleep.
 *
 * @param client A transaction's client, or a client.
 * @param id The workflow.
 * @param entries The entries; nothing is written if there are none.
 * @param clock Clock of a test.
 * @throws {JobLeaseLostError} If another worker runs the workflow.
 */
export async function writeEntries(
  client: SqlClient,
  id: string,
  entries: readonly Entry[],
  clock: Clock | undefined,
): Promise<void> {
  if (entries.length === 0) return;
  const time = (at: number | null): string | null =>
    at === null ? null : new Date(at).toISOString();
  const values = entries.map((entry) =>
    sql`(${id}::uuid, ${entry.key}::text, ${entry.kind}::text, ${entry.name}::text, ${entry.state}::text,
    ${entry.attempts}::int, ${entry.result}::text, ${entry.error}::text, ${
      time(entry.wakeMs)
    }::timestamptz,
    ${sqlNow(clock)}, ${time(entry.finishedMs)}::timestamptz)`
  );
  const statement =
    sql`insert into "trellis_workflow_entries" ("workflow_id", "entry", "kind", "name",
    "state", "attempts", "result", "error", "wake_at", "created_at", "finished_at")
  values ${joinSql(values, ", ")}
  on conflict ("workflow_id", "entry") do update set "state" = excluded."state",
    "attempts" = excluded."attempts", "result" = excluded."result", "error" = excluded."error",
    "wake_at" = excluded."wake_at", "finished_at" = excluded."finished_at"
  where "trellis_workflow_entries"."state" = 'pending' or excluded."kind" not in ('step', 'undo')
    and excluded."result" is not distinct from "trellis_workflow_entries"."result"
    and excluded."finished_at" = "trellis_workflow_entries"."finished_at"
  returning "entry"`;
  const written = await runSqlRows(client, statement).catch((error) => {
    throw hasSqlState(error, [EXISTS]) ? new JobLeaseLostError(id) : error;
  });
  if (written.length < entries.length) throw new JobLeaseLostError(id);
}

/** Members of an entry that has just been created. */
export const NEW_ENTRY = {
  state: "pending",
  attempts: 0,
  result: null,
  error: null,
  wakeMs: null,
  finishedMs: null,
} as const satisfies Partial<Entry>;

/**
 * Describes an entry, or a call of the code, for messages.
 *
 * @returns `step "create"`, `waitFor "paid"`, `sleep`.
 */
export function describeEntry(
  { kind, name }: { readonly kind: EntryKind | "all"; readonly name: string },
): string {
  if (kind === "sleep" || kind === "all") return name;
  return `${kind === "wait" ? "waitFor" : kind === "patch" ? "patched" : kind} "${name}"`;
}

/**
 * Writes a result as JSON.
 *
 * @param what What it is the result of, for the message.
 * @param value The result.
 * @returns JSON; null for `undefined`.
 * @throws {WorkflowCodeError} If JSON cannot hold it, or it is too long.
 */
export function writeResult(what: string, value: unknown): string | null {
  if (value === undefined) return null;
  try {
    const text = toJson(value, true);
    checkSize(what, text);
    return text;
  } catch (error) {
    throw new WorkflowCodeError(`${what} cannot be kept. ${getReason(error)}`, { cause: error });
  }
}

/** Reads a result that {@link writeResult} has written. */
export function readResult(text: string | null): unknown {
  return text === null ? undefined : JSON.parse(text);
}

const MAX_NAME = 200;

/**
 * Checks the name of a step or signal.
 *
 * @param what What has the name, for the message.
 * @param name The name.
 * @throws {WorkflowCodeError} If it is empty or too long.
 */
export function checkName(what: string, name: unknown): void {
  if (typeof name === "string" && name !== "" && name.length <= MAX_NAME && !name.includes("\0")) {
    return;
  }
  throw new WorkflowCodeError(
    `The name of a ${what} must be a text of 1 to ${MAX_NAME} characters`,
  );
}
