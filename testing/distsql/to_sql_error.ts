import { SqlError } from "./sql_error.ts";
import { SqlSyntaxError } from "./statements.ts";

/** Converts a syntax error; throws every other error again. */
export function toSqlError(error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  if (error instanceof SqlSyntaxError) {
    return new SqlError({
      sqlstate: error.sqlstate,
      message: error.message,
      position: error.position,
    });
  }
  throw error;
}
