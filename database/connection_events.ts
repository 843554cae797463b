import { runOutsideInvocation } from "../observability/invocation_context.ts";
import { logWarn } from "../observability/logger.ts";
import type { DatabaseProvider } from "./config.ts";

/**
 * Why a connection cannot be used any more: `closed` (by `closeDrizzleClient`), `ended` (by the server, the network, or
 * its lifetime or idle time), `refused` (a new one could not be made).
 */
export type ConnectionInvalidationReason = "closed" | "ended" | "refused";

/** What a callback of {@link onConnectionInvalidated} is told. */
export interface ConnectionInvalidation {
  /** Where the database lives. */
  provider: DatabaseProvider;
  /** Why the connection ended. */
  reason: ConnectionInvalidationReason;
  /** What the driver said, when it said something. */
  error?: unknown;
}

const callbacks: Set<(event: ConnectionInvalidation) => void> = new Set();

/**
 * Registers a callback for connections that end. The client stays usable, the next query gets a new connection; after
 * the reason `closed` ask `getDrizzleClient` for a new client.
 *
 * @param callback Called synchronously for each connection, outside of any request; what it throws is logged.
 * @returns A function that unregisters the callback.
 *
 * @example
 * ```ts
 * import { onConnectionInvalidated } from "@trellis/fn/database";
 *
 * const unregister = onConnectionInvalidated(({ provider, reason }) => console.log(provider, reason));
 * unregister();
 * ```
 */
export function onConnectionInvalidated(
  callback: (event: ConnectionInvalidation) => void,
): () => void {
  // a function of its own, so that registering the same callback twice needs unregistering twice
  const registered = (event: ConnectionInvalidation): void => callback(event);
  callbacks.add(registered);
  return function unregister(): void {
    callbacks.delete(registered);
  };
}

/** Calls every callback. A connection belongs to no request, so neither do they. */
export function announceInvalidation(event: ConnectionInvalidation): void {
  runOutsideInvocation(() => callAll(event));
}

function callAll(event: ConnectionInvalidation): void {
  for (const callback of [...callbacks]) {
    try {
      callback(event);
    } catch (error) {
      logWarn("a callback of onConnectionInvalidated failed", { error });
    }
  }
}
