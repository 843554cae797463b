import { ConfigurationError } from "../../../errors/http_errors.ts";
import { qualify, quoteText } from "../sql_text.ts";
import type { CloneConnection, Run } from "./connection.ts";
import type { CloneOptions } from "./clone_options.ts";
import type { DdlFile } from "./clone_ddl.ts";
import type { ClonePlan, TableCopy } from "./plan_clone.ts";
import { CLONE_SCHEMA, type SequenceSchema } from "./read_catalog.ts";

/** What a clone began with, as the target keeps it. */
export interface StoredClone {
  readonly source: string;
  readonly options: CloneOptions;
  readonly before: readonly DdlFile[];
  readonly after: readonly DdlFile[];
  readonly sequences: readonly SequenceSchema[];
  readonly copies: readonly TableCopy[];
  readonly warnings: readonly string[];
}

/** How far a table got. */
export interface CopyState {
  /** The key of the last row that is in the target, as texts; `null` for none. */
  readonly mark: readonly string[] | null;
  /** Rows that this clone wrote. */
  readonly rows: number;
  readonly isDone: boolean;
}

const TABLE = qualify(CLONE_SCHEMA, "progress");
const HEADER = "clone";
/** The last row of the plan: with it the plan is whole. */
const VERSION = 1;

/** Rows and bytes of one INSERT, below every provider's limits. */
const MAX_ROWS = 500;
const MAX_BYTES = 512 * 1024;

/** A clone's plan and progress, in a table of the target: what is written with a batch is there exactly when the batch is. */
export class CloneState {
  readonly #target: CloneConnection;

  /** @param target The database that is cloned into. */
  constructor(target: CloneConnection) {
    this.#target = target;
  }

  /** Whether a clone has begun here; a plan that is not whole does not count. */
  async read(): Promise<StoredClone | undefined> {
    const { run } = this.#target;
    const [there] = await run(`SELECT to_regclass(${quoteText(TABLE)}) IS NOT NULL AS there`);
    if (there.there !== true) return undefined;
    const rows = await run(`SELECT item, plan FROM ${TABLE} ORDER BY item`);
    const header = rows.find(({ item }) => item === HEADER);
    if (header === undefined) return undefined;
    const { version, ...rest } = JSON.parse(String(header.plan)) as StoredClone & {
      version: number;
    };
    if (version !== VERSION) {
      throw new ConfigurationError(
        `The clone in ${this.#target.label} was begun by another version of this command: finish it with that version, or ` +
          `begin again in an empty database`,
      );
    }
    const parts = <T>(kind: string): T[] =>
      rows.filter(({ item }) => String(item).startsWith(`${kind} `)).map(({ plan }) =>
        JSON.parse(String(plan)) as T
      );
    return {
      ...rest,
      before: parts("before"),
      after: parts("after"),
      copies: parts("table"),
      sequences: parts("sequence"),
    };
  }

  /** Writes the plan before anything is done. */
  async write(plan: ClonePlan, source: string, options: CloneOptions): Promise<void> {
    const { run } = this.#target;
    await this.#create();
    await this.#deleteAll();
    const number = (at: number) => String(at).padStart(6, "0");
    const items = [
      ...plan.before.map((file, at) => [`before ${number(at)}`, file] as const),
      ...plan.after.map((file, at) => [`after ${number(at)}`, file] as const),
      ...plan.sequences.map((sequence, at) => [`sequence ${number(at)}`, sequence] as const),
      ...plan.copies.map((copy, at) =>
        [`table ${number(at)} ${qualify(copy.schema, copy.name)}`, copy] as const
      ),
    ];
    let values: string[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (values.length === 0) return;
      await run(
        `INSERT INTO ${TABLE} (item, plan) VALUES ${
          values.join(", ")
        } ON CONFLICT (item) DO NOTHING`,
      );
      values = [];
      bytes = 0;
    };
    for (const [item, part] of items) {
      const value = `(${quoteText(item)}, ${quoteText(JSON.stringify(part))})`;
      if (values.length >= MAX_ROWS || bytes + value.length > MAX_BYTES) await flush();
      values.push(value);
      bytes += value.length;
    }
    await flush();
    const { warnings } = plan;
    const header = JSON.stringify({ version: VERSION, source, options, warnings });
    await run(
      `INSERT INTO ${TABLE} (item, plan) VALUES (${quoteText(HEADER)}, ${
        quoteText(header)
      }) ON CONFLICT (item) DO NOTHING`,
    );
  }

  async #create(): Promise<void> {
    const { run } = this.#target;
    await run(`CREATE SCHEMA IF NOT EXISTS "${CLONE_SCHEMA}"`);
    await run(
      `CREATE TABLE IF NOT EXISTS ${TABLE} (item text PRIMARY KEY, plan text NOT NULL, mark text, ` +
        `copied bigint NOT NULL DEFAULT 0, is_done boolean NOT NULL DEFAULT false)`,
    );
  }

  /** What an earlier try wrote of a plan that never became whole. */
  async #deleteAll(): Promise<void> {
    const { run } = this.#target;
    const some = `SELECT item FROM ${TABLE} LIMIT ${MAX_ROWS}`;
    for (;;) {
      const gone = await run(`DELETE FROM ${TABLE} WHERE item IN (${some}) RETURNING item`);
      if (gone.length < MAX_ROWS) return;
    }
  }

  /** The item of a table. */
  async item(copy: TableCopy): Promise<string> {
    const name = quoteText(
      `% ${qualify(copy.schema, copy.name)}`.replaceAll("\\", "\\\\").replaceAll("_", "\\_"),
    );
    const [row] = await this.#target.run(
      `SELECT item FROM ${TABLE} WHERE item LIKE 'table %' AND item LIKE ${name}`,
    );
    return String(row.item);
  }

  /** How far a table got. */
  async readCopy(item: string): Promise<CopyState> {
    const [row] = await this.#target.run(
      `SELECT mark, copied::text AS copied, is_done FROM ${TABLE} WHERE item = ${quoteText(item)}`,
    );
    return {
      mark: row.mark === null ? null : JSON.parse(String(row.mark)),
      rows: Number(row.copied),
      isDone: row.is_done === true,
    };
  }

  /**
   * Moves a table's mark, within the transaction that writes the rows.
   *
   * @returns Whether the mark was where it was thought to be; otherwise the rows must not be written.
   */
  async move(run: Run, item: string, from: CopyState, to: CopyState): Promise<boolean> {
    const text = (mark: CopyState["mark"]) =>
      mark === null ? "NULL" : quoteText(JSON.stringify(mark));
    const before = from.mark === null ? "mark IS NULL" : `mark = ${text(from.mark)}`;
    const moved = await run(
      `UPDATE ${TABLE} SET mark = ${text(to.mark)}, copied = ${to.rows}, is_done = ${to.isDone} ` +
        `WHERE item = ${quoteText(item)} AND NOT is_done AND ${before} RETURNING item`,
    );
    return moved.length === 1;
  }

  /** Takes everything of the clone's own out of the target. */
  async drop(): Promise<void> {
    const { run } = this.#target;
    const tables = await run(
      `SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace ` +
        `WHERE n.nspname = '${CLONE_SCHEMA}' AND c.relkind = 'r' ORDER BY c.relname = 'progress', 1`,
    );
    for (const { name } of tables) {
      await run(`DROP TABLE IF EXISTS ${qualify(CLONE_SCHEMA, String(name))}`);
    }
    await run(`DROP SCHEMA IF EXISTS "${CLONE_SCHEMA}"`);
  }
}
