import type { ConnectionInvalidationReason } from "./connection_events.ts";
import type { DrizzleClient } from "../session/drizzle_client.ts";
import type { SqlSession } from "../../sql/session.ts";
import type { StatementLimit } from "./statement_limit.ts";

/** Dedicated server session, separate from the clients. */
export interface DedicatedSession extends SqlSession {
  /** Runs work in a transaction. */
  transaction<T>(fn: (tx: SqlSession) => Promise<T>): Promise<T>;
  /**
   * True if a lock that the session takes is held until the session ends. False behind a pooler and
   * on the Data API, where each statement may use another server session.
   */
  readonly keepsSession: boolean;
  /**
   * True behind a pooler in transaction mode. What a statement sets for the rest of its session then
   * reaches other clients.
   */
  readonly isPooled?: boolean;
  /**
   * Sets the maximum duration of the following statements; initially
   * `DatabaseConfig.statementTimeoutSeconds`. Missing if the server has its own limit or runs in
   * this process.
   *
   * @param ms Milliseconds.
   */
  limitStatements?(ms: number): void;
  /** Ends the session. */
  close(): Promise<void>;
}

/** Open connection or connection pool. */
export interface Connection {
  /**
   * Checks that the database answers, and closes the connection if not. A session needs no check:
   * its first statement fails instead.
   *
   * @throws The error of the server or the network.
   */
  check(): Promise<void>;
  /**
   * Creates a drizzle client on this connection. The limit, used by table recreation, applies to
   * direct connections.
   */
  createClient(
    schema: Record<string, unknown> | undefined,
    limit?: StatementLimit,
  ): DrizzleClient;
  /** Opens a dedicated session. */
  openSession(): Promise<DedicatedSession>;
  /** Closes the connection, so that the process can exit. */
  close(): Promise<void>;
}

/** Callback of a provider for connections that end. */
export type Invalidate = (reason: ConnectionInvalidationReason, error?: unknown) => void;
