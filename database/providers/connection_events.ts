import { runOutsideInvocation } from "../../observability/invocation_context.ts";
import { logWarn } from "../../observability/logger.ts";
import type { DatabaseProvider } from "../config/config.ts";

/**
 * Reason why a connection is unusable: `closed` (by `closeDrizzleClient`), `ended` (by the server,
 * the network, its lifetime or idle timeout), `refused` (a new connection could not be opened).
 */
export type ConnectionInvalidationReason = "closed" | "ended" | "refused";

/** Event passed to callbacks of {@link onConnectionInvalidated}. */
export interface ConnectionInvalidation {
  /** Kind of database. */
  provider: DatabaseProvider;
  /** Reason why the connection ended. */
  reason: ConnectionInvalidationReason;
  /** Error of the driver, if there was one. */
  error?: unknown;
}

const callbacks: Set<(event: ConnectionInvalidation) => void> = new Set();

/**
 * Registers a callback for connections that end. The client stays usable, and the next query gets a
 * new connection. After the reason `closed`, call `getDrizzleClient` for a new client.
 *
 * @param callback Called synchronously for each connection, outside of any request. Errors that it
 * throws are logged.
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
  // wrapped, so that a callback that is registered twice is unregistered one registration at a time
  const registered = (event: ConnectionInvalidation): void => callback(event);
  callbacks.add(registered);
  return function unregister(): void {
    callbacks.delete(registered);
  };
}

/** Calls every callback, outside of the current request's context. */
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
