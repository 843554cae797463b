import {
  Column,
  DrizzleQueryError,
  fillPlaceholders,
  is,
  Param,
  Placeholder,
  type Query,
  SQL,
  type SQLChunk,
  type TablesRelationalConfig,
} from "drizzle-orm";
import {
  PgDialect,
  PgPreparedQuery,
  type PgQueryResultHKT,
  PgSession,
  PgTransaction,
  type PgTransactionConfig,
  type PreparedQueryConfig,
  type SelectedFieldsOrdered,
} from "drizzle-orm/pg-core";
import { sql } from "drizzle-orm";
import * as drizzleUtils from "drizzle-orm/utils";
import { castTypeOf, type DataApiClient, fromField, readJson, toParameter } from "./data_api_values.ts";
import type { Row } from "./provider.ts";

/** Marks a parameter that the statement casts. */
const CAST = "cast";
const PLAIN = "none";

type Relational = {
  fullSchema: Record<string, unknown>;
  schema: TablesRelationalConfig;
  tableNamesMap: Record<string, string>;
} | undefined;

/** drizzle's drivers all map their rows with it; its types leave it out. */
const { mapResultRow } = drizzleUtils as unknown as {
  mapResultRow(
    fields: SelectedFieldsOrdered,
    row: unknown[],
    joinsNotNullableMap: Record<string, boolean> | undefined,
  ): unknown;
};

/** Writes `cast(:1 as uuid)` where drizzle knows the column that a value belongs to. */
export class DataApiDialect extends PgDialect {
  #encoder: unknown;

  /** Called by drizzle for each value, right before {@link escapeParam}. */
  override prepareTyping = (encoder: unknown): typeof PLAIN => {
    this.#encoder = encoder;
    // drizzle's types name its own typings alone
    return (castTypeOf(encoder) === undefined ? PLAIN : CAST) as typeof PLAIN;
  };

  override escapeParam = (index: number, value?: unknown): string => {
    const encoder = is(value, Param) ? value.encoder : is(value, Placeholder) ? undefined : this.#encoder;
    this.#encoder = undefined;
    const type = castTypeOf(encoder);
    return type === undefined ? `:${index + 1}` : `cast(:${index + 1} as ${type})`;
  };

  override sqlToQuery(statement: SQL, invokeSource?: "indexes"): ReturnType<PgDialect["sqlToQuery"]> {
    bindPlaceholders(statement.queryChunks);
    return super.sqlToQuery(statement, invokeSource);
  }
}

/** In `eq(column, placeholder)` drizzle does not tell the placeholder whose value it stands for. */
function bindPlaceholders(chunks: SQLChunk[]): void {
  let column: Column | undefined;
  chunks.forEach((chunk, at) => {
    if (is(chunk, Column)) column = chunk;
    else if (is(chunk, Placeholder) && column !== undefined) chunks[at] = new Param(chunk, column);
    else if (is(chunk, SQL)) bindPlaceholders(chunk.queryChunks);
    else if (Array.isArray(chunk)) bindPlaceholders(chunk);
  });
}

class DataApiQuery extends PgPreparedQuery<PreparedQueryConfig> {
  readonly #session: DataApiSession;
  readonly #text: string;
  readonly #params: unknown[];
  readonly #typings: readonly string[];
  readonly #fields: SelectedFieldsOrdered | undefined;
  readonly #mapRows: ((rows: unknown[][]) => unknown) | undefined;
  /** Set by drizzle for joins. */
  joinsNotNullableMap: Record<string, boolean> | undefined;

  constructor(
    session: DataApiSession,
    query: Query & { typings?: string[] },
    fields: SelectedFieldsOrdered | undefined,
    mapRows: ((rows: unknown[][]) => unknown) | undefined,
  ) {
    super(query, undefined, undefined, undefined);
    this.#session = session;
    this.#text = query.sql;
    this.#params = query.params;
    this.#typings = query.typings ?? [];
    this.#fields = fields;
    this.#mapRows = mapRows;
  }

