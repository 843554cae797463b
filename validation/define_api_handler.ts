import { nameOperation } from "../core/handler_settings.ts";
import { withPreflight } from "../core/http/preflight.ts";
import { FUNCTION_RULES } from "../core/function_options.ts";
import { checkHttpEvent } from "../core/http/api_event.ts";
import { isRestricted } from "../core/auth_needs.ts";
import type { AuthMethod } from "../core/http/auth_method.ts";
import { withRanges } from "../core/http/byte_ranges.ts";
import { type EtagOption, withConditions } from "../core/http/entity_tag.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import { buildValidatedResponse } from "../core/http/response.ts";
import { checkResponseSize } from "../core/response_limit.ts";
import type { TransactionParam } from "../core/idempotency.ts";
import { getRequestLimits, type RateLimitOptions } from "../core/rate_limit/rate_limit.ts";
import type { StreamDelivery } from "../core/http/streaming.ts";
import { HTTP_EVENTS, observeHandler, type WrapperMetadata } from "../core/with_observability.ts";
import { type AuthenticationOptions, type AuthMode, toAuthMethod } from "./authenticate.ts";
import { type AnyOptions, checkApiOptions } from "./check_options.ts";
import type {
  ApiHandler,
  ApiHandlerFunction,
  DefineApiHandlerOptions,
  HandlerParams,
} from "./handler_types.ts";
import { registerOperation } from "./openapi/registry.ts";
import { UnexpectedError } from "../errors/http_errors.ts";
import { createInputReader, type RequestInput } from "./read_input.ts";
import { Reply } from "./reply.ts";
import { createResponder } from "./responder.ts";
import { getDeclaredParts, type HandlerResult, type ResponseSchemas } from "./response_types.ts";
import { createResultReader, type ResultReader } from "./result_reader.ts";
import { record } from "../env/recording.ts";

/** The parameters of the user's function, while they are collected. */
interface Params extends RequestInput {
  event: ApiEvent;
  context: LambdaContext;
  metadata: WrapperMetadata;
}

/**
 * Declares an HTTP function. Its handler receives one object with the fields that the options ask for, and every error
 * becomes a response. The steps of a request, in this order: correlation id, authentication, size, media type and
 * decoding of the body, validation of path, query, headers, cookies and body together, the handler, the response, the log.
 *
 * @param options Schemas, authentication, names and limits. They are checked when the module is loaded.
 * @returns A function that takes the handler and returns the function to export for Lambda. It works behind REST APIs,
 * HTTP APIs, function URLs and load balancers.
 * @throws {ConfigurationError} If an option is unknown or out of range. The message names the option and its value.
 *
 * @example
 * ```ts
 * import { buildValidatedResponse } from "@trellis/fn/core";
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { defineApiHandler } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * export const handler = defineApiHandler({
 *   schema: z.object({ title: z.string().min(1) }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function createNote({ body, context }) {
 *   return buildValidatedResponse(context, 201, { id: "n1", title: body.title });
 * });
 *
 * const event = createRestApiEvent({ method: "POST", path: "/notes", body: { title: "milk" } });
 * console.log((await handler(event, createLambdaContext())).statusCode); // 201
 * ```
 */
export function defineApiHandler<
  TBody = never,
  TQuery = never,
  TPath = never,
  TAuth extends AuthMode | AuthMethod = "none",
  TTransaction = never,
  TResponse = unknown,
  TResponses extends ResponseSchemas = ResponseSchemas,
  THeaders = never,
  TCookies = never,
>(
  options: DefineApiHandlerOptions<
    TBody,
    TQuery,
    TPath,
    TAuth,
    TTransaction,
    TResponse,
    TResponses,
    THeaders,
    TCookies
  > = {},
): (
  handler: ApiHandlerFunction<
    & HandlerParams<TBody, TQuery, TPath, TAuth, THeaders, TCookies>
    & TransactionParam<TTransaction>,
    HandlerResult<TResponse, TResponses>
  >,
) => ApiHandler<
  & HandlerParams<TBody, TQuery, TPath, TAuth, THeaders, TCookies>
  & TransactionParam<TTransaction>,
  HandlerResult<TResponse, TResponses>
