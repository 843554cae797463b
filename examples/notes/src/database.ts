import { createQueryFactory, type DatabaseConfig, type DatabaseProvider, getDrizzleClient } from "@trellis/fn/database";
import { getOptionalEnv } from "@trellis/fn/env";
import * as schema from "./schema.ts";

/**
 * Where the notes are kept: PGlite in a folder unless the environment names another provider.
 *
 * | provider | variables |
 * | --- | --- |
 * | `embedded-pg` | `DATABASE_URL`: a folder, or `memory://` |
 * | `branching-pg`, `serverless-pg` | `DATABASE_URL` |
 * | `distsql` | `DATABASE_ENDPOINT`, `DATABASE_USERNAME` |
 */
export const databaseConfig = {
  provider: getOptionalEnv("DATABASE_PROVIDER", "embedded-pg") as DatabaseProvider,
  connectionString: getOptionalEnv("DATABASE_URL"),
  endpoint: getOptionalEnv("DATABASE_ENDPOINT"),
  username: getOptionalEnv("DATABASE_USERNAME"),
  schema,
} satisfies DatabaseConfig;

export const getDb = () => getDrizzleClient(databaseConfig);

export const { defineQuery, definePreparedQuery } = createQueryFactory(getDb);
