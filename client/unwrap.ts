import { ApiError } from "./api_error.ts";

/** The result of a call: its data or its error. */
export interface ApiResult {
  /** The body of a successful response. */
  data?: unknown;
  /** The body of an error. */
  error?: unknown;
  /** The response. */
  response: Response;
}

/** The data of a result that has no error. */
export type ApiData<Result extends ApiResult> = Result extends { data: infer Data } ? Data : never;

/**
 * Returns the data of a call, or throws its error.
 *
 * @param call The call of a client.
 * @returns The body of the successful response; `undefined` if it has none.
 * @throws {ApiError} When the API answers with an error. Its `body` is the typed error of the route.
 *
 * @example
 * ```ts
 * import { createClient, unwrap } from "@trellis/fn/client";
 *
 * interface routes {
 *   GET: {
 *     "/health": { responses: { 200: { content: { "application/json": { status: string } } } } };
 *   };
 * }
 * const client = createClient<routes>({
 *   baseUrl: "https://api.example.com",
 *   fetch: () => Promise.resolve(Response.json({ status: "ok" })),
 * });
 * const { status } = await unwrap(client.GET("/health"));
 * console.log(status); // ok
 * ```
 */
export async function unwrap<Result extends ApiResult>(
  call: Promise<Result>,
): Promise<ApiData<Result>> {
  const { data, error, response } = await call;
  if (!response.ok) throw new ApiError(response, error);
  return data as ApiData<Result>;
}
