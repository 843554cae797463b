import type { RowList } from "postgres";
import type { PoolerMode } from "../config/config.ts";
import type { StatementRunner } from "./statement_runner.ts";
import type { Row } from "../../sql/session.ts";

/**
 * Finds out whether the server must be treated as shared with other clients between two
 * transactions.
 *
 * A server tells each connection its process id when it starts. A pooler sends another number,
 * because the connection has no server process yet. So a connection whose process has another id
 * goes through a pooler. Its mode cannot be seen: only transaction mode loses sessions, but what
 * works there works in session mode too.
 *
 * @param run Runs a statement.
 * @param configured The configured mode; asks the server if it is `undefined`.
 * @returns True for a pooler that may be in transaction mode.
 */
export async function isPooled(
  run: StatementRunner,
  configured?: PoolerMode,
): Promise<boolean> {
  const answer = await run((sql) => sql.unsafe("select pg_backend_pid() as pid")) as RowList<Row[]>;
  if (configured !== undefined) return configured === "transaction";
  return Number(answer[0].pid) !== answer.state.pid;
}
