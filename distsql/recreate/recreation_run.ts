import type { RunSql } from "../../sql/session.ts";
import { findDriverError } from "../../errors/driver_error.ts";
import type { Clock } from "../../core/async/clock.ts";
import { isConnectionLost } from "../../sql/retry_idempotent.ts";
import type { BatchLimits } from "../batches/run_batches.ts";
import { digestSource, digestTarget, sameRows } from "./compare_rows.ts";
import { RowCopy } from "./copy_rows.ts";
import { introspectLive } from "./read_current.ts";
import { RecreationError } from "./recreation_error.ts";
import type { RecreationPhase, RecreationPlan, RecreationStep } from "./recreation_plan.ts";
import { temporaryName } from "./temporary_name.ts";
import { copyGrants, renameSequence, runStatement, setPosition } from "./steps.ts";
import { createWorkTableSql, readWork, relationOid, workTable, writeWork } from "./work_table.ts";
import { hasConstraint } from "./catalog_steps.ts";
import { qualify, quoteName } from "../../sql/quote.ts";
import { normalizeType } from "../schema/normalize_type.ts";
import type { TableSchema } from "../schema/table_schema.ts";

/** Settings of a run. */
export interface RunSettings {
  /** Called with each progress message. */
  logger: (message: string) => void;
  /** Initial limits of a batch. */
  limits: BatchLimits;
  /** Maximum duration of a background job. */
  jobTimeoutMs: number;
  /** Clock that waits and reads the time. */
  clock: Clock;
}

const ORDER: readonly RecreationPhase[] = ["before", "frozen", "after"];

/**
 * Maximum number of lost connections per step. Each attempt first checks whether the step is done.
 */
const MAX_LOST_CONNECTIONS = 5;

/**
 * Checks for an error that would occur again: no conflict, lost connection or lack of resources.
 */
function isDefinite(sqlState: string): boolean {
  return /^(?:0A|0L|22|23|2B|42|44|54|P0)/.test(sqlState);
}

/** Checks whether two plans lead from the same table to the same table. */
function isSamePlan(a: RecreationPlan, b: RecreationPlan): boolean {
  return JSON.stringify([a.current, a.desired]) === JSON.stringify([b.current, b.desired]);
}

/** Lists the properties that differ, without their values. */
function listDifferences(live: object | undefined, planned: object): string {
  if (live === undefined) return "it was dropped";
  const [a, b] = [live as Record<string, unknown>, planned as Record<string, unknown>];
  return Object.keys({ ...a, ...b }).filter((key) =>
    JSON.stringify(a[key]) !== JSON.stringify(b[key])
  ).join(", ");
}

/**
 * Checks whether two tables have the same columns, types and key, which identifies a plan that is
 * done.
 */
function isSameShape(a: TableSchema, b: TableSchema): boolean {
  const getShape = ({ columns, constraints }: TableSchema): string =>
    JSON.stringify([
      columns.map(({ name, type, notNull }) => [name, normalizeType(type), notNull]),
      constraints.map(({ name, type, columns }) => [name, type, columns].join()).sort(),
    ]);
  return getShape(a) === getShape(b);
}

/** Run of a plan: finds out where an earlier run stopped, and continues from there. */
export class RecreationRun {
  readonly #run: RunSql;
  readonly #plan: RecreationPlan;
  readonly #settings: RunSettings;
  readonly #copy: RowCopy;
  #rows = 0;

  /**
   * @param run Runs a statement.
   * @param plan The plan.
   * @param settings Settings of the run.
   */
  constructor(run: RunSql, plan: RecreationPlan, settings: RunSettings) {
    this.#run = run;
    this.#plan = plan;
    this.#settings = settings;
    this.#copy = new RowCopy(run, plan, settings.limits, settings.logger);
  }

