import { createQueryFactory, type DatabaseConfig, getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
import * as schema from "./schema.ts";

const databaseConfig = {
  provider: "serverless-pg",
  connectionString: getRequiredEnv("DATABASE_URL"),
  maxConnections: Number(getRequiredEnv("POOL_SIZE")),
  schema,
} satisfies DatabaseConfig;

export const getDb = () => getDrizzleClient(databaseConfig);

export const { defineQuery, defineStatement } = createQueryFactory(getDb);
