/**
 * Options of [TanStack Query](https://tanstack.com/query) for the routes of an API: for React, Vue, Solid, Svelte and Angular.
 * It adds no dependency.
 *
 * @example
 * ```ts
 * import { createClient } from "@trellis/fn/client";
 * import { createQueries } from "@trellis/fn/client/query";
 *
 * // import type { routes } from "./api_types.ts";
 * interface routes {
 *   GET: {
 *     "/notes": {
 *       parameters: { query?: { limit?: number } };
 *       responses: { 200: { content: { "application/json": { titles: string[] } } } };
 *     };
 *   };
 * }
 * const api = createQueries(createClient<routes>({
 *   baseUrl: "https://api.example.com",
 *   fetch: () => Promise.resolve(Response.json({ titles: ["Milk"] })),
 * }));
 * // in a component: const { data } = useQuery(api.query("/notes", { params: { query: { limit: 5 } } }));
 * const { queryKey, queryFn } = api.query("/notes", { params: { query: { limit: 5 } } });
 * console.log(queryKey[1], (await queryFn()).titles); // /notes [ "Milk" ]
 * ```
 *
 * @module
 */
import type {
  ApiRoutes,
  CallInput,
  CallOptions,
  CallResult,
  CallSettings,
  Client,
} from "./client_types.ts";
import { type ApiData, type ApiResult, unwrap } from "./unwrap.ts";

/** The key of a query: method, path and input. `["GET", "/notes"]` matches all queries of the route. */
export type QueryKey = readonly [method: string, path: string, ...input: object[]];

/** The data of a route; `null` for a response without a body, because a query cannot return `undefined`. */
export type QueryData<Route> = ApiData<CallResult<Route, "json">> extends infer Data
  ? Data extends undefined ? null : Data
  : never;

/** Options of `useQuery`, `useSuspenseQuery`, `prefetchQuery` and others. */
export interface QueryOptions<Data> {
  /** The key. */
  queryKey: QueryKey;
  /** Calls the route. Rejects with an `ApiError`. */
  queryFn: (context?: { readonly signal?: AbortSignal }) => Promise<Data>;
}

/** Options of `useInfiniteQuery` for a route that sends pages. */
export interface PagesOptions<Data> {
  /** The key. */
  queryKey: QueryKey;
  /** The cursor of the first page. */
  initialPageParam: string | undefined;
  /** Calls the route with the cursor of a page. Rejects with an `ApiError`. */
  queryFn: (
    context: { readonly signal?: AbortSignal; readonly pageParam: string | undefined },
  ) => Promise<Data>;
  /** Returns the cursor of the next page; `undefined` after the last one. */
  getNextPageParam: (page: Data) => string | undefined;
}

/** Options of `useMutation`. */
export interface MutationOptions<Input, Data> {
  /** Method and path. */
  mutationKey: QueryKey;
  /** Calls the route with what the call of a client takes. Rejects with an `ApiError`. */
  mutationFn: (input: Input) => Promise<Data>;
}

/** The routes of one method. */
export type RoutesOf<Routes extends ApiRoutes, Method extends keyof ApiRoutes> = NonNullable<
  Routes[Method]
>;

/** The variables of a mutation: the input of the call; none if the route takes none. */
export type MutationInput<Route> = object extends CallInput<Route>
  ? (CallInput<Route> & CallSettings<"json">) | void
  : CallInput<Route> & CallSettings<"json">;

/** Creates options of TanStack Query for the routes of an API. */
export interface Queries<Routes extends ApiRoutes> {
  /** Returns the options of a query that calls a route with GET. */
  query<Path extends keyof RoutesOf<Routes, "GET"> & string>(
    path: Path,
    ...options: CallOptions<RoutesOf<Routes, "GET">[Path], "json">
  ): QueryOptions<QueryData<RoutesOf<Routes, "GET">[Path]>>;
  /**
   * Returns the options of a query for all pages of a route that is made with `paginate`: it takes the query parameter
   * `cursor` and returns `nextCursor`.
   */
  pages<Path extends keyof RoutesOf<Routes, "GET"> & string>(
    path: Path,
    ...options: CallOptions<RoutesOf<Routes, "GET">[Path], "json">
  ): PagesOptions<
    Extract<QueryData<RoutesOf<Routes, "GET">[Path]>, { nextCursor?: string | null }>
  >;
  /** Returns the options of a mutation that calls a route. */
  mutation<
    Method extends keyof ApiRoutes,
    Path extends keyof RoutesOf<Routes, Method> & string,
  >(
    method: Method,
    path: Path,
  ): MutationOptions<
    MutationInput<RoutesOf<Routes, Method>[Path]>,
    QueryData<RoutesOf<Routes, Method>[Path]>
  >;
}

/** The input of any call. */
interface AnyOptions {
  readonly params?: { readonly query?: object };
  readonly body?: unknown;
}

type AnyCall = (path: string, options: object) => Promise<ApiResult>;

/**
 * Creates options of TanStack Query for the routes of an API.
 *
 * @param client The client.
 * @returns Functions whose results `useQuery`, `useInfiniteQuery` and `useMutation` take. The keys contain method, path,
 * parameters and body.
 *
 * @example
 * ```ts
 * import { createClient } from "@trellis/fn/client";
 * import { createQueries } from "@trellis/fn/client/query";
 *
 * interface routes {
 *   POST: {
 *     "/notes": {
 *       requestBody: { content: { "application/json": { title: string } } };
 *       responses: { 201: { content: { "application/json": { id: string } } } };
 *     };
 *   };
 * }
 * const api = createQueries(createClient<routes>({
 *   baseUrl: "https://api.example.com",
 *   fetch: () => Promise.resolve(Response.json({ id: "n1" }, { status: 201 })),
 * }));
 * // in a component: const { mutate } = useMutation(api.mutation("POST", "/notes"));
 * const { mutationFn } = api.mutation("POST", "/notes");
 * console.log(await mutationFn({ body: { title: "Milk" } })); // { id: "n1" }
 * ```
 */
export function createQueries<Routes extends ApiRoutes>(client: Client<Routes>): Queries<Routes> {
  async function call(method: keyof ApiRoutes, path: string, options: object): Promise<unknown> {
    return await unwrap((client[method] as unknown as AnyCall)(path, options)) ?? null;
  }

  function getKey(path: string, { params, body }: AnyOptions, ...more: object[]): QueryKey {
    return ["GET", path, { ...params && { params }, ...body !== undefined && { body } }, ...more];
  }

  const queries = {
    query: (path: string, options: AnyOptions = {}): QueryOptions<unknown> => ({
      queryKey: getKey(path, options),
      queryFn: ({ signal } = {}) => call("GET", path, { ...signal && { signal }, ...options }),
    }),
    pages: (path: string, options: AnyOptions = {}): PagesOptions<unknown> => ({
      queryKey: getKey(path, options, { pages: true }),
      initialPageParam: undefined,
      queryFn({ signal, pageParam: cursor }) {
        const query = { ...options.params?.query, ...cursor !== undefined && { cursor } };
        const params = { ...options.params, query };
        return call("GET", path, { ...signal && { signal }, ...options, params });
      },
      getNextPageParam: (page) =>
        (page as { nextCursor?: string | null } | null)?.nextCursor ?? undefined,
    }),
    mutation: (
      method: keyof ApiRoutes,
      path: string,
    ): MutationOptions<object | void, unknown> => ({
      mutationKey: [method, path],
      mutationFn: (options) => call(method, path, options ?? {}),
    }),
  };
  return queries as unknown as Queries<Routes>;
}
