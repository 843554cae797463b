import { closeDrizzleClient } from "../../database/client.ts";
import type { DatabaseConfig } from "../../database/config.ts";
import { DatabaseError } from "../../errors/database_errors.ts";
import { isAppError } from "../../errors/app_error.ts";
import { causeChain } from "../../errors/cause_chain.ts";
import { readDriverError } from "../../errors/driver_error.ts";

/**
 * Runs work on a database, and says of an error that it does not know where it comes from: `database: why`, without the
 * statement, which may hold data.
 *
 * @param label The database, as it may be printed.
 * @param work The work.
 * @returns What it returns.
 * @throws {DatabaseError} When the database cannot be reached or refuses something.
 */
export async function reaching<T>(label: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toDatabaseError(error, label);
  }
}

/**
 * An error for people.
 *
 * @param error What was thrown.
 * @param label The database, as it may be printed.
 * @param what What could not be done, when that is not to reach it.
 * @returns The error, when it is one of ours; else one that names the database and the server's words.
 */
export function toDatabaseError(error: unknown, label: string, what?: string): Error {
  if (isAppError(error)) return error;
  const driver = causeChain(error).map((link) => readDriverError(link, { showIdentifiers: true }))
    .find((one) => one !== undefined);
  const last = causeChain(error).at(-1) as { code?: unknown; message?: unknown };
  // drizzle's own message is the statement
  const words = /^Failed query/.test(String(last?.message)) ? "" : String(last?.message ?? "");
  const why = driver === undefined
    ? words || String(last?.code ?? "no answer")
    : `SQLSTATE ${driver.sqlState}: ${driver.message}`;
  return new DatabaseError(`${label}: ${what === undefined ? "" : `${what}: `}${why}`, {
    cause: error,
  });
}

/**
 * Runs work and closes what it left open: an embedded database stays open otherwise, and keeps the process alive.
 *
 * @param database The database.
 * @param work The work.
 * @returns What it returns.
 */
export async function closing<T>(database: DatabaseConfig, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await closeDrizzleClient(database);
  }
}
