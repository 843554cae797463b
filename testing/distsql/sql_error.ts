import { errorResponse, frame, readErrorFields, type WireError, type WireMessage } from "./wire.ts";

/** What a client is answered instead of a result. */
export class SqlError extends Error {
  readonly sqlstate: string;
  /** The ErrorResponse as it goes over the wire. */
  readonly bytes: Uint8Array;

  constructor(error: WireError, bytes: Uint8Array = errorResponse(error)) {
    super(error.message);
    this.name = "SqlError";
    this.sqlstate = error.sqlstate;
    this.bytes = bytes;
  }

  /** Keeps the database's own ErrorResponse, whole. */
  static fromBackend(message: WireMessage): SqlError {
    const fields = readErrorFields(message.payload);
    return new SqlError(
      { sqlstate: fields.get("C") ?? "XX000", message: fields.get("M") ?? "" },
      frame("E", message.payload),
    );
  }
}

/** The connection is to be cut without a word. */
export class ConnectionCut extends Error {
  constructor() {
    super("connection cut");
    this.name = "ConnectionCut";
  }
}

/** The two conflicts of the provider: OC000 on rows, OC001 on the catalog. */
export type ConflictMarker = "OC000" | "OC001";

const CONFLICTS: Record<ConflictMarker, string> = {
  OC000: "change conflicts with another transaction (OC000)",
  OC001: "schema has been updated by another transaction, please retry: (OC001)",
};

/** SQLSTATE 40001 with the provider's text; the marker is in the text alone. */
export function conflictError(marker: ConflictMarker): SqlError {
  return new SqlError({ sqlstate: "40001", message: CONFLICTS[marker] });
}

/** The answer to every statement of a transaction that has failed. */
export function abortedTransactionError(): SqlError {
  return new SqlError({
    sqlstate: "25P02",
    message: "current transaction is aborted, commands ignored until end of transaction block",
  });
}