  /** Runs the remaining steps; returns `undefined` if there are none. */
  async run(): Promise<{ rows: number; resumed: boolean } | undefined> {
    const { table, steps, batches, rows } = this.#plan;
    const start = await this.#retry(() => this.#findPhase());
    if (start === undefined) return undefined;
    const { schema } = this.#plan;
    const resumed = await readWork(this.#run, schema, table, "plan") !== undefined;
    if (start === "after") {
      this.#rows = (await readWork<{ rows: number }>(this.#run, schema, table, "copy"))?.rows ?? 0;
    }
    const what = resumed ? "continues an interrupted recreation" : "is recreated";
    this.#settings.logger(`${table}: ${what}: about ${rows} rows in ${batches} batches`);
    if (start === "before") {
      await this.#guard("before", "store the plan", () => this.#retry(() => this.#prepare()));
    }
    for (const step of steps) {
      if (ORDER.indexOf(step.phase) < ORDER.indexOf(start)) continue;
      this.#settings.logger(`${table}: ${step.title}`);
      await this.#guard(step.phase, step.title, () => this.#retry(() => this.#runStep(step)));
    }
    return { rows: this.#rows, resumed };
  }

  #fail(reason: RecreationError["reason"], message: string, cause?: unknown): RecreationError {
    const { table } = this.#plan;
    return new RecreationError(`${table}: ${message}`, {
      reason,
      table,
      ...cause === undefined ? {} : { cause },
    });
  }

  /** Returns the phase to start with; `undefined` if the plan is done. */
  async #findPhase(): Promise<RecreationPhase | undefined> {
    const { schema, table, current, desired, copy } = this.#plan;
    if (current.oid === undefined) {
      throw this.#fail(
        "statement",
        "the plan was not made from a table that introspectTable read, so it cannot be executed",
      );
    }
    const stored = await readWork<RecreationPlan>(this.#run, schema, table, "plan");
    if (stored !== undefined && !isSamePlan(stored, this.#plan)) {
      throw this.#fail(
        "unfinished",
        "another recreation of it is unfinished: finish that one, or drop " +
          `${workTable(schema, table)} and ${copy.target} if ` +
          `${copy.source} is still the old table`,
      );
    }
    const old = await this.#nameOfOld();
    if (old === table) return "before";
    const named = await relationOid(this.#run, copy.source);
    if (old !== undefined && named === undefined) return "frozen";
    if (stored !== undefined) {
      await this.#assertOurs(named);
      return "after";
    }
    const live = old === undefined && named !== undefined
      ? await introspectLive(this.#run, named)
      : undefined;
    if (live !== undefined && isSameShape(live, desired)) return undefined;
    throw this.#fail(
      "schema_changed",
      "this is not the table that the plan was made for: introspect it and plan again",
    );
  }

  /** Checks that no other table was created under the name between the two renames. */
  async #assertOurs(named: string | undefined): Promise<void> {
    const { schema, table, copy } = this.#plan;
    const state = await readWork<{ target: string }>(this.#run, schema, table, "copy");
    if (state !== undefined && state.target === named) return;
    throw this.#fail(
      "unfinished",
      "another relation has taken its name during the recreation: rename or drop that " +
        `relation, then run this again; the rows are in ${copy.target} and ${copy.frozen}`,
    );
  }

