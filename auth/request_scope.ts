import type { AsyncLocalStorage } from "node:async_hooks";
import type { RateLimitStore } from "../core/rate_limit/rate_limit.ts";
import { builtinModule } from "../env/builtin_module.ts";
import { RequestCounts } from "./request_counts.ts";

/** A running request of the auth routes. */
export interface RequestScope {
  /** Path of the request, after the base path. */
  readonly path: string;
  /** What it is counted by; `undefined` without limits. */
  readonly counts: RequestCounts | undefined;
  /** True once the statements of a sign-up were joined. */
  isJoined: boolean;
  /** The user as a sign-up by one statement has stored it. */
  storedUser?: Readonly<Record<string, unknown>>;
}

/** Storage of the running request; created by the first one. */
let storage: AsyncLocalStorage<RequestScope> | undefined;

/**
 * Runs a request in a scope. On a runtime without asynchronous contexts there is none, and nothing
 * is sent together.
 *
 * @param path Path of the request, after the base path.
 * @param store Where the request is counted, if it is.
 * @param handle Handles the request.
 * @returns The response.
 * @throws {TooManyRequestsError} If a limit is reached, also if the route has a response.
 */
export async function runInScope<T>(
  path: string,
  store: RateLimitStore | undefined,
  handle: () => Promise<T>,
): Promise<T> {
  const hooks = builtinModule("node:async_hooks");
  if (storage === undefined && hooks !== undefined) storage = new hooks.AsyncLocalStorage();
  if (storage === undefined) return await handle();
  const counts = store && new RequestCounts(store);
  try {
    return await storage.run({ path, counts, isJoined: false }, handle);
  } finally {
    await counts?.end();
  }
}

/** Returns the scope of the running request. */
export function findRequestScope(): RequestScope | undefined {
  return storage?.getStore();
}

/** Returns the counts of the running request. */
export function findRequestCounts(): RequestCounts | undefined {
  return storage?.getStore()?.counts;
}
