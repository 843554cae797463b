import type { PendingQuery, Sql } from "postgres";
import type { Row } from "./provider.ts";

/** Creates a statement, requests its rows, waits for them, and reads them. */
export type StatementRunner = <R = unknown>(
  start: (sql: Sql) => PendingQuery<Row[]>,
  ask: (query: PendingQuery<Row[]>) => PromiseLike<unknown>,
  read?: (answer: unknown) => R,
) => Promise<R>;
