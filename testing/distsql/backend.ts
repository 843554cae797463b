import { SqlError } from "./sql_error.ts";
import { readTextRow, type WireMessage } from "./wire.ts";
import { queryMessage } from "./wire_extended.ts";

/** What a backend needs to know of the session that uses it. */
export interface BackendOwner {
  /** Messages that bring back the session's state after another one used the same connection. */
  restoreMessages(): Uint8Array[];
  /** How long the session has been waiting for its client inside a transaction, in milliseconds; 0 when it is not. */
  idleInTransactionMs(): number;
  /** Gives up the open transaction because another session needs the database. */
  surrender(): Promise<void>;
}

/** One session of the database behind the server. */
export interface BackendSession {
  /** Identifies the session to `pg_blocking_pids`; 0 where there is one connection only. */
  readonly processId: number;
  /** Waits until the database is this session's; nothing to wait for when it has a connection of its own. */
  enter(): Promise<void>;
  /** Lets others have the database. */
  leave(): void;
  /** Sends one message of the frontend and gives every message of its answer. */
  exchange(message: Uint8Array): Promise<WireMessage[]>;
  /** Asks the database to stop what the session is doing. */
  cancel(): Promise<void>;
  close(): Promise<void>;
}

/** The database behind the server. */
export interface Backend {
  /** Whether sessions run at the same time. */
  readonly isConcurrent: boolean;
  /** The superuser that does what a client may not. */
  readonly superuser: string;
  openSession(owner?: BackendOwner): Promise<BackendSession>;
  close(): Promise<void>;
}

/** Throws the first ErrorResponse of an answer. */
export function throwBackendError(messages: readonly WireMessage[]): void {
  const failed = messages.find((message) => message.type === "E");
  if (failed) throw SqlError.fromBackend(failed);
}

/** Runs SQL by the simple protocol and gives the rows of its last result as text. */
export async function queryRows(
  session: BackendSession,
  sql: string,
): Promise<(string | null)[][]> {
  const messages = await session.exchange(queryMessage(sql));
  throwBackendError(messages);
  return messages.filter((message) => message.type === "D").map((message) =>
    readTextRow(message.payload)
  );
}

/** A SQL literal. */
export function quoteLiteral(text: string): string {
  const escaped = text.replaceAll("'", "''");
  return text.includes("\\") ? ` E'${escaped.replaceAll("\\", "\\\\")}'` : `'${escaped}'`;
}

/** A quoted identifier. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
