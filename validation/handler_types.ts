import type { $ZodType } from "zod/v4/core";
import type { Flat } from "../core/flat.ts";
import type { AsyncFunctionOptions } from "../core/function_options.ts";
import type { HttpOptions } from "../core/http_options.ts";
import type {
  ApiEvent,
  AuthorizerContext,
  LambdaContext,
  ProxyResult,
  RestApiEvent,
} from "../core/http/lambda.ts";
import type { RequestIdempotency } from "../core/idempotency.ts";
import type { EtagOption } from "../core/http/entity_tag.ts";
import type { AuthMethod } from "../core/http/auth_method.ts";
import type { SessionResult } from "../core/http/session.ts";
import type { ResponseStreaming } from "../core/http/streaming.ts";
import type { RateLimitOptions } from "../core/rate_limit/rate_limit.ts";
import type { UserStatus } from "../core/http/user_status.ts";
import type { WrapperMetadata } from "../core/with_observability.ts";
import type { AuthMode } from "./authenticate.ts";
import type { BodyParser } from "./multipart.ts";
import type { OpenApiMetadata, RegisteredOperation } from "./openapi/registry.ts";
import type { HandlerResult, ResponseSchemas, ResponseValidation } from "./response_types.ts";

/** Options of `defineApiHandler`. Without a type argument (`never`) its parameter is omitted. */
export interface DefineApiHandlerOptions<
  TBody = never,
  TQuery = never,
  TPath = never,
  TAuth extends AuthMode | AuthMethod = "none",
  TTransaction = never,
  TResponse = unknown,
  TResponses extends ResponseSchemas = ResponseSchemas,
  THeaders = never,
  TCookies = never,
> extends HttpOptions, AsyncFunctionOptions {
  /** Validates the request's body. */
  schema?: $ZodType<TBody>;
  /**
   * Parses bodies of another media type for `schema`: `createMultipartParser()` those with files.
   * @default undefined, JSON and forms without files
   */
  bodyParser?: BodyParser;
  /** Validates the query string. */
  querySchema?: $ZodType<TQuery>;
  /** Validates the route's parameters. */
  pathSchema?: $ZodType<TPath>;
  /**
   * Validates headers of the request: `z.object({ "x-tenant": z.uuid() })`. Names are in lower case. Several values of one
   * header are one text, joined with commas. Other headers are left out.
   */
  headers?: $ZodType<THeaders>;
  /** Validates cookies of the request, decoded: `z.object({ theme: z.enum(["light", "dark"]).optional() })`. */
  cookies?: $ZodType<TCookies>;
  /**
   * How the handler identifies the caller: the name of a mode, or a value that carries its check, such as
   * `session({ roles: ["admin"] })`, `apiKey()` and `jwt()` of `defineAuth`.
   * @default "none"
   */
  auth?: TAuth;
  /**
   * The claim that is the user's id, such as `sub`, where an HTTP API's own JWT authorizer, or a REST API's Cognito authorizer,
   * checks the callers of a handler with auth `authorizer` or `authorizer-optional`. Without it such requests are a
   * configuration error.
   */
  userIdClaim?: string;
  /**
   * The body of a successful response. The handler can return the body, a `reply` with another status of success, or a
   * proxy result. All are parsed by the schema. `undeclared` of `@trellis/fn/core` sends other responses.
   */
  responseSchema?: $ZodType<unknown, TResponse>;
  /**
   * The bodies of responses by status, instead of `responseSchema`: `{ 200: Note }`, or with headers
   * `{ 201: { body: Note, headers: z.object({ location: z.string() }) } }`. The handler can return a `reply`, a proxy
   * result, or the body itself if there is one status of success. Other statuses are refused, except for redirects without
   * a body. Names of headers are in lower case; headers that are not declared are sent unchecked.
   */
  responses?: TResponses;
  /**
   * When the bodies and headers of `responseSchema` and `responses` are validated. Validation removes the fields that the schema does
   * not name; a body that does not fit is answered with 500. Outside of validation, bodies are sent unchanged.
   * `development` is every environment but Lambda.
   * @default "always"
   */
  validateResponses?: ResponseValidation;
  /**
   * Bytes that a body may have; a larger one is answered with 413 before anything is parsed. Lambda takes 6 MB.
   * @default 1048576
   */
  maxBodyBytes?: number;
  /**
   * Executes a request that is sent several times only once, and answers duplicates with the stored response.
   * @default undefined, no protection
   */
  idempotency?: RequestIdempotency<
    HandlerParams<TBody, TQuery, TPath, TAuth, THeaders, TCookies>,
    TTransaction
  >;
  /**
   * Limits requests. Requests over the limit are answered with 429. All responses have the limit in
   * `RateLimit` headers. Needs `configureRateLimits` of `@trellis/fn/database`.
   */
  rateLimit?: RateLimitOptions;
  /**
   * Lets the handler send its response in parts: `responseStreaming()` of `@trellis/fn/streaming`. The infrastructure
   * generator sets the response transfer mode of the REST API.
   */
  streaming?: ResponseStreaming;
  /**
   * Answers conditional requests (RFC 9110, section 13). `true` hashes the bodies of GET and HEAD: they have an `ETag`, and
   * `If-None-Match` with the same is answered with 304. A function returns the version of the resource before the handler
   * runs, or `undefined` if it does not exist: then 304 costs no more than the version, and `If-Match` of other methods is
   * answered with 412 if the version is another. Compare the version again in the statement that changes the resource.
   * @default undefined, conditions are not read
   */
  etag?: EtagOption<HandlerParams<TBody, TQuery, TPath, TAuth, THeaders, TCookies>>;
  /**
   * Answers range requests (RFC 9110, section 14) for bodies of bytes: those with `isBase64Encoded`, and streams with
   * `sizeBytes`. A client can continue a download, and a player can seek. Texts are sent whole.
   * @default false
   */
  ranges?: boolean;
  /**
   * Compresses text bodies of at least 1 KB with br or gzip, as `Accept-Encoding` says. REST APIs compress themselves
   * instead: `infra.api.minimumCompressionBytes`. Do not compress secrets beside texts of the request: their length shows
   * whether they are alike.
   * @default false
   */
  compress?: boolean;
  /** Facts for the OpenAPI document. */
  openapi?: OpenApiMetadata;
}

