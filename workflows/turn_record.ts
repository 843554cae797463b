import type { Clock } from "../core/async/clock.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import type { SqlClient } from "../database/session/run_sql.ts";
import type { NewJob } from "../jobs/job_row.ts";
import {
  describeEntry,
  type Entry,
  type EntryKind,
  type WorkflowRow,
  writeEntries,
} from "./journal.ts";
import type { Scope } from "./scope.ts";
import { createTurnJob, type NewWorkflow, type TurnPayload } from "./start_workflow.ts";
import { WorkflowCodeError } from "./workflow_errors.ts";

/** What a turn reads. */
export interface TurnRows {
  /** The row. */
  readonly row: WorkflowRow;
  /** The entries, oldest first. */
  readonly entries: readonly Entry[];
  /** The timer that has come: its entry and its time. */
  readonly timer: Pick<TurnPayload, "due" | "wakeMs">;
  /** The client; none for a replay, which runs no step. */
  readonly db: DrizzleClient | undefined;
  /** Clock of a test. */
  readonly clock: Clock | undefined;
}

/** What was recorded at a position. A call of `all` has no entry of its own, but its branches have. */
type Recorded = Pick<Entry, "name"> & { readonly kind: EntryKind | "all" };

/** A call of `all`. */
const ALL: Recorded = { kind: "all", name: "all" };

/** What a turn has read, and what it is going to write. */
export class TurnRecord {
  /** Entries to write with the next statement. */
  readonly buffer: Entry[] = [];
  /** Entries of what waits for a later turn. */
  readonly pending: Entry[] = [];
  /** Jobs that wake the workflow. */
  readonly timers: NewJob[] = [];
  /** Keys of timers that are not needed any more. */
  readonly staleTimers: string[] = [];
  /** Child workflows to start. */
  readonly children: NewWorkflow[] = [];
  /** What was read. */
  readonly rows: TurnRows;
  readonly #entries: ReadonlyMap<string, Entry>;
  /** Numbers of the recorded branches of each call of `all`. */
  readonly #branches: Map<string, Set<number>> = new Map();
  readonly #signals: Entry[];
  readonly #loadedAt: number = performance.now();

  /**
   * @param rows What was read.
   */
  constructor(rows: TurnRows) {
    this.rows = rows;
    this.#entries = new Map(rows.entries.map((entry) => [entry.key, entry]));
    this.#signals = rows.entries.filter(({ kind, state }) =>
      kind === "signal" && state === "pending"
    );
    for (const { key } of rows.entries) {
      for (const { index, 1: branch } of key.matchAll(/\.(\d+)\./g)) {
        const position = key.slice(0, index);
        const known = this.#branches.get(position) ?? new Set();
        this.#branches.set(position, known.add(Number(branch)));
      }
    }
  }

  /** Time in epoch milliseconds, on the clock of the database. */
  now(): number {
    const { clock, row } = this.rows;
    return Math.floor(clock?.now() ?? row.nowMs + performance.now() - this.#loadedAt);
  }

  /** Returns what was recorded for a key. */
  find(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Returns what was recorded at the next position. */
  peek(scope: Scope): Recorded | undefined {
    const key = scope.key();
    return this.#entries.get(key) ?? (this.#branches.has(key) ? ALL : undefined);
  }

  /** Finds the entry of the next operation, and checks that it is the recorded one. */
  take(scope: Scope, operation: Recorded): { key: string; entry: Entry | undefined } {
    let recorded = this.peek(scope);
    // the code of a patch was removed again: all running workflows have it
    while (recorded?.kind === "patch") {
      scope.next++;
      recorded = this.peek(scope);
    }
    const key = scope.key();
    scope.next++;
    const isSame = recorded?.kind === operation.kind && recorded.name === operation.name;
    if (recorded !== undefined && !isSame) {
      throw changed(
        `At position ${key} ${describeEntry(recorded)} was recorded, and the code now has ${
          describeEntry(operation)
        }`,
      );
    }
    return { key, entry: this.#entries.get(key) };
  }

  /** Finds the position of the next call of `all`, and checks that it still has the branches that were recorded. */
  takeAll(scope: Scope, members: readonly unknown[]): string {
    const { key } = this.take(scope, ALL);
    for (const branch of this.#branches.get(key) ?? []) {
      if (typeof members[branch] === "function") continue;
      throw changed(`Branch ${branch} of all at position ${key} was recorded, and has no function`);
    }
    return key;
  }

  /** Takes the next signal of a name that has arrived. */
  takeSignal(name: string): Entry | undefined {
    const at = this.#signals.findIndex((each) => each.name === name);
    return at < 0 ? undefined : this.#signals.splice(at, 1)[0];
  }

  /** Checks whether the time of an entry has come. */
  isDue({ key, wakeMs }: Entry): boolean {
    const { timer } = this.rows;
    const hasCome = key === timer.due && (timer.wakeMs ?? wakeMs) === wakeMs;
    return hasCome || wakeMs !== null && wakeMs <= this.now();
  }

  /** Records what waits for a later turn, and the job that wakes the workflow then. */
  async addPending(entry: Entry): Promise<void> {
    const { id, name } = this.rows.row;
    const { key, wakeMs } = entry;
    if (wakeMs !== null) {
      const delaySeconds = Math.max(0, wakeMs - this.now()) / 1000;
      const options = { delaySeconds, key: timerKey(id, entry) };
      this.timers.push(await createTurnJob(name, { id, timer: key, wakeMs }, options));
    }
    this.pending.push(entry);
  }

  /** Leaves out the timer of an entry whose wait has ended. */
  removeTimer(entry: Entry | undefined): void {
    if (entry?.wakeMs) this.staleTimers.push(timerKey(this.rows.row.id, entry));
  }

  /**
   * Writes what was decided, and the result of a step.
   *
   * @param client The client, or the transaction of the step.
   * @param done The result.
   * @returns Removes what was written from the buffer: call it after the COMMIT.
   */
  async write(client: SqlClient, done: readonly Entry[]): Promise<() => void> {
    const written = [...this.buffer];
    await writeEntries(client, this.rows.row.id, [...written, ...done], this.rows.clock);
    return () => {
      const left = this.buffer.filter((entry) => !written.includes(entry));
      this.buffer.splice(0, Infinity, ...left);
    };
  }

  /** Writes what was decided, and the result of a step, outside of a transaction. */
  async flush(...done: readonly Entry[]): Promise<void> {
    const onCommitted = await withDistSqlRetry(() => this.write(this.rows.db!, done));
    onCommitted();
  }
}

function changed(message: string): WorkflowCodeError {
  return new WorkflowCodeError(
    `${message}: the code has changed while the workflow runs. Use patched or version, or release the former code`,
  );
}

/** Returns the key of the job that wakes a workflow. */
function timerKey(id: string, { key, wakeMs }: Pick<Entry, "key" | "wakeMs">): string {
  return `${id} ${key} ${wakeMs}`;
}
