import type { FetchOptions, Middleware, ParseAs } from "openapi-fetch";

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

// While a call is written, an editor evaluates the types of its options for every route of the method.
// So they are shallow, and one type has the parameters and the body: an intersection of two would be
// evaluated for each pair of routes.

/** The parameters of a route. */
export type CallParams<Route> = Route extends { parameters: infer Params } ? Params : never;

/** The body of a route, in any of its media types. */
export type CallBody<Route> = Route extends { requestBody?: { content: infer Content } }
  ? unknown extends Content ? never : Content[keyof Content]
  : never;

/** What a call of a route sends. */
export type CallInput<Route> = Route extends { requestBody: object }
  ? NeedsParams<Route> extends true ? { params: CallParams<Route>; body: CallBody<Route> }
  : { params?: CallParams<Route>; body: CallBody<Route> }
  : NeedsParams<Route> extends true ? { params: CallParams<Route>; body?: CallBody<Route> }
  : { params?: CallParams<Route>; body?: CallBody<Route> };

/** True for a route with a required parameter. */
export type NeedsParams<Route> = Route extends { parameters: infer Params }
  ? object extends Params ? false : true
  : false;

/** Options that the calls of all routes have: headers, an abort signal, and other options of fetch. */
export interface CallSettings<As extends ParseAs>
  extends Omit<FetchOptions<object>, "params" | "body" | "parseAs"> {
  /**
   * How the body of a successful response is read.
   * @default "json"
   */
  parseAs?: As;
}

/** The options of a call: optional if the route needs none. */
export type CallOptions<Route, As extends ParseAs> = object extends CallInput<Route>
  ? [options?: CallInput<Route> & CallSettings<As>]
  : [options: CallInput<Route> & CallSettings<As>];

/** Statuses of successful responses. */
export type OkStatus = 200 | 201 | 202 | 203 | 204 | 205 | 206 | 207 | 208 | 226 | "2XX";
/** All statuses of a route. */
export type RouteStatus<Route> = Route extends { responses: infer Responses } ? keyof Responses
  : never;
/** The statuses of a route's errors. */
export type ErrorStatus<Status> = Status extends string | number
  ? `${Status}` extends `4${string}` | `5${string}` | "default" ? Status : never
  : never;

/** The bodies of responses by their status; `undefined` for a response without one. */
export type ResponseBody<Route, Status> = Route extends { responses: infer Responses } ? {
    [Each in keyof Responses & Status]: Responses[Each] extends { content: infer Content }
      ? Content[keyof Content]
      : undefined;
  }[keyof Responses & Status]
  : unknown;

/** Forms of a body that no schema describes. */
export interface RawBody {
  /** As text. */
  text: string;
  /** As a blob. */
  blob: Blob;
  /** As bytes. */
  arrayBuffer: ArrayBuffer;
  /** As a stream. */
  stream: Response["body"];
}

/** A successful response. */
export interface OkResult<Status, Data> {
  /** The status: `if (result.status === 201)` narrows the type of the data. */
  status: Status extends number ? Status : number;
  /** The body. */
  data: Data;
  /** Absent. */
  error?: never;
  /** The response. */
  response: Response;
}

/** A response with an error. */
export interface ErrorResult<Status, Failure> {
  /** The status: `if (result.status === 409)` narrows the type of the error. */
  status: Status extends number ? Status : number;
  /** Absent. */
  data?: never;
  /** The body. */
  error: Failure;
  /** The response. */
  response: Response;
}

/** The result of a call, by its status. */
export type CallResult<Route, As extends ParseAs> = [RouteStatus<Route>] extends [never] ?
    | OkResult<number, As extends keyof RawBody ? RawBody[As] : unknown>
    | ErrorResult<number, unknown>
  : {
    [Status in RouteStatus<Route>]: Status extends OkStatus
      ? OkResult<Status, As extends keyof RawBody ? RawBody[As] : ResponseBody<Route, Status>>
      : Status extends ErrorStatus<Status> ? ErrorResult<Status, ResponseBody<Route, Status>>
      : never;
  }[RouteStatus<Route>];

/** Calls the routes of one method. */
export type CallMethod<Routes> = <Path extends keyof Routes & string, As extends ParseAs = "json">(
  path: Path,
  ...options: CallOptions<Routes[Path], As>
) => Promise<CallResult<Routes[Path], As>>;

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
