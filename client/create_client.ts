import createFetchClient from "openapi-fetch";
import type { ApiRoutes, Client } from "./client_types.ts";
import { type UnsafeCall, withSafeUrl } from "./safe_calls.ts";
import { type SendRequest, sendWithRetries } from "./send_with_retries.ts";

/** Stores a session token outside of cookies. */
export interface TokenSession {
  /** Returns the session's token; nothing for an anonymous request. */
  getToken(): string | null | undefined | Promise<string | null | undefined>;
  /** Stores a token that sign-in returns in the header `set-auth-token`. */
  setToken?(token: string): void | Promise<void>;
}

/** Options of {@link createClient}. */
export interface ClientOptions {
  /** Address of the API: `https://api.example.com`; in a browser also a path such as `/api`. */
  baseUrl: string;
  /**
   * The session of requests: `"cookie"` sends cookies to other origins too, an object sends its token
   * as a bearer token.
   * @default none: only cookies of the page's own origin
   */
  session?: "cookie" | TokenSession;
  /**
   * How often a request is sent, from 1 to 10, with the first time. It is sent again after a network
   * error or the statuses 429, 502, 503 and 504: GET, HEAD, PUT, DELETE, and requests with an
   * `Idempotency-Key`.
   * @default 3
   */
  maxAttempts?: number;
  /** Headers of every request: `{ "x-api-key": "…" }`. */
  headers?: Readonly<Record<string, string>>;
  /**
   * Creates the id of a call that appears in the log lines of the API; `undefined` for none.
   * @default a random UUID
   */
  createCorrelationId?: () => string | undefined;
  /**
   * Sends a request.
   * @default the global fetch
   */
  fetch?: SendRequest;
}

const CORRELATION_ID = "X-Correlation-Id";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/**
 * Creates a client of an API. Its type parameter is the interface `routes` that `trellis generate
 * client` writes; routes add no code.
 *
 * A call returns `{ status, data, error, response }` with the types of the route by status. {@link unwrap} returns the
 * data or throws. A call that could not be sent rejects with the error of fetch. A call with a path parameter that is
 * missing, empty, `.` or `..` rejects with a `RangeError`: it would reach another route.
 *
 * @param options Address, session and retries.
 * @returns A client of openapi-fetch.
 * @throws {RangeError} When `maxAttempts` is not an integer from 1 to 10.
 *
 * @example
 * ```ts
 * import { createClient } from "@trellis/fn/client";
 *
 * interface routes {
 *   GET: {
 *     "/notes/{noteId}": {
 *       parameters: { path: { noteId: string } };
 *       responses: { 200: { content: { "application/json": { title: string } } } };
 *     };
 *   };
 * }
 * const client = createClient<routes>({
 *   baseUrl: "https://api.example.com",
 *   session: "cookie",
 *   fetch: ({ url }) => Promise.resolve(Response.json({ title: url })),
 * });
 * const { data } = await client.GET("/notes/{noteId}", { params: { path: { noteId: "n1" } } });
 * console.log(data?.title); // https://api.example.com/notes/n1
 * ```
 */
export function createClient<Routes extends ApiRoutes>(options: ClientOptions): Client<Routes> {
  const {
    baseUrl,
    session,
    maxAttempts = 3,
    headers,
    createCorrelationId = createUuid,
    fetch: send = sendByFetch,
  } = options;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > 10) {
    throw new RangeError(`maxAttempts must be an integer from 1 to 10, got ${maxAttempts}`);
  }
  const tokens = typeof session === "object" ? session : undefined;

  async function sendCall(request: Request): Promise<Response> {
    const given = request.headers;
    const token = given.has("Authorization") ? undefined : await tokens?.getToken();
    if (token) given.set("Authorization", `Bearer ${token}`);
    const id = given.has(CORRELATION_ID) ? undefined : createCorrelationId();
    if (id) given.set(CORRELATION_ID, id);
    const response = await sendWithRetries(send, request, maxAttempts);
    const renewed = response.headers.get("set-auth-token");
    if (renewed) await tokens?.setToken?.(renewed);
    return response;
  }

  const { use, eject, ...methods } = createFetchClient<object>({
    baseUrl,
    headers,
    fetch: sendCall,
    ...session === "cookie" && { credentials: "include" },
  });
  const calls = METHODS.map((name) => [name, withSafeUrl(methods[name] as UnsafeCall)]);
  return { use, eject, ...Object.fromEntries(calls) };
}

/** Returns `undefined` on pages without a secure context. */
function createUuid(): string | undefined {
  return globalThis.crypto?.randomUUID?.();
}

/** Looks fetch up for each request, so that it can be replaced by instrumentation. */
function sendByFetch(request: Request): Promise<Response> {
  return fetch(request);
}
