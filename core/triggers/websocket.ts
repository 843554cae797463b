import { nameOperation } from "../handler_settings.ts";
import type { StandardSchema } from "../../env/standard_schema.ts";
import { buildErrorResponse } from "../http/error_response.ts";
import type { Flat } from "../flat.ts";
import type { LambdaContext, ProxyResult } from "../http/lambda.ts";
import { toGatewayResult } from "../http/proxy_result.ts";
import { withObservability, type WrapperMetadata } from "../with_observability.ts";
import { foreignEvent } from "./foreign_event.ts";
import { addLogFields } from "./observe_trigger.ts";
import { parseInput, parseJsonInput } from "./parse_input.ts";
import { toServerError } from "./trigger_failure.ts";
import type { WebSocketEvent, WebSocketResult } from "./trigger_events.ts";
import {
  authenticateConnection,
  WEBSOCKET_AUTH_RULES,
  type WebSocketAuth,
  type WebSocketIdentity,
} from "./websocket_auth.ts";
import {
  checkHandler,
  checkTriggerOptions,
  type TriggerHandler,
  type TriggerOptions,
} from "./trigger_options.ts";
import { record } from "../../env/recording.ts";

/** Options of {@link defineWebSocketHandler}. Without a type argument (`never`) its parameter is omitted. */
export interface WebSocketHandlerOptions<
  TBody = never,
  TAuth extends WebSocketAuth | undefined = WebSocketAuth | undefined,
> extends TriggerOptions {
  /**
   * How a client that connects is identified: `session` by its session cookie or bearer token, as in API handlers; the
   * result of `createConnectionTickets` by a ticket for one use; `authorizer` by the API's authorizer; `none` admits
   * every client. A handler without it refuses clients that connect.
   */
  auth?: TAuth;
  /**
   * Origins of the pages that may connect, such as `["https://app.example.com"]`. Clients that are no browsers send no
   * origin. A session cookie needs one of the trusted origins of the auth configuration in any case.
   * @default any origin without cookies, trusted origins with cookies
   */
  origins?: readonly string[];
  /** Parses the JSON of messages; synchronous or not. Connects and disconnects have no body. */
  schema?: StandardSchema<TBody>;
}

/** The parameters that are the same for connects, messages and disconnects. */
export interface WebSocketParams {
  /** The event as the gateway sends it. */
  event: WebSocketEvent;
  /** The connection: what messages are sent back to. */
  connectionId: string;
  /** `$connect`, `$disconnect`, `$default` or a route of your own. */
  routeKey: string;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids of this event. */
  metadata: WrapperMetadata;
}

/**
 * The parameters of a WebSocket handler. `eventType` says what happened. The gateway sends a disconnect if it can, so
 * it may be missing.
 */
export type WebSocketHandlerParams<TBody = never, TAuth = WebSocketAuth | undefined> =
  | Flat<
    & WebSocketParams
    & WebSocketIdentity<TAuth>
    & { /** A client wants to connect. */ eventType: "CONNECT" }
  >
  | Flat<WebSocketParams & { /** The connection has ended. */ eventType: "DISCONNECT" }>
  | Flat<
    & WebSocketParams
    & { /** A message has arrived. */ eventType: "MESSAGE" }
    & ([TBody] extends [never] ? unknown : { /** The parsed message. */ body: TBody })
  >;

/** The function that a user writes. Without a result the answer is 200, without a body. */
export type WebSocketHandlerFunction<TBody = never, TAuth = WebSocketAuth | undefined> = (
  params: WebSocketHandlerParams<TBody, TAuth>,
) => WebSocketResult | void | Promise<WebSocketResult | void>;

/** The function to export for Lambda, with the user's function and the way in which it identifies clients. */
export interface WebSocketHandler<TBody = never, TAuth = WebSocketAuth | undefined>
  extends TriggerHandler<WebSocketEvent, WebSocketResult, WebSocketHandlerFunction<TBody, TAuth>> {
  /** The mode of the option `auth`. */
  readonly auth: string | undefined;
}

