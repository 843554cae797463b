import {
  createQueryFactory,
  type DatabaseConfig,
  type DatabaseProvider,
  getDrizzleClient,
} from "@trellis/fn/database";
import { getOptionalEnv } from "@trellis/fn/env";

/** The database of `trellis dev`, unless the environment names another one. */
export const databaseConfig = {
  provider: getOptionalEnv("DATABASE_PROVIDER", "embedded-pg") as Exclude<
    DatabaseProvider,
    "distsql"
  >,
  connectionString: getOptionalEnv("DATABASE_URL"),
} satisfies DatabaseConfig;

export const getDb = () => getDrizzleClient(databaseConfig);

export const { defineQuery } = createQueryFactory(getDb);
