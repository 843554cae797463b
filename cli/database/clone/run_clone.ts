import type { BatchLimits } from "../../../distsql/batches/run_batches.ts";
import type { TableSchema } from "../../../distsql/schema/table_schema.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { UsageError } from "../../terminal/command.ts";
import { toDatabaseError } from "../reaching.ts";
import type { DatabaseTarget } from "../to_database_target.ts";
import { qualify, quoteLiteral, quoteName } from "../../../sql/quote.ts";
import { chooseTables, findBlockers } from "./choose_tables.ts";
import { tableKey } from "./clone_ddl.ts";
import type { CloneOptions } from "../../config/clone.ts";
import { CloneState, type StoredClone } from "./clone_state.ts";
import { type CloneConnection, connect } from "./connection.ts";
import { copyRows } from "./copy_table.ts";
import { planClone } from "./plan_clone.ts";
import { readObjects, readRelations, readTable, type SequenceSchema } from "./read_catalog.ts";
import { runDdl } from "./run_ddl.ts";
import { assertEmpty, readTargets } from "./target_tables.ts";

/** Options of {@link runClone}. */
export interface CloneWork {
  readonly source: DatabaseTarget;
  readonly target: DatabaseTarget;
  readonly options: CloneOptions;
  /** Continues an interrupted clone. */
  readonly resume: boolean;
  /** The table of applied migrations, whose helper tables are not cloned. */
  readonly migrations: { readonly schema: string; readonly table: string };
  /**
   * Seconds after which a clone on DSQL takes over from a clone that crashed while it created tables or
   * indexes.
   *
   * @default 15
   */
  readonly leaseSeconds?: number;
  /** Called with the progress of a step. */
  readonly onProgress: (label: string, done: number, total: number) => void;
  /** Called with messages. */
  readonly onMessage: (message: string) => void;
}

/** A cloned table. */
export interface ClonedTable {
  readonly schema: string;
  readonly name: string;
  /** Row counts of source and target at the end. */
  readonly source: number;
  readonly target: number;
}

/** The outcome of a clone. */
export interface CloneOutcome {
  /** Reasons why nothing was cloned. */
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
  readonly tables: readonly ClonedTable[];
  /** True if an interrupted clone was continued. */
  readonly resumed: boolean;
}

/**
 * Clones a database. The source is only read.
 *
 * @throws {ConfigurationError} If the target is not empty, or contains an interrupted clone of
 * another source.
 * @throws {DatabaseError} If a database cannot be reached or rejects a statement.
 */
