import { getSource } from "../core/http/api_event.ts";
import { CORRELATION_ID_HEADER, getCorrelationId } from "../core/http/correlation_id.ts";
import { corsHeadersFor, corsHeadersOfError, NO_CORS_HEADERS } from "../core/http/cors.ts";
import { getErrorResponse } from "../core/http/error_response.ts";
import { FUNCTION_RULES } from "../core/function_options.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import { isReadyResponse, toGatewayResult } from "../core/http/proxy_result.ts";
import { ReturnedError } from "../core/http/returned_error.ts";
import { withObservability, type WrapperMetadata } from "../core/with_observability.ts";
import type { ValidationError } from "../errors/http_errors.ts";
import { isThenable } from "../observability/invocation_context.ts";
import { type AuthMode, createAuthenticator, type Identity, NO_IDENTITY } from "./authenticate.ts";
import { addRenewedCookie } from "./authenticate_session.ts";
import { checkApiOptions } from "./check_options.ts";
import type {
  ApiHandler,
  ApiHandlerFunction,
  DefineApiHandlerOptions,
  HandlerParams,
} from "./handler_types.ts";
import { registerOperation } from "./openapi/registry.ts";
import { createInputReader, type RequestInput } from "./read_input.ts";

type Answer = ProxyResult | ReturnedError;

/** What the user's function gets, while it is put together. */
interface Params extends Identity, RequestInput {
  event: ApiEvent;
  context: LambdaContext;
  metadata: WrapperMetadata;
}

/**
 * Declares an HTTP function. The handler gets one object whose fields are those that the options call for; what it
 * throws becomes a response. In this order: correlation id, authentication, size, media type and decoding of the
 * body, validation of path, query and body together, then the handler.
 *
 * @param options Schemas, auth, names, limits. Checked here, so that a mistake shows when the module is loaded.
 * @returns A function that takes the handler and returns the one to export for Lambda. It works behind REST APIs, HTTP
 * APIs, function URLs and load balancers.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
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
  TAuth extends AuthMode = "none",
>(
  options: DefineApiHandlerOptions<TBody, TQuery, TPath, TAuth> = {},
): (
  handler: ApiHandlerFunction<HandlerParams<TBody, TQuery, TPath, TAuth>>,
) => ApiHandler<HandlerParams<TBody, TQuery, TPath, TAuth>> {
  checkApiOptions(options);
  const authenticate = createAuthenticator(options.auth ?? "none", options.userIdClaim);
  const readInput = createInputReader(options);
  const corsHeaders = corsHeadersFor(options.cors);

  function respond(
    event: ApiEvent,
    result: ProxyResult,
    correlationId: string,
    cors: Readonly<Record<string, string>> = corsHeaders(event),
  ): ProxyResult {
    const source = getSource(event);
    if (cors === NO_CORS_HEADERS && source === "rest" && isReadyResponse(result, correlationId)) {
      return result;
    }
    return toGatewayResult(event, source, result, {
      [CORRELATION_ID_HEADER]: correlationId,
      ...cors,
    });
  }

  function respondToError(error: unknown, context: LambdaContext, event: ApiEvent): ProxyResult {
    const response = getErrorResponse(context, error, options.errorBody);
    return respond(
      event,
      response,
      String(response.headers?.[CORRELATION_ID_HEADER] ?? getCorrelationId(event, context)),
      corsHeadersOfError(corsHeaders, event),
    );
  }

  return function wrapHandler(handler) {
    // each step goes on at once where it need not wait: a promise in between costs more than most of the steps
    function answer(
      event: ApiEvent,
      context: LambdaContext,
      metadata: WrapperMetadata,
    ): Answer | Promise<Answer> {
      const identity = authenticate(event);
      return identity instanceof Promise
        ? identity.then((known) => read(known, event, context, metadata))
        : read(identity, event, context, metadata);
    }

    function read(
      identity: Identity,
      event: ApiEvent,
      context: LambdaContext,
      metadata: WrapperMetadata,
    ): Answer | Promise<Answer> {
      const params: Params = { event, context, metadata };
      if (identity !== NO_IDENTITY) Object.assign(params, identity);
      const reading = readInput(event, params);
      return reading instanceof Promise
        ? reading.then((fault) => call(params, fault))
        : call(params, reading);
    }

    function call(params: Params, fault: ValidationError | undefined): Answer | Promise<Answer> {
      if (fault !== undefined) return new ReturnedError(fault);
      const { event, metadata: { correlationId } } = params;
      const result = handler(params as unknown as HandlerParams<TBody, TQuery, TPath, TAuth>);
      return isThenable(result)
        ? Promise.resolve(result).then((settled) =>
          respond(event, addRenewedCookie(settled, params.session), correlationId)
        )
        : respond(event, addRenewedCookie(result, params.session), correlationId);
    }

    const { operationName = handler.name || "handler", logging, metrics, tracing } = options;
    const lambda = withObservability(answer, {
      operationName,
      logging,
      metrics,
      tracing,
      respondToError,
    });
    return Object.assign(lambda, {
      handler,
      operation: registerOperation(describe(operationName, options)),
    });
  };
}

function describe<TBody, TQuery, TPath, TAuth extends AuthMode>(
  operationName: string,
  options: DefineApiHandlerOptions<TBody, TQuery, TPath, TAuth>,
): Parameters<typeof registerOperation>[0] {
  const { auth = "none", schema, querySchema, pathSchema, responseSchema, openapi = {} } = options;
  const given = options as Readonly<Record<string, unknown>>;
  const resources = Object.fromEntries(
    Object.keys(FUNCTION_RULES).map((name) => [name, given[name]]),
  );
  return {
    operationName,
    auth,
    schema,
    querySchema,
    pathSchema,
    responseSchema,
    openapi,
    resources,
  };
}
