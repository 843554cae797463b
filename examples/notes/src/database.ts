import {
  createQueryFactory,
  type DatabaseConfig,
  type DatabaseProvider,
  getDrizzleClient,
} from "@trellis/fn/database";
import { getOptionalEnv } from "@trellis/fn/env";
import * as schema from "./schema.ts";

const provider = getOptionalEnv("DATABASE_PROVIDER", "embedded-pg") as DatabaseProvider;

/**
 * The database configuration: PGlite in a folder, unless the environment names another provider.
 *
 * | provider | variables |
 * | --- | --- |
 * | `embedded-pg` | `DATABASE_URL`: a folder, or `memory://` |
 * | `postgres`, `branching-pg`, `serverless-pg` | `DATABASE_URL` |
 * | `distsql` | `DATABASE_ENDPOINT`, `DATABASE_USERNAME`; `DATABASE_REGION`, `DATABASE_CA` for `trellis dev --db distsql` |
 */
export const databaseConfig = (provider === "distsql"
  ? {
    provider,
    endpoint: getOptionalEnv("DATABASE_ENDPOINT"),
    region: getOptionalEnv("DATABASE_REGION"),
    username: getOptionalEnv("DATABASE_USERNAME"),
    ca: getOptionalEnv("DATABASE_CA"),
    schema,
  }
  : {
    provider,
    connectionString: getOptionalEnv("DATABASE_URL"),
    schema,
  }) satisfies DatabaseConfig;

export const getDb = () => getDrizzleClient(databaseConfig);

export const { defineQuery, defineStatement } = createQueryFactory(getDb);