> {
  checkApiOptions(options);
  const method = toAuthMethod(options as AuthenticationOptions);
  const readInput = createInputReader(options);
  const readResult = createResultReader(options);
  const { respondToPreflight, respond, respondToError } = createResponder(options, method);

  return function wrapHandler(handler) {
    const { logging, metrics, tracing } = options;
    const operationName = nameOperation(options.operationName, handler.name);
    const identify = limitRequests(method.authenticate, options.rateLimit, operationName);
    const runHandler = withRanges(
      withConditions(
        returnProxyResult(handler as (params: Params) => unknown, readResult),
        options.etag as EtagOption<Params> | undefined,
      ),
      options.ranges,
    );
    const delivery = options.streaming?.createDelivery() as StreamDelivery | undefined;
    const run = options.idempotency?.store.protectRequest(runHandler, options) ??
      delivery?.capture(runHandler) ?? runHandler;

    async function handleRequest(
      event: ApiEvent,
      context: LambdaContext,
      metadata: WrapperMetadata,
    ): Promise<ProxyResult> {
      checkHttpEvent(event);
      const preflight = respondToPreflight(event, metadata.correlationId);
      if (preflight !== undefined) return preflight;
      const cookies: string[] = [];
      const identity = await identify(event, (cookie) => void cookies.push(cookie));
      const input = await readInput(event);
      const result = await run({ event, context, metadata, ...identity, ...input });
      const response = cookies.length === 0
        ? result
        : { ...result, cookies: [...result.cookies ?? [], ...cookies] };
      const sent = respond(event, response, metadata.correlationId);
      // a delivery knows whether a response is sent in parts
      return delivery === undefined ? checkResponseSize(event, sent) : sent;
    }

    // outside of these steps: the correlation id before them, the log line, the metrics and the span after them
    const observed = observeHandler(
      delivery?.deliver(handleRequest) ?? handleRequest,
      { operationName: options.operationName, logging, metrics, tracing, respondToError },
      HTTP_EVENTS,
      handler.name,
    );
    const lambda = delivery?.expose(observed) ?? observed;
    const operation = registerOperation(
      describe(operationName, method, options as AnyOptions),
    );
    withPreflight(lambda, respondToPreflight);
    return record(
      "defineApiHandler",
      [options, handler],
      Object.assign(lambda, { handler, operation }),
    );
  };
}

/** Counts requests before or after authentication, if a rate limit is set. */
function limitRequests(
  authenticate: AuthMethod["authenticate"],
  rateLimit: RateLimitOptions | undefined,
  operationName: string,
): AuthMethod["authenticate"] {
  if (rateLimit === undefined) return authenticate;
  return (event, setCookie) =>
    getRequestLimits()(event, () => authenticate(event, setCookie), rateLimit, operationName);
}

/** Converts the handler's values to proxy results. Without response schemas, replies have no body. */
function returnProxyResult(
  handler: (params: Params) => unknown,
  readResult: ResultReader | undefined,
): (params: Params) => Promise<ProxyResult> {
  return async (params) => {
    const value = await handler(params);
    if (readResult !== undefined) return await readResult(value, params.context);
    return value instanceof Reply
      ? buildEmptyResponse(value, params.context)
      : value as ProxyResult;
  };
}

function buildEmptyResponse(
  { status, value, options }: Reply,
  context: LambdaContext,
): ProxyResult {
  if (value !== undefined) {
    throw new UnexpectedError(
      `The handler replies with a body, but declares no responses: set responses: { ${status}: schema }`,
    );
  }
  return buildValidatedResponse(context, status, undefined, undefined, options);
}

function describe(
  operationName: string,
  { mode, needs = {} }: AuthMethod,
  options: AnyOptions,
): Parameters<typeof registerOperation>[0] {
  const { schema, querySchema, pathSchema, headers, cookies, openapi = {}, idempotency } = options;
  const responses = Object.entries((options.responses ?? {}) as ResponseSchemas)
    .map(([status, each]) => [status, getDeclaredParts(each)] as const);
  const given = options as Readonly<Record<string, unknown>>;
  const resources = Object.fromEntries(
    Object.keys(FUNCTION_RULES).map((name) => [name, given[name]]),
  );
  return {
    operationName,
    auth: mode,
    isRestricted: isRestricted(needs),
    isOptional: needs.optional === true,
    schema,
    bodyType: options.bodyParser?.mediaType,
    querySchema,
    pathSchema,
    headers,
    cookies,
    responseSchema: options.responseSchema,
    responses: Object.fromEntries(
      responses.map(([status, { body }]) => [status, body === undefined ? [] : [body]]),
    ),
    responseHeaders: Object.fromEntries(
      responses.flatMap(([status, { headers }]) =>
        headers === undefined ? [] : [[status, headers]]
      ),
    ),
    etag: options.etag && (options.etag === true ? "body" : "version"),
    hasRanges: options.ranges,
    isRateLimited: options.rateLimit !== undefined,
    hasErrorBody: options.errorBody !== undefined,
    openapi,
    idempotency: idempotency?.store.describeKey(idempotency),
    resources,
  };
}
