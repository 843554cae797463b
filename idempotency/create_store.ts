import type { IdempotencyStore } from "../core/idempotency.ts";
import type { IdempotencyBackend } from "./backend.ts";
import { protectMessage } from "./protect_message.ts";
import { protectRequest } from "./protect_request.ts";

/**
 * Creates a store on a storage of your own.
 *
 * @param backend The storage.
 * @returns A store for the option `idempotency`.
 *
 * @example
 * ```ts
 * import { type Claim, createIdempotencyStore } from "@trellis/fn/idempotency";
 *
 * const results = new Map<string, string | undefined>();
 * const store = createIdempotencyStore({
 *   maxResultBytes: 1_000_000,
 *   claim({ id, fingerprint }): Promise<Claim> {
 *     const result = results.get(id);
 *     if (result !== undefined) return Promise.resolve({ state: "done", fingerprint, result });
 *     if (results.has(id)) return Promise.resolve({ state: "running", fingerprint });
 *     results.set(id, undefined);
 *     return Promise.resolve({ state: "claimed", fence: crypto.randomUUID() });
 *   },
 *   complete: ({ id }, result) => Promise.resolve(Boolean(results.set(id, result))),
 *   release: ({ id }) => Promise.resolve(void results.delete(id)),
 * });
 * console.log(typeof store.protectRequest); // function
 * ```
 */
export function createIdempotencyStore<TTransaction = never>(
  backend: IdempotencyBackend<TTransaction>,
): IdempotencyStore<TTransaction> {
  const storage = backend as IdempotencyBackend<unknown>;
  return {
    protectRequest: (handler, options) => protectRequest(storage, handler, options),
    describeKey: ({ key, required }) => ({
      isHeader: key === undefined,
      isRequired: required !== false,
    }),
    protectMessage: (handler, options, getKey) => protectMessage(storage, handler, options, getKey),
  };
}
