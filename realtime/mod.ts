/**
 * Messages from functions to clients of a WebSocket API: connections with topics in the database, and
 * a publisher that removes connections that have ended.
 *
 * @example
 * ```ts
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import { getRequiredEnv } from "@trellis/fn/env";
 * import { createConnectionStore, createPublisher } from "@trellis/fn/realtime";
 *
 * const connections = createConnectionStore(() => getDrizzleClient({ provider: "embedded-pg" }));
 * const publisher = createPublisher({ connections, endpoint: () => getRequiredEnv("SOCKET_URL") });
 * console.log(typeof publisher.publish); // function
 * ```
 *
 * @module
 */
export {
  type ConnectionStore,
  type ConnectionStoreOptions,
  createConnectionStore,
} from "./connection_store.ts";
export {
  type ConnectionTickets,
  createConnectionTickets,
  type TicketIdentity,
} from "./connection_tickets.ts";
export { SUBSCRIPTION_MIGRATION_SQL } from "./migration.ts";
export {
  createPublisher,
  type Publisher,
  type PublisherOptions,
  type PublishResult,
} from "./publisher.ts";
