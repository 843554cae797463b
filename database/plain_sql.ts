/** A value that every driver sends as a parameter. */
export type SqlValue = string | number | boolean | bigint | null;

/** The parts of drizzle's dialects that write a statement. */
interface ParameterWriter {
  /** Writes a parameter: `$1` for the index 0 of PostgreSQL. */
  escapeParam(index: number, value: unknown): string;
}

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
  /** Read by the dialect of the Data API. */
  readonly queryChunks: [] = [];
  #text: string | undefined;

  /**
   * @param texts The texts around the parameters.
   * @param params The parameters.
   */
  constructor(texts: readonly string[], params: SqlValue[]) {
    this.texts = texts;
    this.params = params;
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
    const statement = new PlainSql(this.texts, params);
    statement.#text = this.text;
    return statement;
  }

  /** Returns this statement. Called by drizzle. */
  getSQL(): this {
    return this;
  }

  /** Returns the text of a dialect, and the parameters. Called by drizzle. */
  toQuery({ escapeParam }: ParameterWriter): { sql: string; params: unknown[] } {
    const { params } = this;
    return { sql: this.#write((index) => escapeParam(index, params[index])), params };
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
  values.forEach((value, at) => {
    if (value instanceof PlainSql) {
      texts[texts.length - 1] += value.texts[0];
      texts.push(...value.texts.slice(1));
      params.push(...value.params);
    } else {
      params.push(value);
      texts.push("");
    }
    texts[texts.length - 1] += strings[at + 1];
  });
  return new PlainSql(texts, params);
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
