import { type CodedColumn, encodeColumn } from "./column_codec.ts";

/** A value that every driver sends as a parameter. */
export type SqlValue = string | number | boolean | bigint | null;

/** What encodes a value for the database: a column of drizzle. */
export type ValueEncoder = Pick<CodedColumn, "mapToDriverValue" | "codec" | "dimensions">;

/** The parts of drizzle's dialects that write a statement. */
interface ParameterWriter {
  /** Writes a parameter: `$1` for the index 0 of PostgreSQL. */
  escapeParam(index: number, value: unknown): string;
  /** Returns the type of the next parameter. The dialect of the Data API casts it to that of its column. */
  prepareTyping?(encoder: ValueEncoder): string;
}

type Encoders = readonly (ValueEncoder | undefined)[];

/**
 * A statement, or a part of one, with its parameters. The statements of this package use it instead of
 * drizzle's `SQL`, so that a bundle can contain them without drizzle. drizzle's clients accept it in
 * `execute`: it has the members that they call.
 */
export class PlainSql {
  /** The texts around the parameters: one more than there are parameters. */
  readonly texts: readonly string[];
  /** The parameters. */
  readonly params: SqlValue[];
  /** The columns that have encoded the parameters; `undefined` for those of no column. */
  readonly encoders: Encoders;
  /** Read by the dialect of the Data API. */
  readonly queryChunks: [] = [];
  #text: string | undefined;

  /**
   * @param texts The texts around the parameters.
   * @param params The parameters.
   * @param encoders The columns that have encoded them.
   */
  constructor(texts: readonly string[], params: SqlValue[], encoders: Encoders = []) {
    this.texts = texts;
    this.params = params;
    this.encoders = encoders;
  }

  /** The statement with the parameters of PostgreSQL: `$1`. */
  get text(): string {
    return this.#text ??= this.#write((index) => `$${index + 1}`);
  }

  /**
   * Returns the same statement with other values, without writing its text again.
   *
   * @param params The values, in the order of the text.
   */
  with(params: SqlValue[]): PlainSql {
    const statement = new PlainSql(this.texts, params, this.encoders);
    statement.#text = this.text;
    return statement;
  }

  /** Returns this statement. Called by drizzle. */
  getSQL(): this {
    return this;
  }

  /** Returns the text of a dialect, and the parameters. Called by drizzle. */
  toQuery(
    { escapeParam, prepareTyping }: ParameterWriter,
  ): { sql: string; params: unknown[]; typings: string[] } {
    const { params, encoders } = this;
    const typings: string[] = [];
    const sql = this.#write((index) => {
      const encoder = encoders[index];
      typings.push(encoder === undefined ? "none" : prepareTyping?.(encoder) ?? "none");
      return escapeParam(index, params[index]);
    });
    return { sql, params, typings };
  }

  #write(writeParameter: (index: number) => string): string {
    return this.texts.reduce((text, next, at) => text + writeParameter(at - 1) + next);
  }
}

/**
 * Template of a statement or of a part of one. Values become parameters; nested templates become part
 * of the text.
 */
export function sql(
  strings: readonly string[],
  ...values: readonly (SqlValue | PlainSql)[]
): PlainSql {
  const texts = [strings[0]];
  const params: SqlValue[] = [];
  const encoders: (ValueEncoder | undefined)[] = [];
  values.forEach((value, at) => {
    if (value instanceof PlainSql) {
      texts[texts.length - 1] += value.texts[0];
      // one by one: some ten thousand arguments overflow the stack
      value.params.forEach((param, index) => {
        texts.push(value.texts[index + 1]);
        params.push(param);
        encoders.push(value.encoders[index]);
      });
    } else {
      params.push(value);
      encoders.push(undefined);
      texts.push("");
    }
    texts[texts.length - 1] += strings[at + 1];
  });
  return new PlainSql(texts, params, encoders);
}

/**
 * Creates the parameter of a value for a column.
 *
 * @param value The value; null is not encoded.
 * @param column The column, which encodes the value.
 */
export function bindSql(value: unknown, column: ValueEncoder): PlainSql {
  const encoded = value === null ? null : encodeColumn(column, value);
  return new PlainSql(["", ""], [encoded as SqlValue], [column]);
}

/** Returns a text without parameters, which is not escaped. */
export function rawSql(text: string): PlainSql {
  return sql([text]);
}

/**
 * Joins parts of a statement.
 *
 * @param parts The parts; at least one.
 * @param separator The text between them, such as `, `.
 */
export function joinSql(parts: readonly PlainSql[], separator: string): PlainSql {
  return sql(["", ...parts.slice(1).map(() => separator), ""], ...parts);
}
