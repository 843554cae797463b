import { hasSqlState } from "../../errors/driver_error.ts";

/**
 * Checks whether the server rejected a statement because its transaction is too large: SQLSTATE
 * 54000, program_limit_exceeded.
 *
 * @param error The thrown error.
 */
export function isOverLimit(error: unknown): boolean {
  return hasSqlState(error, ["54000"]);
}