export async function runClone(work: CloneWork): Promise<CloneOutcome> {
  if (JSON.stringify(work.source.config) === JSON.stringify(work.target.config)) {
    throw new UsageError(`Source and target are the same database, ${work.source.label}`);
  }
  const source = await connect(work.source);
  try {
    const target = await connect(work.target);
    try {
      return await new Clone(work, source, target).run();
    } catch (error) {
      throw error instanceof UsageError
        ? error
        : toDatabaseError(error, `${source.label} to ${target.label}`);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

class Clone {
  readonly #work: CloneWork;
  readonly #source: CloneConnection;
  readonly #target: CloneConnection;
  readonly #state: CloneState;

  constructor(work: CloneWork, source: CloneConnection, target: CloneConnection) {
    this.#work = work;
    this.#source = source;
    this.#target = target;
    this.#state = new CloneState(target);
  }

  async run(): Promise<CloneOutcome> {
    const { resume, onMessage } = this.#work;
    const stored = await this.#state.read();
    if (stored !== undefined) this.#assertSame(stored);
    else if (resume) {
      onMessage(`${this.#target.label} contains no interrupted clone: starting a new one`);
    }
    const begun = stored ?? await this.#begin();
    if ("refusals" in begun) return begun;
    await this.#ddl(begun.before, 1, "Creating tables");
    await this.#copy(begun);
    await this.#ddl(begun.after, begun.before.length + 1, "Creating indexes and constraints");
    if (begun.options.mode !== "schema") {
      await restartSequences(this.#source, this.#target, begun.sequences);
    }
    const tables = await this.#count(begun);
    await this.#state.drop();
    return { refusals: [], warnings: begun.warnings, tables, resumed: stored !== undefined };
  }

  #assertSame(stored: StoredClone): void {
    const { resume, source, target, options } = this.#work;
    if (stored.source !== source.label) {
      throw new ConfigurationError(
        `${target.label} contains an interrupted clone of ` +
          `${stored.source}, not of ${source.label}: use that source, or ` +
          "an empty target",
      );
    }
    if (!resume) {
      throw new ConfigurationError(
        `${target.label} contains an interrupted clone: ` +
          `continue with --resume, or use an empty target`,
      );
    }
    if (JSON.stringify(stored.options) !== JSON.stringify(options)) {
      throw new ConfigurationError(
        `The clone in ${target.label} was started with other options (${
          JSON.stringify(stored.options)
        }): use the same options`,
      );
    }
  }

  async #begin(): Promise<StoredClone | CloneOutcome> {
    const { options, source, onProgress } = this.#work;
    const relations = await readRelations(this.#source);
    const chosen = chooseTables(relations, options, this.#work.migrations, source.label);
    const present = await readRelations(this.#target);
    const involved = { all: relations, chosen, present };
    let targets: ReadonlyMap<string, TableSchema> = new Map();
    if (options.mode === "data") targets = await readTargets(this.#target, involved);
    else assertEmpty(this.#target, options, involved);
    const tables: TableSchema[] = [];
    for (const relation of chosen) {
      tables.push(await readTable(this.#source, relation));
      onProgress("Reading tables", tables.length, chosen.length);
    }
    const isFromDistSql = this.#source.isDistSql;
    const isToDistSql = this.#target.isDistSql;
    const objects = await readObjects(this.#source);
    const plan = planClone({ tables, objects, options, isFromDistSql, isToDistSql, targets });
    const refusals = [...findBlockers(relations, options), ...plan.refusals];
    for (const copy of plan.copies) refusals.push(...await this.#findRounded(copy));
    const warnings = [...plan.warnings];
    if (refusals.length > 0) return { refusals, warnings, tables: [], resumed: false };
    const { before, after, sequences, copies } = plan;
    const clone = { source: source.label, options, before, after, sequences, copies, warnings };
    await this.#state.write(clone);
    return clone;
  }

  /** Finds columns with values that the target would round. */
  async #findRounded(
    copy: { schema: string; name: string; scaled: readonly { column: string; scale: number }[] },
  ): Promise<string[]> {
    const found: string[] = [];
    for (const { column, scale } of copy.scaled) {
      const [row] = await this.#source.run(
        `SELECT max(scale(${quoteName(column)}))::text AS scale FROM ${
          qualify(copy.schema, copy.name)
        }`,
      );
      if (row.scale === null || Number(row.scale) <= scale) continue;
      found.push(
        `${copy.schema}.${copy.name}: ${column} has values with ` +
          `${row.scale} decimals, but the target keeps ` +
          `${scale}: use --numeric with a larger scale`,
      );
    }
    return found;
  }

  async #ddl(files: StoredClone["before"], from: number, label: string): Promise<void> {
    const { target, options, leaseSeconds = 15, onProgress, onMessage } = this.#work;
    await runDdl({
      target,
      options,
      leaseSeconds,
      files,
      from,
      onMessage,
      onProgress: (done, total) => onProgress(label, done, total),
    });
  }

  async #copy({ copies }: StoredClone): Promise<void> {
    if (copies.length === 0) return;
    const { onProgress } = this.#work;
    const limits = getLimits(this.#source, this.#target);
    const expected = new Map(
      (await readRelations(this.#source)).map((one) => [qualify(one.schema, one.name), one.rows]),
    );
    const counts = copies.map((copy) => Math.max(0, expected.get(tableKey(copy)) ?? 0));
    let before = 0;
    for (const [at, copy] of copies.entries()) {
      const context = {
        source: this.#source,
        target: this.#target,
        state: this.#state,
        limits,
        onProgress: (rows: number) => {
          counts[at] = Math.max(counts[at], rows);
          onProgress(
            `Copying ${copy.name}`,
            before + rows,
            counts.reduce((sum, count) => sum + count, 0),
          );
        },
      };
      try {
        counts[at] = await copyRows(copy, context);
      } catch (error) {
        throw toDatabaseError(
          error,
          this.#target.label,
          `the rows of ${copy.schema}.${copy.name} cannot be copied`,
        );
      }
      before += counts[at];
    }
  }

  async #count({ copies }: StoredClone): Promise<ClonedTable[]> {
    const { onProgress } = this.#work;
    const tables: ClonedTable[] = [];
    for (const { schema, name } of copies) {
      onProgress("Counting rows", tables.length + 1, copies.length);
      const [source, target] = await Promise.all(
        [this.#source, this.#target].map(async ({ run }) => {
          const [row] = await run(`SELECT count(*)::text AS rows FROM ${qualify(schema, name)}`);
          return Number(row.rows);
        }),
      );
      tables.push({ schema, name, source, target });
    }
    return tables;
  }
}

/**
 * Returns the maximum size of a batch. Aurora DSQL allows 3,000 rows and 10 MiB including index
 * entries per transaction; the Data API allows 1 MiB per response. Sources: Aurora DSQL user guide,
 * quotas (2026-10); Aurora user guide, Data API limitations.
 *
 * @param source The database to read from.
 * @param target The database to write to.
 */
function getLimits(source: CloneConnection, target: CloneConnection): BatchLimits {
  const limits: BatchLimits[] = [{ rows: 5000, bytes: 2 * 1024 * 1024 }];
  // each transaction also updates one row of progress
  if (target.isDistSql) limits.push({ rows: 2500, bytes: 3 * 1024 * 1024 });
  if (target.isEmbedded) limits.push({ rows: 2000, bytes: 1024 * 1024 });
  if (source.isDataApi || target.isDataApi) limits.push({ rows: 1000, bytes: 300 * 1024 });
  return {
    rows: Math.min(...limits.map(({ rows }) => rows)),
    bytes: Math.min(...limits.map(({ bytes }) => bytes)),
  };
}

/** Restarts the sequences of the target at the current values of the source. */
async function restartSequences(
  source: CloneConnection,
  target: CloneConnection,
  sequences: readonly SequenceSchema[],
): Promise<void> {
  for (const { schema, name, increment, owner } of sequences) {
    const [at] = await source.run(
      `SELECT last_value::text AS last, is_called FROM ${qualify(schema, name)}`,
    );
    const next = BigInt(String(at.last)) + (at.is_called === true ? BigInt(increment) : 0n);
    if (owner?.isIdentity === true) {
      const table = qualify(owner.schema, owner.table);
      await target.run(
        `ALTER TABLE ${table} ALTER COLUMN ${quoteName(owner.column)} RESTART WITH ${next}`,
      );
      continue;
    }
    const [there] = await target.run(
      `SELECT to_regclass(${quoteLiteral(qualify(schema, name))}) IS NOT NULL AS there`,
    );
    // existing tables of the target may use other sequences
    if (there.there === true) {
      await target.run(`ALTER SEQUENCE ${qualify(schema, name)} RESTART WITH ${next}`);
    }
  }
}