/**
 * Declares a function behind routes of a WebSocket API. What it throws becomes the same status and body as that of an API
 * handler: a client reads the status when it connects, and the body as a message where the route is two-way.
 *
 * Clients are identified when they connect. A handler without the option `auth` refuses them.
 *
 * @param options Authentication, schema, names.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineWebSocketHandler } from "@trellis/fn/triggers";
 * import { createLambdaContext, createWebSocketMessageEvent } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * export const handler = defineWebSocketHandler({
 *   schema: z.object({ action: z.literal("say"), text: z.string().max(500) }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function chat(params) {
 *   if (params.eventType !== "MESSAGE") return;
 *   return { statusCode: 200, body: params.body.text.toUpperCase() };
 * });
 *
 * // $connect.ts; "none" admits everyone
 * export const connect = defineWebSocketHandler({ auth: "none" })(() => {});
 *
 * const event = createWebSocketMessageEvent({ body: { action: "say", text: "hello" } });
 * console.log((await handler(event, createLambdaContext())).body); // HELLO
 * ```
 */
export function defineWebSocketHandler<
  TBody = never,
  const TAuth extends WebSocketAuth | undefined = WebSocketAuth | undefined,
>(
  options: WebSocketHandlerOptions<TBody, TAuth> = {},
): (
  handler: WebSocketHandlerFunction<TBody, TAuth>,
) => WebSocketHandler<TBody, TAuth> {
  checkTriggerOptions("defineWebSocketHandler", options, ["schema"], WEBSOCKET_AUTH_RULES);
  const { schema, auth, origins, logging, metrics, tracing } = options;

  return function wrapHandler(handler) {
    checkHandler("defineWebSocketHandler", handler);

    async function handle(
      event: WebSocketEvent,
      context: LambdaContext,
      metadata: WrapperMetadata,
    ): Promise<WebSocketResult> {
      const { connectionId, routeKey, eventType } = getContext(event);
      addLogFields({ connection_id: connectionId, route_key: routeKey });
      try {
        const parsed = schema && eventType === "MESSAGE" &&
          { body: await parseInput(schema, parseJsonInput(event.body)) };
        const identity = eventType === "CONNECT" &&
          await authenticateConnection(event, auth, origins);
        const params = {
          event,
          connectionId,
          routeKey,
          eventType,
          context,
          metadata,
          ...parsed,
          ...identity,
        };
        const given = params as WebSocketHandlerParams<TBody, TAuth>;
        return shape(event, await handler(given));
      } catch (error) {
        // the client is gone, so it is not a client error
        throw eventType === "DISCONNECT" ? toServerError(error) : error;
      }
    }

    const operationName = nameOperation(options.operationName, handler.name);
    const respondToError = (
      error: unknown,
      context: LambdaContext,
      event: WebSocketEvent,
    ): WebSocketResult => {
      // to other triggers any response is a success
      if (!isWebSocketEvent(event)) throw error;
      return shape(event, buildErrorResponse(context, error));
    };
    const lambda = withObservability(handle, {
      operationName,
      logging,
      metrics,
      tracing,
      respondToError,
    });
    const mode: string | undefined = typeof auth === "object" ? auth.mode : auth;
    return record(
      "defineWebSocketHandler",
      [options, handler],
      Object.assign(lambda, { handler, auth: mode }),
    );
  };
}

function shape(event: WebSocketEvent, result: WebSocketResult | void): WebSocketResult {
  const given = result ?? { statusCode: 200 };
  const { statusCode, headers, body } = toGatewayResult(
    event,
    "rest",
    given as ProxyResult,
    {},
  );
  return {
    statusCode,
    ...(headers !== undefined && Object.keys(headers).length > 0 && { headers }),
    ...(body !== "" && { body }),
  };
}

function getContext(event: WebSocketEvent): WebSocketEvent["requestContext"] {
  if (isWebSocketEvent(event)) return event.requestContext;
  throw foreignEvent(
    "The event is none of a WebSocket API: the trigger of this function must be one",
    event,
  );
}

function isWebSocketEvent(event: WebSocketEvent): boolean {
  const context = event?.requestContext;
  return typeof context?.connectionId === "string" && typeof context.eventType === "string";
}
