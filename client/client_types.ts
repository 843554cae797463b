import type { FetchOptions, FetchResponse, Middleware, ParseAs } from "openapi-fetch";

/** The routes of an API by method and path, as `trellis generate client` writes them. */
export interface ApiRoutes {
  /** Routes with GET by path. */
  GET?: object;
  /** Routes with HEAD by path. */
  HEAD?: object;
  /** Routes with POST by path. */
  POST?: object;
  /** Routes with PUT by path. */
  PUT?: object;
  /** Routes with PATCH by path. */
  PATCH?: object;
  /** Routes with DELETE by path. */
  DELETE?: object;
  /** Routes with OPTIONS by path. */
  OPTIONS?: object;
}

/** The options of a call: optional if the route needs none. */
export type CallOptions<Route, As extends ParseAs> = object extends FetchOptions<Route>
  ? [options?: FetchOptions<Route> & { parseAs?: As }]
  : [options: FetchOptions<Route> & { parseAs?: As }];

/** Calls the routes of one method. */
export type CallMethod<Routes> = <Path extends keyof Routes & string, As extends ParseAs = "json">(
  path: Path,
  ...options: CallOptions<Routes[Path], As>
) => Promise<
  FetchResponse<
    Routes[Path] & Record<string, unknown>,
    { parseAs: As },
    `${string}/${string}`
  >
>;

/**
 * A client of an API. The paths of a method are the keys of an interface, so that an editor offers
 * them without resolving the types of any route.
 */
export interface Client<Routes extends ApiRoutes> {
  /** Calls a route with GET. */
  GET: CallMethod<NonNullable<Routes["GET"]>>;
  /** Calls a route with HEAD. */
  HEAD: CallMethod<NonNullable<Routes["HEAD"]>>;
  /** Calls a route with POST. */
  POST: CallMethod<NonNullable<Routes["POST"]>>;
  /** Calls a route with PUT. */
  PUT: CallMethod<NonNullable<Routes["PUT"]>>;
  /** Calls a route with PATCH. */
  PATCH: CallMethod<NonNullable<Routes["PATCH"]>>;
  /** Calls a route with DELETE. */
  DELETE: CallMethod<NonNullable<Routes["DELETE"]>>;
  /** Calls a route with OPTIONS. */
  OPTIONS: CallMethod<NonNullable<Routes["OPTIONS"]>>;
  /** Adds middleware of openapi-fetch. */
  use(...middleware: Middleware[]): void;
  /** Removes middleware. */
  eject(...middleware: Middleware[]): void;
}
