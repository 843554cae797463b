import {
  definePrecompiledStatement as define,
  type PrecompiledStatement,
} from "../queries/precompiled_statement.ts";
import { loadDrizzle } from "./load_drizzle.ts";

/**
 * Creates the replacement of a chain of drizzle's builders in a bundle without drizzle.
 *
 * @param statement The statement.
 * @param key The key of the original chain in the second file. It builds the statement for other
 * clients, and for servers with a text of their own.
 * @returns Returns the statement for a client.
 */
export function definePrecompiledStatement(
  statement: PrecompiledStatement,
  key: string,
): (db: object) => object {
  const getStatement = define(statement);
  return (db) => getStatement(db, () => loadDrizzle().statements[key](db));
}
