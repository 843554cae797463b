/**
 * Types that appear in the signatures of `./database` and that programs rarely name.
 *
 * @example
 * ```ts
 * import type { ConnectionInvalidation } from "@trellis/fn/database/types";
 *
 * const events: ConnectionInvalidation[] = [];
 * console.log(events.length); // 0
 * ```
 *
 * @module
 */
export type { DatabaseSettings, PoolerMode, ProviderConfig, SslMode } from "./config/config.ts";
export type { ReferenceOptions } from "./integrity.ts";
export type {
  ConnectionInvalidation,
  ConnectionInvalidationReason,
} from "./providers/connection_events.ts";
export type { ConstraintAnswer } from "./queries/constraint_answers.ts";
export type { Param, StatementArguments, StatementClient } from "./queries/define_statement.ts";
export type { QueryMetricsOptions } from "./queries/query_metrics.ts";
export type { TableDecorator } from "./queries/requires_table.ts";
export type { TableOperation } from "./queries/table_permission.ts";
export type { RateLimitConfig } from "./rate_limits/configure.ts";
export type { RateLimitDatabase } from "./rate_limits/store.ts";
export type { RateLimitColumns, RateLimitTable } from "./rate_limits/table.ts";
export type { QueryResultField, QueryResultHKT } from "./session/drizzle_client.ts";
export type { Row } from "../sql/session.ts";
