import process from "node:process";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { causeChain } from "../../errors/cause_chain.ts";
import { DatabaseError } from "../../errors/database_errors.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import { type CommandContext, UsageError } from "../terminal/command.ts";
import { readProjectConfig } from "../config/read_project.ts";
import { findDatabaseOrLocal } from "./local_database_target.ts";

/** Database of a command about jobs. */
export interface JobsDatabase {
  /** The client. */
  readonly db: DrizzleClient;
  /** The printable name of the database. */
  readonly label: string;
}

/**
 * Runs work on the database with the table of jobs, and closes it.
 *
 * @returns The result of the work.
 */
export async function withJobsDatabase<T>(
  context: CommandContext,
  work: (database: JobsDatabase) => Promise<T>,
): Promise<T> {
  const { options, root } = context;
  const [{ withDatabase }, { getDrizzleClient }] = await Promise.all([
    import("./reaching.ts"),
    import("../../database/providers/client.ts"),
  ]);
  const { database: settings } = await readProjectConfig(context);
  const { target, release } = findDatabaseOrLocal(
    { options, settings, env: process.env, root },
    "Use the tab Jobs of its page, or stop it first",
  );
  const { config, label } = target;
  try {
    return await withDatabase(target, async () => {
      const db = await getDrizzleClient(config);
      return await work({ db, label }).catch((error) => throwJobsError(error, label));
    });
  } finally {
    release();
  }
}

const UNDEFINED_TABLE = "42P01";

/** Throws an error that says which migration is missing, if the table of jobs does not exist. */
function throwJobsError(error: unknown, label: string): never {
  const isMissing = causeChain(error).some((link) => getSqlState(link) === UNDEFINED_TABLE);
  if (!isMissing) throw error;
  throw new DatabaseError(
    `${label}: the table of jobs does not exist. trellis db tables jobs prints its migration, ` +
      "and trellis db migrate runs it",
    { cause: error },
  );
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Checks an id from the command line.
 *
 * @param id The argument.
 * @throws {UsageError} If it is not the id of a job.
 */
export function checkJobId(id: string): string {
  if (UUID.test(id)) return id.toLowerCase();
  throw new UsageError(`"${id}" is not the id of a job: trellis jobs list prints the ids`);
}
