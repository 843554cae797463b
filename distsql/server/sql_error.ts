import { SqlSyntaxError } from "./syntax/statements.ts";
import { errorResponse, frame, readErrorFields, type WireMessage } from "./wire.ts";

/** Error to send to the client. */
export class SqlError extends Error {
  readonly sqlstate: string;
  /** ErrorResponse in wire format. */
  readonly bytes: Uint8Array;

  constructor(
    sqlstate: string,
    message: string,
    bytes: Uint8Array = errorResponse({ sqlstate, message }),
  ) {
    super(message);
    this.name = "SqlError";
    this.sqlstate = sqlstate;
    this.bytes = bytes;
  }

  /** Wraps an ErrorResponse of the database. */
  static fromBackend(message: WireMessage): SqlError {
    const fields = readErrorFields(message.payload);
    const bytes = frame("E", message.payload);
    return new SqlError(fields.get("C") ?? "XX000", fields.get("M") ?? "", bytes);
  }
}

/** Request to close the connection without an answer. */
export class ConnectionCut extends Error {
  constructor() {
    super("connection cut");
    this.name = "ConnectionCut";
  }
}

/** Conflicts of the provider: OC000 on rows, OC001 on the catalog. */
export type ConflictMarker = "OC000" | "OC001";

const CONFLICTS: Record<ConflictMarker, string> = {
  OC000: "change conflicts with another transaction (OC000)",
  OC001: "schema has been updated by another transaction, please retry: (OC001)",
};

/**
 * Creates an error with SQLSTATE 40001 and the provider's text; only the text contains the marker.
 */
export function conflictError(marker: ConflictMarker): SqlError {
  return new SqlError("40001", CONFLICTS[marker]);
}

/** Creates the error for every statement of a failed transaction. */
export function abortedTransactionError(): SqlError {
  return new SqlError(
    "25P02",
    "current transaction is aborted, commands ignored until end of transaction block",
  );
}

/** Converts a syntax error; throws every other error again. */
export function toSqlError(error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  if (!(error instanceof SqlSyntaxError)) throw error;
  const { sqlstate, message, position } = error;
  return new SqlError(sqlstate, message, errorResponse({ sqlstate, message, position }));
}
