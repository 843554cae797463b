import { DrizzleQueryError, type Query } from "drizzle-orm";
import { PgPreparedQuery, type PreparedQueryConfig } from "drizzle-orm/pg-core";
import { isAppError } from "../../errors/app_error.ts";
import type { Row } from "../providers/provider.ts";
import { type CellReaders, toQueryResult } from "./decode_rows.ts";
import type { Statement, StatementResult } from "./driver.ts";
import { createPlaceholderFiller, type PlaceholderValues } from "./placeholders.ts";
import type { NotNullable, RowMapper } from "./row_mapper.ts";

/** Mapping of a statement's rows. */
export type RowMapping =
  | { kind: "raw" }
  | { kind: "fields"; cells: CellReaders; rows: RowMapper }
  | { kind: "relational"; cells: CellReaders; mapRows: (rows: unknown[][]) => unknown };

/** A statement without its values. */
export type StatementTemplate = Omit<Statement, "text" | "params">;

/** Session that runs statements. */
export interface StatementRunner {
  /** Runs a statement. */
  send(statement: Statement): Promise<StatementResult>;
}

/** Statement built by drizzle, which can be run repeatedly. */
export class PreparedQuery extends PgPreparedQuery<PreparedQueryConfig> {
  readonly #runner: StatementRunner;
  readonly #template: StatementTemplate;
  readonly #mapping: RowMapping;
  readonly #fill: (values: PlaceholderValues) => unknown[];
  /** Set by drizzle for joins. */
  joinsNotNullableMap: NotNullable;

  /**
   * @param runner Runs the statement.
   * @param query The text and the parameters, including placeholders.
   * @param template Further properties for the driver.
   * @param mapping Mapping of the rows.
   * @param fill Fills the placeholders.
   */
  constructor(
    runner: StatementRunner,
    query: Query,
    template: StatementTemplate,
    mapping: RowMapping,
    fill: (values: PlaceholderValues) => unknown[] = createPlaceholderFiller(query.params),
  ) {
    super(query, undefined, undefined, undefined);
    this.#runner = runner;
    this.#template = template;
    this.#mapping = mapping;
    this.#fill = fill;
  }

  /**
   * Returns this statement for another session of the client, without building it again.
   *
   * @param runner The session.
   */
  bind(runner: StatementRunner): PreparedQuery {
    if (runner === this.#runner) return this;
    const bound = new PreparedQuery(
      runner,
      this.query,
      this.#template,
      this.#mapping,
      this.#fill,
    );
    bound.joinsNotNullableMap = this.joinsNotNullableMap;
    return bound;
  }

  /**
   * Runs the statement.
   *
   * @param placeholderValues A value for each `sql.placeholder`.
   * @returns drizzle's rows, or a `QueryResult` if there are no columns to map.
   */
  execute(placeholderValues: Record<string, unknown> = {}): Promise<unknown> {
    return this.#run(placeholderValues, (result) => this.#mapRows(result));
  }

  /** Runs the statement and returns its rows as objects. */
  all(placeholderValues: Record<string, unknown> = {}): Promise<Row[]> {
    return this.#run(placeholderValues, (result) => toQueryResult(result).rows);
  }

  isResponseInArrayMode(): boolean {
    return false;
  }

  #mapRows(result: StatementResult): unknown {
    const mapping = this.#mapping;
    if (mapping.kind === "raw") return toQueryResult(result);
    const rows = mapping.cells.read(result);
    if (mapping.kind === "relational") return mapping.mapRows(rows);
    return rows.map((row) => mapping.rows.map(row, this.joinsNotNullableMap));
  }

  async #run<R>(
    placeholderValues: Record<string, unknown>,
    read: (result: StatementResult) => R,
  ): Promise<R> {
    const { sql: text } = this.query;
    const params = this.#fill(placeholderValues);
    let result: StatementResult;
    try {
      const { name, isCast, metadata } = this.#template;
      result = await this.#runner.send({ text, params, name, isCast, metadata });
    } catch (error) {
      // misuse by the program is not a failure of the statement
      throw isAppError(error) ? error : new DrizzleQueryError(text, params, error as Error);
    }
    return read(result);
  }
}
