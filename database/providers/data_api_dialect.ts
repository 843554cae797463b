import { Column, is, Param, Placeholder, type Query, SQL, type SQLChunk } from "drizzle-orm";
import type { PgDialect } from "drizzle-orm/pg-core";
import type { PlainSql } from "../session/plain_sql.ts";
import type { WrittenStatement } from "../session/driver.ts";
import { Dialect } from "../session/dialect.ts";
import { createCodecs } from "../session/drizzle_codecs.ts";
import { isDrizzleOne } from "../session/drizzle_version.ts";
import { getCastType } from "./data_api_values.ts";

/** Marks a parameter that the statement casts. */
const CAST = "cast";
const PLAIN = "none";

/** Dialect that writes `cast(:1 as uuid)` where drizzle knows the column of a value. */
export class DataApiDialect extends Dialect {
  override readonly hasOwnText: boolean = true;
  #encoder: unknown;
  /** The parameters of the last statement that drizzle 1.0 cast. */
  #cast: Set<string> = new Set();

  /** Creates the dialect. */
  constructor() {
    super(createCodecs((parameter, column) => {
      this.#cast.add(parameter);
      // a placeholder is already cast
      return parameter.startsWith("cast(")
        ? parameter
        : `cast(${parameter} as ${getCastType(column)})`;
    }));
  }

  /**
   * Records the type of a value. drizzle calls it for each value, right before {@link escapeParam}.
   */
  override prepareTyping = (encoder: unknown): typeof PLAIN => {
    this.#encoder = encoder;
    // drizzle's types allow only its own typings
    return (getCastType(encoder) === undefined ? PLAIN : CAST) as typeof PLAIN;
  };

  override escapeParam = (index: number, value?: unknown): string => {
    const known = is(value, Placeholder) ? undefined : this.#encoder;
    const encoder = is(value, Param) ? value.encoder : known;
    this.#encoder = undefined;
    const type = getCastType(encoder);
    return type === undefined ? `:${index + 1}` : `cast(:${index + 1} as ${type})`;
  };

  override write(statement: PlainSql): WrittenStatement {
    const query = statement.toQuery(this);
    return { text: query.sql, params: query.params, isCast: this.getCasts(query) };
  }

  override sqlToQuery(
    statement: SQL,
    invokeSource?: "indexes",
  ): ReturnType<PgDialect["sqlToQuery"]> {
    bindPlaceholders(statement.queryChunks);
    if (!isDrizzleOne) return super.sqlToQuery(statement, invokeSource);
    this.#cast = new Set();
    const query = super.sqlToQuery(statement, invokeSource);
    const typings = query.params.map((_, at) => this.#cast.has(`:${at + 1}`) ? CAST : PLAIN);
    return { ...query, typings } as typeof query;
  }

  override getCasts({ params, typings = [] }: Query & { typings?: string[] }): readonly boolean[] {
    return params.map((param, at) =>
      is(param, Param) ? getCastType(param.encoder) !== undefined : typings[at] === CAST
    );
  }
}

/**
 * Binds placeholders to the columns they are compared with, which drizzle does not do in
 * `eq(column, placeholder)`.
 */
function bindPlaceholders(chunks: SQLChunk[]): void {
  let column: Column | undefined;
  chunks.forEach((chunk, at) => {
    if (is(chunk, Column)) column = chunk;
    else if (is(chunk, Placeholder) && column !== undefined) chunks[at] = new Param(chunk, column);
    else if (is(chunk, SQL)) bindPlaceholders(chunk.queryChunks);
    else if (Array.isArray(chunk)) bindPlaceholders(chunk);
  });
}
