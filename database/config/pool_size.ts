import { getOptionalEnv } from "../../env/get_env.ts";
import type { DatabaseProvider, DatabaseSettings } from "./config.ts";

/**
 * Upper bounds of the default pool size of one process, as of 2026-11.
 *
 * - `distsql`: a cluster takes 10,000 connections, and 1,000 new ones at once (Aurora DSQL quotas): 50 let 20 processes
 *   start in the same second and 200 run.
 * - `postgres`, `serverless-pg`, `branching-pg`: PostgreSQL's own default is 100 connections (`max_connections`): 20 let 5
 *   processes run.
 */
const CEILINGS: Readonly<Record<DatabaseProvider, number>> = {
  postgres: 20,
  distsql: 50,
  "serverless-pg": 20,
  "branching-pg": 20,
  "embedded-pg": 1,
};

/**
 * Returns how many connections a pool may open: `maxConnections`, else as many as Lambda runs invocations at once in this
 * process (`AWS_LAMBDA_MAX_CONCURRENCY`) up to the provider's ceiling, else 1.
 *
 * @param config A checked configuration.
 */
export function getPoolSize(config: DatabaseSettings): number {
  if (config.maxConnections !== undefined) return config.maxConnections;
  const concurrency = Number(getOptionalEnv("AWS_LAMBDA_MAX_CONCURRENCY"));
  return Number.isInteger(concurrency) && concurrency > 1
    ? Math.min(concurrency, CEILINGS[config.provider])
    : 1;
}