  /** Removes the remains of an earlier attempt, and stores the plan. */
  async #prepare(): Promise<void> {
    const { schema, table, current, copy } = this.#plan;
    const live = await introspectLive(this.#run, current.oid ?? "0");
    if (JSON.stringify(live) !== JSON.stringify(current)) {
      await this.#discard();
      const { dependents = [] } = live ?? {};
      if (dependents.length > 0) {
        throw this.#fail(
          "blocked",
          `these objects depend on it since the plan was made: ${dependents.join(", ")}`,
        );
      }
      throw this.#fail(
        "schema_changed",
        "it changed since the plan was made " +
          `(${listDifferences(live, current)}): introspect it and plan again`,
      );
    }
    if (!await this.#copy.canGoOn()) await this.#run(`DROP TABLE ${copy.target}`);
    if (await relationOid(this.#run, workTable(schema, table)) === undefined) {
      await this.#run(createWorkTableSql(schema, table));
    }
    if (await readWork(this.#run, schema, table, "plan") === undefined) {
      await writeWork(this.#run, this.#plan, "plan", this.#plan);
    }
  }

  async #runStep(step: RecreationStep): Promise<void> {
    const { schema, table, copy } = this.#plan;
    switch (step.kind) {
      case "statement":
        return await runStatement(this.#run, step, this.#settings);
      case "copy":
        return await this.#copy.run();
      case "verify":
        return await this.#verify(step.phase);
      case "position":
        return await setPosition(this.#run, copy.target, step);
      case "grants":
        return await copyGrants(this.#run, step);
      case "rename_sequence":
        return await renameSequence(this.#run, qualify(schema, table), step);
    }
  }

  async #verify(phase: RecreationPhase): Promise<void> {
    const { table, copy } = this.#plan;
    const target = await digestTarget(this.#run, copy);
    // an attempt whose connection was lost may have restored the name already
    const isRefused = phase === "frozen" && await this.#nameOfOld() === table;
    const from = phase === "before" || isRefused ? copy.source : copy.frozen;
    const source = await digestSource(this.#run, copy, from, table);
    if (!isRefused && sameRows(source, target)) {
      this.#rows = Number(target.rows);
      return;
    }
    if (phase === "frozen" && !await this.#restoreName()) {
      await this.#assertOurs(await relationOid(this.#run, copy.source));
    }
    await this.#discard();
    throw this.#fail(
      "rows_changed",
      `rows changed during the copy (${source.rows} rows in the table, ${target.rows} in the ` +
        "copy), and the swap would lose that change. The table is unchanged: stop all writes " +
        "to it, and run this again",
    );
  }

  /** Returns the current name of the old table; `undefined` if it was dropped. */
  async #nameOfOld(): Promise<string | undefined> {
    const { oid } = this.#plan.current;
    const sql = `SELECT relname::text AS name FROM pg_class WHERE oid = ${oid}`;
    const [old] = await this.#run(sql);
    return old === undefined ? undefined : String(old.name);
  }

  /** Restores the name of the old table; returns `false` if another relation has it. */
  async #restoreName(): Promise<boolean> {
    const { table, copy } = this.#plan;
    if (await this.#nameOfOld() === table) return true;
    if (await relationOid(this.#run, copy.source) !== undefined) return false;
    await this.#run(`ALTER TABLE ${copy.frozen} RENAME TO ${quoteName(table)}`);
    return true;
  }

  /** Removes everything that was created while the old table still had its name. */
  async #discard(): Promise<void> {
    const { schema, table, copy, desired } = this.#plan;
    for (const { name, from } of desired.referencedBy ?? []) {
      const child = qualify(from.schema, from.table);
      const key = temporaryName(name, "new");
      const [row] = await this.#run(`SELECT ${hasConstraint(child, key)} AS there`);
      if (row.there === true) {
        await this.#run(`ALTER TABLE ${child} DROP CONSTRAINT ${quoteName(key)}`);
      }
    }
    for (const name of [copy.target, workTable(schema, table)]) {
      await this.#run(`DROP TABLE IF EXISTS ${name}`);
    }
  }

  /** Retries work after a lost connection; the work itself checks what is done already. */
  async #retry<T>(work: () => Promise<T>): Promise<T> {
    for (let lost = 0;; lost++) {
      try {
        return await work();
      } catch (error) {
        if (!isConnectionLost(error) || lost >= MAX_LOST_CONNECTIONS) throw error;
        await this.#settings.clock.sleep(200 * 2 ** lost);
      }
    }
  }

  /**
   * Adds the state of the table to the error of a failed step. If a retry cannot help, cleans up
   * first.
   */
  async #guard(phase: RecreationPhase, title: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const driver = findDriverError(error, { showIdentifiers: true });
      const isOwn = error instanceof RecreationError;
      if (isOwn && error.table !== undefined) throw error;
      if (isOwn && error.reason !== "failed") throw this.#fail(error.reason, error.message, error);
      if (!isOwn && driver === undefined) throw error;
      const why = driver === undefined ? "" : ` (SQLSTATE ${driver.sqlState}: ${driver.message})`;
      const message = isOwn ? error.message : `could not ${title}`;
      const where = await this.#leave(phase, driver === undefined || isDefinite(driver.sqlState));
      throw this.#fail("failed", `${message}${why}. ${where}`, error);
    }
  }

  /** Cleans up after a failure and returns the advice for the message. */
  async #leave(phase: RecreationPhase, isDefinite: boolean): Promise<string> {
    if (phase === "after") {
      return "The new table already has the name: fix the cause and run this again to finish";
    }
    if (!isDefinite) return "Run this again: it continues from here";
    try {
      if (phase === "frozen" && !await this.#restoreName()) {
        return "Another relation has taken the name: rename or drop it and run this again";
      }
      await this.#discard();
      return "The table is unchanged: fix the cause and run this again";
    } catch {
      return "Run this again: it continues from here";
    }
  }
}
