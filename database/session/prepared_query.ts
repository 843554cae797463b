import type { Query } from "drizzle-orm";
import { isAppError } from "../../errors/app_error.ts";
import { ENTITY_KIND } from "./drizzle_table.ts";
import type { Row } from "../../sql/session.ts";
import { readCells, toQueryResult, toTextCells } from "./decode_rows.ts";
import type { Statement, StatementResult } from "./driver.ts";
import type { PlaceholderValues } from "./placeholders.ts";
import { mapRow, type NotNullable, type RowMapping } from "./row_mapper.ts";

/** A statement without its values. */
export type StatementTemplate = Omit<Statement, "text" | "params">;

/** Session that runs statements. */
export interface StatementRunner {
  /** Runs a statement. */
  send(statement: Statement): Promise<StatementResult>;
  /** Called with the error of a statement that failed. */
  noteFailure?(error: unknown): void;
  /** Creates the error of a statement that failed. */
  readonly createError: CreateStatementError;
}

/** Creates the error of a statement: drizzle's, whose module this file does not need. */
export type CreateStatementError = (text: string, params: unknown[], cause: Error) => Error;

/**
 * Statement that can be run repeatedly: drizzle's `PgPreparedQuery` in members and kind. It does not
 * extend that class, so that statements of this package need no session of drizzle.
 */
export class PreparedQuery {
  /** The kind of the class for drizzle. */
  static readonly [ENTITY_KIND] = "PgPreparedQuery";
  /** Set by drizzle for joins. */
  joinsNotNullableMap: NotNullable;
  /** Set by drizzle for servers with tokens. */
  authToken: unknown;
  /** The text and the parameters, including placeholders. */
  readonly query: Query;
  readonly #runner: StatementRunner;
  readonly #template: StatementTemplate;
  readonly #mapping: RowMapping;
  readonly #fill: (values: PlaceholderValues) => unknown[];

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
    fill: (values: PlaceholderValues) => unknown[],
  ) {
    this.query = query;
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

  /**
   * Returns the parameters that a call sends.
   *
   * @param placeholderValues A value for each placeholder.
   */
  fill(placeholderValues: PlaceholderValues): unknown[] {
    return this.#fill(placeholderValues);
  }

  /** Returns the text and the parameters. */
  getQuery(): Query {
    return this.query;
  }

  /** Returns a result of {@link execute} unchanged. Called by drizzle. */
  mapResult(response: unknown): unknown {
    return response;
  }

  /** Sets the token. Called by drizzle. */
  setToken(token: unknown): this {
    this.authToken = token;
    return this;
  }

  /** Returns false: rows are objects. Called by drizzle. */
  isResponseInArrayMode(): boolean {
    return false;
  }

  #mapRows(result: StatementResult): unknown {
    const mapping = this.#mapping;
    if (mapping.kind === "raw") return toQueryResult(result);
    if (mapping.kind === "relational") return mapping.mapRows(readCells(result, mapping.isJson));
    const cells = toTextCells(mapping.cells, result.columns);
    return result.rows.map((row) => mapRow(cells, row, this.joinsNotNullableMap));
  }

  async #run<R>(
    placeholderValues: Record<string, unknown>,
    read: (result: StatementResult) => R,
  ): Promise<R> {
    const params = this.#fill(placeholderValues);
    const { sql } = this.query;
    let result: StatementResult;
    try {
      result = await this.#runner.send({ ...this.#template, text: sql, params });
    } catch (error) {
      const failure = toStatementError(this.#runner, error, sql, params);
      this.#runner.noteFailure?.(failure);
      throw failure;
    }
    return read(result);
  }
}

/** Adds the statement to its error. Misuse by the program is not a failure of the statement. */
export function toStatementError(
  { createError }: Pick<StatementRunner, "createError">,
  error: unknown,
  text: string,
  params: unknown[],
): unknown {
  return isAppError(error) ? error : createError(text, params, error as Error);
}
