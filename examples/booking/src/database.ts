import {
  createQueryFactory,
  type DatabaseConfig,
  type DatabaseProvider,
  getDrizzleClient,
} from "@trellis/fn/database";
import { getOptionalEnv } from "@trellis/fn/env";

/** Aurora DSQL when deployed, and what `trellis dev` sets locally. */
export const databaseConfig = {
  provider: getOptionalEnv("DATABASE_PROVIDER", "distsql") as DatabaseProvider,
  connectionString: getOptionalEnv("DATABASE_URL"),
  endpoint: getOptionalEnv("DATABASE_ENDPOINT"),
  region: getOptionalEnv("DATABASE_REGION"),
  username: getOptionalEnv("DATABASE_USERNAME"),
  ca: getOptionalEnv("DATABASE_CA"),
} satisfies DatabaseConfig;

export const getDb = () => getDrizzleClient(databaseConfig);

export const { defineQuery, defineStatement } = createQueryFactory(getDb);
