import { splitStatements } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { type DeclaredSchema, EMPTY_SCHEMA } from "./declared_schema.ts";
import { foldStatement } from "./fold_statement.ts";

/**
 * Reads what SQL files declare.
 *
 * @param sources The SQL of the files, in order.
 * @returns The schema after the last statement.
 */
export function readDeclaredSchema(sources: readonly string[]): DeclaredSchema {
  let state = EMPTY_SCHEMA;
  for (const sql of sources) {
    for (const { tokens } of splitStatements(sql)) {
      state = foldStatement(state, new StatementReader(tokens));
    }
  }
  return state;
}
