import { SqlError } from "./sql_error.ts";
import { SqlSyntaxError } from "./statements.ts";
import { errorResponse } from "./wire.ts";

/** Converts a syntax error; throws every other error again. */
export function toSqlError(error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  if (!(error instanceof SqlSyntaxError)) throw error;
  const { sqlstate, message, position } = error;
  return new SqlError(sqlstate, message, errorResponse({ sqlstate, message, position }));
}
