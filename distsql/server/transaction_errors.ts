import type { DistSqlFault } from "./faults.ts";
import { ConnectionCut, SqlError } from "./sql_error.ts";

/** Creates the error for a transaction that exceeds a limit. */
export function limitError(message: string): SqlError {
  return new SqlError("54000", message);
}

/** Creates the error for DDL and DML in one transaction. */
export function mixedError(): SqlError {
  return new SqlError("0A000", "ddl and dml are not supported in the same transaction");
}

/** Creates the error for a second DDL statement in a transaction. */
export function repeatedDdlError(): SqlError {
  return new SqlError("0A000", "multiple ddl statements not supported in a transaction");
}

/** Creates the error of an injected fault. */
export function faultError(fault: DistSqlFault | undefined): Error {
  if (fault?.startsWith("cut")) return new ConnectionCut();
  return new SqlError("XX000", "server unavailable");
}
