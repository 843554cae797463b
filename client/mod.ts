/**
 * A typed client of an API, for browsers and servers. `trellis generate client` writes the types of
 * all routes, openapi-fetch sends the requests, and this module adds sessions, retries, correlation
 * ids and errors with codes.
 *
 * @example
 * ```ts
 * import { ApiError, createClient, unwrap } from "@trellis/fn/client";
 *
 * // import type { routes } from "./api_types.ts";
 * interface routes {
 *   GET: {
 *     "/notes": { responses: { 200: { content: { "application/json": { titles: string[] } } } } };
 *   };
 * }
 * const client = createClient<routes>({
 *   baseUrl: "https://api.example.com",
 *   session: "cookie",
 *   fetch: () => Promise.resolve(Response.json({ code: "UNAUTHORIZED" }, { status: 401 })),
 * });
 * try {
 *   console.log(await unwrap(client.GET("/notes")));
 * } catch (error) {
 *   if (error instanceof ApiError) console.log(error.status, error.code); // 401 UNAUTHORIZED
 * }
 * ```
 *
 * @module
 */
export { ApiError } from "./api_error.ts";
export type {
  ApiRoutes,
  CallBody,
  CallInput,
  CallMethod,
  CallOptions,
  CallParams,
  CallResult,
  CallSettings,
  Client,
  ErrorResult,
  ErrorStatus,
  NeedsParams,
  OkResult,
  OkStatus,
  RawBody,
  ResponseBody,
  RouteStatus,
} from "./client_types.ts";
export { type ClientOptions, createClient, type TokenSession } from "./create_client.ts";
export type { SendRequest } from "./send_with_retries.ts";
export { type ApiData, type ApiResult, unwrap } from "./unwrap.ts";
