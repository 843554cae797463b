/**
 * A local server that behaves like Aurora DSQL: it accepts and rejects the same statements, checks IAM tokens, and
 * injects conflicts and connection failures on demand.
 *
 * @example
 * ```ts
 * import { startDistSqlServer } from "@trellis/fn/testing/distsql";
 *
 * const server = await startDistSqlServer();
 * console.log(`${server.hostname}:${server.port}`);
 * await server.stop();
 * ```
 *
 * @module
 */
export type { EmbeddedDatabase } from "./embedded_backend.ts";
export type { DistSqlFault, DistSqlInjection, InjectedFault } from "./faults.ts";
export type { DistSqlIamAction, DistSqlPrincipal } from "./iam_token.ts";
export { type DistSqlServer, startDistSqlServer } from "./server.ts";
export type { DistSqlLimits, DistSqlStatistics } from "./server_context.ts";
export type { DistSqlBackend, DistSqlServerOptions } from "./server_options.ts";
