import { DrizzleQueryError, fillPlaceholders, type Query } from "drizzle-orm";
import {
  type PgColumn,
  PgPreparedQuery,
  type PreparedQueryConfig,
  type SelectedFieldsOrdered,
} from "drizzle-orm/pg-core";
import * as drizzleUtils from "drizzle-orm/utils";
import { isAppError } from "../../errors/app_error.ts";
import type { Row } from "../providers/provider.ts";
import { type SelectedField, withSafeDecoder } from "./column_decoder.ts";
import { CellReaders, toQueryResult } from "./decode_rows.ts";
import type { Statement, StatementResult } from "./driver.ts";

/** All of drizzle's drivers map rows with this function; its types omit it. */
const { mapResultRow } = drizzleUtils as unknown as {
  mapResultRow(
    fields: SelectedFieldsOrdered,
    row: unknown[],
    joinsNotNullableMap: Record<string, boolean> | undefined,
  ): unknown;
};

/** Mapping of a statement's rows. */
export type RowMapping =
  | { kind: "raw" }
  | { kind: "fields"; fields: SelectedFieldsOrdered; selected: readonly SelectedField[] }
  | {
    kind: "relational";
    mapRows: (rows: unknown[][]) => unknown;
    selected: readonly SelectedField[];
  };

/**
 * Creates the mapping of rows to a builder's fields.
 *
 * @param fields The fields that drizzle selected.
 * @returns The mapping.
 */
export function mapToFields(fields: SelectedFieldsOrdered): RowMapping {
  const selected = fields.map(({ field }) => withSafeDecoder(field as SelectedField));
  const isSame = selected.every((field, at) => field === fields[at].field);
  const safe = isSame
    ? fields
    : fields.map(({ path }, at) => ({ path, field: selected[at] as PgColumn }));
  return { kind: "fields", fields: safe, selected };
}

/** A statement without its values. */
export type StatementTemplate = Omit<Statement, "text" | "params">;

/** Statement built by drizzle, which can be run repeatedly. */
export class PreparedQuery extends PgPreparedQuery<PreparedQueryConfig> {
  readonly #run: (statement: Statement) => Promise<StatementResult>;
  readonly #template: StatementTemplate;
  readonly #mapping: RowMapping;
  readonly #cells: CellReaders | undefined;
  /** Set by drizzle for joins. */
  joinsNotNullableMap: Record<string, boolean> | undefined;

  /**
   * @param run Runs the statement.
   * @param query The text and the parameters, including placeholders.
   * @param template Further properties for the driver.
   * @param mapping Mapping of the rows.
   */
  constructor(
    run: (statement: Statement) => Promise<StatementResult>,
    query: Query,
    template: StatementTemplate,
    mapping: RowMapping,
  ) {
    super(query, undefined, undefined, undefined);
    this.#run = run;
    this.#template = template;
    this.#mapping = mapping;
    this.#cells = mapping.kind === "raw" ? undefined : new CellReaders(mapping.selected);
  }

  /**
   * Runs the statement.
   *
   * @param placeholderValues A value for each `sql.placeholder`.
   * @returns drizzle's rows, or a `QueryResult` if there are no columns to map.
   */
  async execute(placeholderValues: Record<string, unknown> = {}): Promise<unknown> {
    const result = await this.#send(placeholderValues);
    const mapping = this.#mapping;
    if (mapping.kind === "raw") return toQueryResult(result);
    const rows = this.#cells!.read(result);
    if (mapping.kind === "relational") return mapping.mapRows(rows);
    return rows.map((row) => mapResultRow(mapping.fields, row, this.joinsNotNullableMap));
  }

  /** Runs the statement and returns its rows as objects. */
  async all(placeholderValues: Record<string, unknown> = {}): Promise<Row[]> {
    return toQueryResult(await this.#send(placeholderValues)).rows;
  }

  isResponseInArrayMode(): boolean {
    return false;
  }

  async #send(placeholderValues: Record<string, unknown>): Promise<StatementResult> {
    const { sql: text, params: given } = this.query;
    const params = fillPlaceholders(given, placeholderValues);
    try {
      const { name, isCast, metadata } = this.#template;
      return await this.#run({ text, params, name, isCast, metadata });
    } catch (error) {
      // misuse by the program is not a failure of the statement
      throw isAppError(error) ? error : new DrizzleQueryError(text, params, error as Error);
    }
  }
}
