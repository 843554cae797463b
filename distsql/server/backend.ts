import { SqlError } from "./sql_error.ts";
import { readTextRow, type WireMessage } from "./wire.ts";
import { queryMessage } from "./wire_extended.ts";

/** Session that uses a backend. */
export interface BackendOwner {
  /**
   * Returns messages that restore the session's state after another session used the connection.
   */
  restoreMessages(): Uint8Array[];
  /**
   * Returns how long the session has waited for its client inside a transaction, in milliseconds; 0
   * if it does not wait.
   */
  idleInTransactionMs(): number;
  /** Rolls back the open transaction because another session needs the database. */
  surrender(): Promise<void>;
}

/** Session of the database behind the server. */
export interface BackendSession {
  /** Process id for `pg_blocking_pids`; 0 with a single connection. */
  readonly processId: number;
  /**
   * Waits for exclusive use of the database; returns immediately if the session has its own
   * connection.
   */
  enter(): Promise<void>;
  /** Releases the database for other sessions. */
  leave(): void;
  /** Sends a frontend message and returns all messages of the answer. */
  exchange(message: Uint8Array): Promise<WireMessage[]>;
  /** Cancels the running statement. */
  cancel(): Promise<void>;
  close(): Promise<void>;
}

/** Database behind the server. */
export interface Backend {
  /** True if sessions run concurrently. */
  readonly isConcurrent: boolean;
  /** Superuser for work that clients may not do. */
  readonly superuser: string;
  openSession(owner?: BackendOwner): Promise<BackendSession>;
  close(): Promise<void>;
}

/** Throws the first ErrorResponse of an answer; returns an answer without one. */
export function throwBackendError(messages: WireMessage[]): WireMessage[] {
  const failed = messages.find((message) => message.type === "E");
  if (failed) throw SqlError.fromBackend(failed);
  return messages;
}

/** Runs SQL with the simple protocol and returns the rows of its last result as text. */
export async function queryRows(
  session: BackendSession,
  sql: string,
): Promise<(string | null)[][]> {
  const messages = throwBackendError(await session.exchange(queryMessage(sql)));
  return messages.filter((message) => message.type === "D").map((message) =>
    readTextRow(message.payload)
  );
}
