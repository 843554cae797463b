import type { PendingQuery, Sql } from "postgres";
import type { Row } from "./provider.ts";

/** Creates a statement, requests its rows, and waits for them. */
export type StatementRunner = (
  start: (sql: Sql) => PendingQuery<Row[]>,
  ask: (query: PendingQuery<Row[]>) => PromiseLike<unknown>,
) => Promise<unknown>;