/** Parameters of every handler. */
export interface ApiHandlerParams {
  /**
   * The gateway's event, untouched. Typed as that of a REST API; behind an HTTP API, a function URL or a load balancer
   * narrow it with `isHttpApiEvent` or `isAlbEvent`.
   */
  event: RestApiEvent;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids of this invocation. */
  metadata: WrapperMetadata;
}

/** The parsed inputs of a request, one for each schema. */
export type InputParams<TBody, TQuery, TPath, THeaders = never, TCookies = never> =
  & ([TBody] extends [never] ? unknown : { /** The parsed body. */ body: TBody })
  & ([TQuery] extends [never] ? unknown : { /** The parsed query string. */ query: TQuery })
  & ([TPath] extends [never] ? unknown : { /** The parsed route parameters. */ path: TPath })
  & ([THeaders] extends [never] ? unknown : { /** The parsed headers. */ headers: THeaders })
  & ([TCookies] extends [never] ? unknown : { /** The parsed cookies. */ cookies: TCookies });

/** Parameters of a handler with auth `none` or `bearer`. */
export type ValidatedApiParams<
  TBody = never,
  TQuery = never,
  TPath = never,
  THeaders = never,
  TCookies = never,
> = Flat<
  ApiHandlerParams & InputParams<TBody, TQuery, TPath, THeaders, TCookies>
>;

/** Parameters of a handler with auth `authorizer`. */
export type AuthorizedApiParams<
  TBody = never,
  TQuery = never,
  TPath = never,
  THeaders = never,
  TCookies = never,
> = Flat<
  ApiHandlerParams & InputParams<TBody, TQuery, TPath, THeaders, TCookies> & {
    authorizer: AuthorizerContext;
    userId: string;
    userStatus: UserStatus;
  }
>;

/** Parameters of a handler with auth `authorizer-optional`. Check `userStatus` before you use `userId`. */
export type AuthorizedOptionalApiParams<
  TBody = never,
  TQuery = never,
  TPath = never,
  THeaders = never,
  TCookies = never,
> = Flat<
  ApiHandlerParams & InputParams<TBody, TQuery, TPath, THeaders, TCookies> & {
    authorizer: AuthorizerContext;
    userId: string | undefined;
    userStatus: UserStatus;
  }
>;

/** Parameters of a handler with auth `session`. */
export type SessionApiParams<
  TBody = never,
  TQuery = never,
  TPath = never,
  THeaders = never,
  TCookies = never,
> = Flat<
  ApiHandlerParams & InputParams<TBody, TQuery, TPath, THeaders, TCookies> & {
    userId: string;
    session: SessionResult;
  }
>;

/** The parameters that options call for. */
export type HandlerParams<
  TBody,
  TQuery,
  TPath,
  TAuth extends AuthMode | AuthMethod,
  THeaders = never,
  TCookies = never,
> = TAuth extends AuthMethod<infer TIdentity>
  ? Flat<ApiHandlerParams & InputParams<TBody, TQuery, TPath, THeaders, TCookies> & TIdentity>
  : TAuth extends "authorizer" ? AuthorizedApiParams<TBody, TQuery, TPath, THeaders, TCookies>
  : TAuth extends "authorizer-optional"
    ? AuthorizedOptionalApiParams<TBody, TQuery, TPath, THeaders, TCookies>
  : TAuth extends "session" ? SessionApiParams<TBody, TQuery, TPath, THeaders, TCookies>
  : ValidatedApiParams<TBody, TQuery, TPath, THeaders, TCookies>;

/** The function that a user writes. */
export type ApiHandlerFunction<TParams, TResult = ProxyResult> = (
  params: TParams,
) => TResult | Promise<TResult>;

/** The function to export for Lambda. It has the user's function as a property, for tests without the wrapper. */
export interface ApiHandler<TParams, TResult = HandlerResult<unknown, ResponseSchemas>> {
  (event: ApiEvent, context: LambdaContext): Promise<ProxyResult>;
  /** The user's function. */
  readonly handler: ApiHandlerFunction<TParams, TResult>;
  /** What the OpenAPI document says of it. */
  readonly operation: RegisteredOperation;
}
