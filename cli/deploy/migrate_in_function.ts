import { type Clock, monotonicNow, systemClock } from "../../core/async/clock.ts";
import type {
  MigrationFailureResponse,
  MigrationGrantsResponse,
  MigrationRequest,
  MigrationResponse,
  MigrationStatusResponse,
} from "../../database/migrations/function/migration_request.ts";
import { count } from "../terminal/generated_report.ts";
import { StepError } from "./deployment.ts";
import type { InvocationOutcome, MigrationFunction } from "./migration_function.ts";

/**
 * Seconds after which the function begins no further statement. An invocation that ends soon loses no
 * connection to a firewall, and shows the progress.
 */
const BUDGET_SECONDS = 240;
/** Longer than the longest statement of a migration, which may continue in the database after a timeout. */
const STALLED_MS = 75 * 60_000;
/** Interruptions after which a file that is one transaction is given up. */
const MAX_INTERRUPTIONS = 2;
/** Attempts of requests that can be repeated. */
const MAX_ATTEMPTS = 3;
const PAUSE_MS = 5_000;

/** Options of {@link migrateInFunction}. */
export interface MigrateInFunctionOptions {
  /** Identifies the files of the project. */
  readonly digest: string;
  /** Called with messages about the plan and the progress. */
  readonly onNote: (text: string) => void;
  /** Waits, and measures time. */
  readonly clock?: Clock;
}

/**
 * Applies the pending migrations through the migration function, in as many invocations as they need.
 *
 * @returns One line about the result.
 * @throws {StepError} If a migration fails, or if there is no progress.
 */
export async function migrateInFunction(
  fn: MigrationFunction,
  { digest, onNote, clock = systemClock }: MigrateInFunctionOptions,
): Promise<string> {
  const first = await readStatus(fn, digest, clock);
  logPlan(first, onNote);
  let state = first;
  let interruptions = 0;
  let progressMs = monotonicNow(clock);
  for (let invocation = 1; state.pending.length > 0 || state.changed.length > 0; invocation++) {
    const outcome = await fn.invoke({ action: "migrate", digest, budgetSeconds: BUDGET_SECONDS });
    if ("response" in outcome) assertMigrated(outcome.response);
    const before = state;
    state = await readStatus(fn, digest, clock);
    if (state.pending.length === 0) break;
    if (JSON.stringify(state.pending) !== JSON.stringify(before.pending)) {
      progressMs = monotonicNow(clock);
      interruptions = 0;
    }
    if ("interruption" in outcome) interruptions++;
    const [next] = state.pending;
    assertProgress(fn, next, { interruptions, stalledMs: monotonicNow(clock) - progressMs });
    const why = describeReason(outcome);
    const effort = count(invocation, "invocation");
    onNote(`${describeProgress(state)} after ${effort}: continuing, because ${why}`);
    if ("interruption" in outcome) await clock.sleep(PAUSE_MS);
  }
  const left = new Set(state.pending.map(({ tag }) => tag));
  const applied = first.pending.filter(({ tag }) => !left.has(tag)).length;
  return applied === 0 ? `${fn.name}: up to date` : `${fn.name}: ${applied} applied`;
}

/**
 * Applies the permission files through the migration function.
 *
 * @param request Files, values of their variables, and logins of functions to create or change.
 * @returns One line about the result.
 * @throws {StepError} If a statement failed.
 */
export async function grantInFunction(
  fn: MigrationFunction,
  request: Omit<Extract<MigrationRequest, { action: "grants" }>, "action">,
): Promise<string> {
  const { applied, skipped, errors, logins } = await repeat<MigrationGrantsResponse>(
    fn,
    { action: "grants", ...request },
    systemClock,
  );
  if (errors.length > 0) throw new StepError(errors.join("\n"));
  const wanted = request.logins?.length ?? 0;
  if (wanted > 0 && logins !== wanted) {
    throw new StepError(
      `${fn.name} is older than this command and created no logins: deploy again`,
    );
  }
  return `${applied} applied, ${skipped} unchanged`;
}

/** Reads the state of the migrations, and checks that the function has the files of the project. */
async function readStatus(
  fn: MigrationFunction,
  digest: string,
  clock: Clock,
): Promise<MigrationStatusResponse> {
  const status = await repeat<MigrationStatusResponse>(fn, { action: "status" }, clock);
  if (status.digest === digest) return status;
  throw new StepError(
    `${fn.name} has other migrations or grants than the project: nothing was run. Somebody else has ` +
      "deployed in between, or the function was not built by trellis build",
  );
}

/** Sends a request that can be repeated. */
async function repeat<T extends MigrationResponse>(
  fn: MigrationFunction,
  request: MigrationRequest,
  clock: Clock,
): Promise<T & { readonly ok: true }> {
  for (let attempt = 1;; attempt++) {
    const outcome = await fn.invoke(request);
    if ("response" in outcome) {
      assertMigrated(outcome.response);
      return outcome.response as T & { readonly ok: true };
    }
    if (attempt === MAX_ATTEMPTS) {
      throw new StepError(
        `${fn.name} did not answer ${MAX_ATTEMPTS} times: ${outcome.interruption}. Check that the function ` +
          "reaches the database and AWS Secrets Manager from its subnets",
      );
    }
    await clock.sleep(PAUSE_MS);
  }
}

function assertMigrated(
  response: MigrationResponse,
): asserts response is Exclude<MigrationResponse, MigrationFailureResponse> {
  if (response.ok) return;
  throw new StepError(response.message);
}

type Pending = MigrationStatusResponse["pending"][number];

function assertProgress(
  fn: MigrationFunction,
  { tag, isTransaction }: Pending,
  { interruptions, stalledMs }: { readonly interruptions: number; readonly stalledMs: number },
): void {
  if (isTransaction && interruptions >= MAX_INTERRUPTIONS) {
    throw new StepError(
      `${tag}.sql is one transaction and needs longer than ${fn.name} may run, so it was rolled back ` +
        `${interruptions} times: split the file, or let its statements run separately with the line ` +
        "-- trellis: no-transaction",
    );
  }
  if (stalledMs < STALLED_MS) return;
  throw new StepError(
    `${tag}.sql made no progress in ${
      STALLED_MS / 60_000
    } minutes: look at the logs of ${fn.name}, and for ` +
      "locks in the database",
  );
}

function describeReason(outcome: InvocationOutcome): string {
  if ("interruption" in outcome) return outcome.interruption;
  const { response } = outcome;
  const isLocked = response.ok && response.action === "migrate" && response.isLocked;
  return isLocked ? "another run holds the lock" : "more time is needed";
}

function logPlan(
  { pending, findings }: MigrationStatusResponse,
  onNote: (text: string) => void,
): void {
  for (const { tag, statements, isTransaction } of pending) {
    const size = count(statements, "statement");
    onNote(`pending ${tag}: ${size}${isTransaction ? " in one transaction" : ""}`);
  }
  for (const { severity, file = "", line, message } of findings) {
    if (severity === "warning") onNote(`warning ${file}${line ? `:${line}` : ""}: ${message}`);
  }
}

function describeProgress({ pending: [next, ...others] }: MigrationStatusResponse): string {
  const rest = others.length === 0 ? "" : `, and ${others.length} more pending`;
  return `${next.tag}: ${next.statementsDone} of ${next.statements} statements done${rest}`;
}
