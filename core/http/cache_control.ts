/** Directives of {@link cacheControl}, RFC 9111 section 5.2.2, RFC 5861 and RFC 8246. */
export interface CacheControlOptions {
  /**
   * Who may store the response: `public` caches, the `private` cache of the browser, or none.
   * @default "private"
   */
  scope?: "public" | "private" | "none";
  /** How long the response is fresh. */
  maxAgeSeconds?: number;
  /** How long it is fresh in shared caches, instead of `maxAgeSeconds`. */
  sharedMaxAgeSeconds?: number;
  /** How long a stale response may be sent while the cache fetches a new one. */
  staleWhileRevalidateSeconds?: number;
  /** How long a stale response may be sent if the API fails. */
  staleIfErrorSeconds?: number;
  /**
   * Asks the API before each use of a stored response, such as with `etag`.
   * @default false
   */
  revalidate?: boolean;
  /**
   * True if the response never changes, as under an address with a version.
   * @default false
   */
  immutable?: boolean;
}

/**
 * Returns the value of the header `Cache-Control`, for the headers of a response or the option `securityHeaders`.
 *
 * @param options Who may store the response, and for how long.
 * @returns The value.
 * @throws {RangeError} If a duration is not a whole number from 0, or `scope: "none"` comes with other options.
 *
 * @example
 * ```ts
 * import { cacheControl } from "@trellis/fn/core";
 *
 * console.log(cacheControl({ scope: "public", maxAgeSeconds: 60 })); // public, max-age=60
 * console.log(cacheControl({ revalidate: true })); // private, no-cache
 * console.log(cacheControl({ scope: "none" })); // no-store
 * ```
 */
export function cacheControl(options: CacheControlOptions): string {
  const { scope = "private", revalidate = false, immutable = false } = options;
  const durations = {
    "max-age": options.maxAgeSeconds,
    "s-maxage": options.sharedMaxAgeSeconds,
    "stale-while-revalidate": options.staleWhileRevalidateSeconds,
    "stale-if-error": options.staleIfErrorSeconds,
  };
  const given = Object.entries(durations).filter(([, seconds]) => seconds !== undefined);
  for (const [name, seconds] of given) {
    if (!Number.isInteger(seconds) || seconds! < 0) {
      throw new RangeError(`${name} must be a whole number of seconds from 0, got ${seconds}`);
    }
  }
  if (scope === "none") {
    if (given.length > 0 || revalidate || immutable) {
      throw new RangeError('scope "none" stores nothing: remove the other options');
    }
    return "no-store";
  }
  return [
    scope,
    ...revalidate ? ["no-cache"] : [],
    ...given.map(([name, seconds]) => `${name}=${seconds}`),
    ...immutable ? ["immutable"] : [],
  ].join(", ");
}
