import { closeDrizzleClient } from "../../database/providers/client.ts";
import { DatabaseError } from "../../errors/database_errors.ts";
import { isAppError } from "../../errors/app_error.ts";
import { causeChain } from "../../errors/cause_chain.ts";
import { describeDriverError } from "../../errors/driver_error.ts";
import type { DatabaseTarget } from "./to_database_target.ts";

/**
 * Runs work on a database. Errors without a known origin get the name of the database as a prefix,
 * but not the statement, which may contain data.
 *
 * @returns The result of the work.
 * @throws {DatabaseError} If the database cannot be reached or rejects a statement.
 */
export async function reaching<T>(label: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toDatabaseError(error, label);
  }
}

/**
 * Converts an error to one with a printable message.
 *
 * @param what The failed operation; without it, the connection failed.
 * @returns An error of this package unchanged; otherwise an error with the database and the
 * server's message.
 */
export function toDatabaseError(error: unknown, label: string, what?: string): Error {
  if (isAppError(error)) return error;
  const last = causeChain(error).at(-1) as { code?: unknown; message?: unknown };
  // the message of drizzle contains the statement
  const words = /^Failed query/.test(String(last?.message)) ? "" : String(last?.message ?? "");
  const why = describeDriverError(error) ?? (words || String(last?.code ?? "no response"));
  return new DatabaseError(`${label}: ${what === undefined ? "" : `${what}: `}${why}`, {
    cause: error,
  });
}

/**
 * Runs work on the database of a command. Errors get its name, and its client is closed afterwards:
 * an embedded database would otherwise keep the process alive.
 *
 * @returns The result of the work.
 */
export async function withDatabase<T>(
  { config, label }: DatabaseTarget,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await reaching(label, work);
  } finally {
    await closeDrizzleClient(config);
  }
}
