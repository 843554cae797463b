import type { AsyncLocalStorage } from "node:async_hooks";
import type { RateLimitStore } from "../../core/rate_limit/rate_limit.ts";
import { builtinModule } from "../../env/builtin_module.ts";
import { RequestCounts } from "./request_counts.ts";

/** Storage of the counts of the running request; created by the first one. */
let storage: AsyncLocalStorage<RequestCounts> | undefined;

/**
 * Runs a request of the auth routes with its counts. On a runtime without asynchronous contexts each
 * limit is counted by a separate statement.
 *
 * @param store Where the request is counted, if it is.
 * @param handle Handles the request.
 * @returns The response.
 * @throws {TooManyRequestsError} If a limit is reached, also if the route has a response.
 */
export async function runInScope<T>(
  store: RateLimitStore | undefined,
  handle: () => Promise<T>,
): Promise<T> {
  if (store === undefined) return await handle();
  const hooks = builtinModule("node:async_hooks");
  if (storage === undefined && hooks !== undefined) storage = new hooks.AsyncLocalStorage();
  if (storage === undefined) return await handle();
  const counts = new RequestCounts(store);
  try {
    return await storage.run(counts, handle);
  } finally {
    await counts.end();
  }
}

/** Returns the counts of the running request. */
export function findRequestCounts(): RequestCounts | undefined {
  return storage?.getStore();
}
