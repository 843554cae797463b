import {
  createQueryFactory,
  type DatabaseConfig,
  type DatabaseProvider,
  getDrizzleClient,
} from "@trellis/fn/database";
import { getOptionalEnv } from "@trellis/fn/env";

const provider = getOptionalEnv("DATABASE_PROVIDER", "distsql") as DatabaseProvider;

/** Aurora DSQL when deployed, and what `trellis dev` sets locally. */
export const databaseConfig = (provider === "distsql"
  ? {
    provider,
    endpoint: getOptionalEnv("DATABASE_ENDPOINT"),
    region: getOptionalEnv("DATABASE_REGION"),
    username: getOptionalEnv("DATABASE_USERNAME"),
    ca: getOptionalEnv("DATABASE_CA"),
  }
  : { provider, connectionString: getOptionalEnv("DATABASE_URL") }) satisfies DatabaseConfig;

export const getDb = () => getDrizzleClient(databaseConfig);

export const { defineQuery, defineStatement } = createQueryFactory(getDb);
