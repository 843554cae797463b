import type { PgDatabase } from "drizzle-orm/pg-core";
import type { ConnectionInvalidationReason } from "../connection_events.ts";
import type { QueryResultHKT } from "../session/query_result.ts";
import type { StatementLimit } from "./statement_limit.ts";

/** drizzle's PostgreSQL client, whichever driver works below it. */
export type DrizzleClient<TSchema extends Record<string, unknown> = Record<string, unknown>> =
  PgDatabase<
    QueryResultHKT,
    TSchema
  >;

/** One row of a statement that is not written with drizzle. */
export type Row = Record<string, unknown>;

/** Runs SQL texts on one server session; for migrations, whose statements drizzle does not build. */
export interface SqlSession {
  /**
   * Runs one statement.
   *
   * @param text One statement, with `$1` for the first parameter.
   * @param params Texts, numbers, booleans and nulls.
   * @returns Its rows.
   */
  query(text: string, params?: readonly (string | number | boolean | null)[]): Promise<Row[]>;
  /**
   * Runs several statements in as few round trips as the protocol has; outside of a transaction they are one.
   *
   * @param statements The statements, without parameters.
   */
  script(statements: readonly string[]): Promise<void>;
}

/** A server session of its own, beside the clients. */
export interface DedicatedSession extends SqlSession {
  /** Runs work in a transaction. */
  transaction<T>(fn: (tx: SqlSession) => Promise<T>): Promise<T>;
  /**
   * Whether a lock that the session takes is held until the session ends: not so where each statement may meet
   * another server session, as behind a pooler and on the Data API.
   */
  readonly keepsSession: boolean;
  /**
   * Sets how long each statement may take from now on; `DatabaseConfig.statementTimeoutSeconds` until then. Missing where
   * the server has a limit of its own, or is in this process.
   *
   * @param ms Milliseconds.
   */
  limitStatements?(ms: number): void;
  /** Ends the session. */
  close(): Promise<void>;
}

/** An open connection, or pool of them. */
export interface Connection {
  /**
   * Makes sure that it works, and closes it when it does not. A session does without: its first statement tells.
   *
   * @throws What the server or the network said.
   */
  check(): Promise<void>;
  /** A drizzle client on this connection. A limit of its own, for making tables again, counts for direct connections. */
  createClient(
    schema: Record<string, unknown> | undefined,
    limit?: StatementLimit,
  ): Promise<DrizzleClient>;
  /** A session of its own. */
  openSession(): Promise<DedicatedSession>;
  /** Ends everything; nothing keeps the process alive after it. */
  close(): Promise<void>;
}

/** What a provider is handed to tell that a connection ended. */
export type Invalidate = (reason: ConnectionInvalidationReason, error?: unknown) => void;
