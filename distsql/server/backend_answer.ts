import type { ServerContext } from "./server_context.ts";
import { SqlError } from "./sql_error.ts";
import type { Statement } from "./statements.ts";
import type { WireMessage } from "./wire.ts";

/** Throws the error of the database, if its answer has one. */
export function throwFailure(messages: WireMessage[]): WireMessage[] {
  const failed = messages.find((message) => message.type === "E");
  if (failed) throw SqlError.fromBackend(failed);
  return messages;
}

/**
 * Checks whether the database behind the server can read data of the client.
 *
 * @throws {SqlError} If it cannot.
 */
export function checkCopy(statement: Statement, { isConcurrent }: ServerContext): void {
  if (statement.type === "CopyStmt" && statement.node.is_from && !isConcurrent) {
    throw new SqlError("0A000", "COPY FROM STDIN needs a real PostgreSQL behind the stand-in");
  }
}