  async execute(placeholderValues: Record<string, unknown> = {}): Promise<unknown> {
    const fields = this.#fields;
    const params = fillPlaceholders(this.#params, placeholderValues);
    const isCast = this.#params.map((param, at) =>
      is(param, Param) ? castTypeOf(param.encoder) !== undefined : this.#typings[at] === CAST
    );
    const { rows, values } = await this.#session.run(this.#text, params, isCast);
    if (this.#mapRows !== undefined) return this.#mapRows(values);
    if (fields === undefined) return { rows, rowCount: rows.length };
    return values.map((row) => mapResultRow(fields, row, this.joinsNotNullableMap));
  }

  async all(placeholderValues?: Record<string, unknown>): Promise<unknown> {
    const result = await this.execute(placeholderValues);
    return Array.isArray(result) ? result : (result as { rows: Row[] }).rows;
  }

  isResponseInArrayMode(): boolean {
    return false;
  }
}

/** drizzle's session over the Data API. */
export class DataApiSession extends PgSession<PgQueryResultHKT, Record<string, unknown>, TablesRelationalConfig> {
  readonly #api: DataApiClient;
  readonly #relational: Relational;
  readonly #transactionId: string | undefined;

  /**
   * @param api The requests.
   * @param dialect Writes the SQL.
   * @param relational What `db.query` knows.
   * @param transactionId The transaction that all statements belong to.
   */
  constructor(api: DataApiClient, dialect: DataApiDialect, relational: Relational, transactionId: string | undefined) {
    super(dialect);
    this.#api = api;
    this.#relational = relational;
    this.#transactionId = transactionId;
  }

  /** Runs a statement and gives its rows as objects and as lists. */
  async run(
    text: string,
    params: readonly unknown[],
    isCast: readonly boolean[] = [],
  ): Promise<{ rows: Row[]; values: unknown[][] }> {
    try {
      const { records = [], columnMetadata = [] } = await this.#api.execute({
        sql: text,
        parameters: params.map((param, at) => toParameter(String(at + 1), param, isCast[at] === true)),
        transactionId: this.#transactionId,
      });
      const values = records.map((record) => record.map((field, at) => fromField(field, columnMetadata[at]?.typeName)));
      const rows = values.map((list) =>
        Object.fromEntries(list.map((value, at) => [
          columnMetadata[at]?.label ?? columnMetadata[at]?.name ?? String(at),
          readJson(value, columnMetadata[at]?.typeName),
        ]))
      );
      return { rows, values };
    } catch (error) {
      throw new DrizzleQueryError(text, [...params], error as Error);
    }
  }

  prepareQuery<T extends PreparedQueryConfig = PreparedQueryConfig>(
    query: Query,
    fields: SelectedFieldsOrdered | undefined,
    _name: string | undefined,
    _isResponseInArrayMode: boolean,
    customResultMapper?: (rows: unknown[][]) => T["execute"],
  ): PgPreparedQuery<T> {
    return new DataApiQuery(this, query, fields, customResultMapper) as PgPreparedQuery<T>;
  }

  override async count(query: SQL): Promise<number> {
    const { rows } = await this.execute<{ rows: Row[] }>(query);
    return Number(rows[0].count);
  }

  async transaction<T>(
    transaction: (tx: DataApiTransaction) => Promise<T>,
    config?: PgTransactionConfig,
  ): Promise<T> {
    const transactionId = await this.#api.begin();
    const dialect = this.dialect as DataApiDialect;
    const session = new DataApiSession(this.#api, dialect, this.#relational, transactionId);
    const tx = new DataApiTransaction(dialect, session, this.#relational);
    let result: T;
    try {
      if (config !== undefined) await tx.setTransaction(config);
      result = await transaction(tx);
    } catch (error) {
      // the first error matters; a transaction that is not ended here ends by the provider's time limit
      await this.#api.rollback(transactionId).catch(() => {});
      throw error;
    }
    await this.#api.commit(transactionId);
    return result;
  }
}

class DataApiTransaction extends PgTransaction<PgQueryResultHKT, Record<string, unknown>, TablesRelationalConfig> {
  override async transaction<T>(fn: (tx: DataApiTransaction) => Promise<T>): Promise<T> {
    const name = sql.identifier(`sp${this.nestedIndex + 1}`);
    const session = this._.session as unknown as DataApiSession;
    const inner = new DataApiTransaction(
      new DataApiDialect(),
      session,
      this.schema as Relational,
      this.nestedIndex + 1,
    );
    await inner.execute(sql`savepoint ${name}`);
    let result: T;
    try {
      result = await fn(inner);
    } catch (error) {
      await inner.execute(sql`rollback to savepoint ${name}`);
      throw error;
    }
    await inner.execute(sql`release savepoint ${name}`);
    return result;
  }
}
