import { ConfigurationError } from "../../../errors/http_errors.ts";
import { qualify, quoteLiteral } from "../../../sql/quote.ts";
import type { CloneConnection, Run } from "./connection.ts";
import type { CloneOptions } from "../../config/clone.ts";
import type { DdlFile } from "./clone_ddl.ts";
import type { TableCopy } from "./plan_copy.ts";
import { CLONE_SCHEMA, type SequenceSchema } from "./read_catalog.ts";

/** The stored plan of a clone. */
export interface StoredClone {
  readonly source: string;
  readonly options: CloneOptions;
  readonly before: readonly DdlFile[];
  readonly after: readonly DdlFile[];
  readonly sequences: readonly SequenceSchema[];
  readonly copies: readonly TableCopy[];
  readonly warnings: readonly string[];
}

/** The progress of a table. */
export interface CopyState {
  /** The key of the last copied row as text; `null` if no row is copied. */
  readonly mark: readonly string[] | null;
  /** Number of rows that this clone wrote. */
  readonly rows: number;
  readonly isDone: boolean;
}

const TABLE = qualify(CLONE_SCHEMA, "progress");
const HEADER = "clone";
/**
 * Version of the stored format. The header row is written last, which marks the plan as complete.
 */
const VERSION = 2;

/** Rows of an INSERT or DELETE, and characters of a part of the plan: below the limits of all providers. */
const MAX_ROWS = 500;
const PLAN_PART = /[^]{1,100000}/gu;

/** Returns the key of a table's row. */
function getItem({ schema, name }: TableCopy): string {
  return `table ${qualify(schema, name)}`;
}

/**
 * The plan and progress of a clone, stored in a table of the target. Progress is updated in the
 * transaction that writes the rows.
 */
export class CloneState {
  readonly #target: CloneConnection;

  /** @param target The target of the clone. */
  constructor(target: CloneConnection) {
    this.#target = target;
  }

  /** Reads the plan of an interrupted clone; ignores an incomplete plan. */
  async read(): Promise<StoredClone | undefined> {
    const { run, label } = this.#target;
    const [there] = await run(`SELECT to_regclass(${quoteLiteral(TABLE)}) IS NOT NULL AS there`);
    if (there.there !== true) return undefined;
    const [header] = await run(
      `SELECT plan FROM ${TABLE} WHERE item = ${quoteLiteral(HEADER)}`,
    );
    if (header === undefined) return undefined;
    if (header.plan !== String(VERSION)) {
      throw new ConfigurationError(
        `The clone in ${label} was started by another version of this command: finish it with ` +
          "that version, or start again with an empty database",
      );
    }
    const parts = await run(`SELECT plan FROM ${TABLE} WHERE item LIKE 'plan %' ORDER BY item`);
    return JSON.parse(parts.map(({ plan }) => plan).join(""));
  }

  /** Writes the plan before anything else is changed. */
  async write(clone: StoredClone): Promise<void> {
    await this.#create();
    await this.#deleteAll();
    const parts = JSON.stringify(clone).match(PLAN_PART) ?? [];
    for (const [at, part] of parts.entries()) {
      await this.#insert([[`plan ${String(at).padStart(6, "0")}`, part]]);
    }
    for (let at = 0; at < clone.copies.length; at += MAX_ROWS) {
      const copies = clone.copies.slice(at, at + MAX_ROWS);
      await this.#insert(copies.map((copy) => [getItem(copy), ""]));
    }
    await this.#insert([[HEADER, String(VERSION)]]);
  }

  async #insert(rows: readonly (readonly [item: string, plan: string])[]): Promise<void> {
    const values = rows.map((row) => `(${row.map(quoteLiteral).join(", ")})`).join(", ");
    await this.#target.run(
      `INSERT INTO ${TABLE} (item, plan) VALUES ${values} ON CONFLICT (item) DO NOTHING`,
    );
  }

  async #create(): Promise<void> {
    const { run } = this.#target;
    await run(`CREATE SCHEMA IF NOT EXISTS "${CLONE_SCHEMA}"`);
    await run(
      `CREATE TABLE IF NOT EXISTS ${TABLE} (item text ` +
        `PRIMARY KEY, plan text NOT NULL, mark text, ` +
        `copied bigint NOT NULL DEFAULT 0, is_done boolean NOT NULL DEFAULT false)`,
    );
  }

  /** Deletes an incomplete plan of an earlier run. */
  async #deleteAll(): Promise<void> {
    const { run } = this.#target;
    const some = `SELECT item FROM ${TABLE} LIMIT ${MAX_ROWS}`;
    for (;;) {
      const gone = await run(`DELETE FROM ${TABLE} WHERE item IN (${some}) RETURNING item`);
      if (gone.length < MAX_ROWS) return;
    }
  }

  /** Reads the progress of a table. */
  async readCopy(copy: TableCopy): Promise<CopyState> {
    const [row] = await this.#target.run(
      `SELECT mark, copied::text AS copied, is_done FROM ${TABLE} WHERE item = ${
        quoteLiteral(getItem(copy))
      }`,
    );
    return {
      mark: row.mark === null ? null : JSON.parse(String(row.mark)),
      rows: Number(row.copied),
      isDone: row.is_done === true,
    };
  }

  /**
   * Advances the mark of a table in the transaction that writes the rows.
   *
   * @returns False if the mark has changed; the rows must not be written then.
   */
  async move(run: Run, copy: TableCopy, from: CopyState, to: CopyState): Promise<boolean> {
    const text = (mark: CopyState["mark"]) =>
      mark === null ? "NULL" : quoteLiteral(JSON.stringify(mark));
    const before = from.mark === null ? "mark IS NULL" : `mark = ${text(from.mark)}`;
    const moved = await run(
      `UPDATE ${TABLE} SET mark = ${text(to.mark)}, copied = ${to.rows}, is_done = ${to.isDone} ` +
        `WHERE item = ${quoteLiteral(getItem(copy))} AND NOT is_done AND ${before} RETURNING item`,
    );
    return moved.length === 1;
  }

  /** Drops the tables and the schema of the clone. */
  async drop(): Promise<void> {
    const { run } = this.#target;
    const tables = await run(
      `SELECT c.relname::text AS name FROM pg_class c JOIN ` +
        `pg_namespace n ON n.oid = c.relnamespace ` +
        `WHERE n.nspname = '${CLONE_SCHEMA}' AND c.relkind = ` +
        `'r' ORDER BY c.relname = 'progress', 1`,
    );
    for (const { name } of tables) {
      await run(`DROP TABLE IF EXISTS ${qualify(CLONE_SCHEMA, String(name))}`);
    }
    await run(`DROP SCHEMA IF EXISTS "${CLONE_SCHEMA}"`);
  }
}
