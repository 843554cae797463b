import type { PlainSql, SqlValue } from "../database/session/plain_sql.ts";

const statements: Map<string, PlainSql> = new Map();

/**
 * Creates a statement whose text is written once.
 *
 * @param key Identifies the text: few, because each is kept.
 * @param values The parameters, in the order of the text.
 * @param build Builds the statement with these values.
 */
export function cacheStatement(key: string, values: SqlValue[], build: () => PlainSql): PlainSql {
  const known = statements.get(key);
  if (known !== undefined) return known.with(values);
  const statement = build();
  if (statement.params.some((value, at) => value !== values[at])) {
    throw new Error("The values of a cached statement must be in the order of its text");
  }
  statements.set(key, statement);
  return statement;
}
