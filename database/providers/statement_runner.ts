import type { Sql } from "postgres";

/** Creates a statement, which is sent when it is awaited, and reads its answer. */
export type StatementRunner = <R = unknown>(
  start: (sql: Sql) => PromiseLike<unknown>,
  read?: (answer: unknown) => R,
) => Promise<R>;
