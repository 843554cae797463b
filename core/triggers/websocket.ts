import type { StandardSchema } from "../../env/standard_schema.ts";
import { UnexpectedError } from "../../errors/http_errors.ts";
import { buildErrorResponse } from "../http/error_response.ts";
import type { Flat } from "../flat.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../http/lambda.ts";
import { toGatewayResult } from "../http/proxy_result.ts";
import { withObservability, type WrapperMetadata } from "../with_observability.ts";
import { addLogFields } from "./observe_trigger.ts";
import { parseInput, parseJsonInput } from "./parse_input.ts";
import { toServerError } from "./trigger_failure.ts";
import type { WebSocketEvent, WebSocketResult } from "./trigger_events.ts";
import {
  checkHandler,
  checkTriggerOptions,
  type TriggerHandler,
  type TriggerOptions,
} from "./trigger_options.ts";

/** Options of {@link defineWebSocketHandler}. Without a type argument (`never`) its parameter is omitted. */
export interface WebSocketHandlerOptions<TBody = never> extends TriggerOptions {
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
export type WebSocketHandlerParams<TBody = never> =
  | Flat<WebSocketParams & { /** A client wants to connect. */ eventType: "CONNECT" }>
  | Flat<WebSocketParams & { /** The connection has ended. */ eventType: "DISCONNECT" }>
  | Flat<
    & WebSocketParams
    & { /** A message has arrived. */ eventType: "MESSAGE" }
    & ([TBody] extends [never] ? unknown : { /** The parsed message. */ body: TBody })
  >;

/** The function that a user writes. Without a result the answer is 200, without a body. */
export type WebSocketHandlerFunction<TBody = never> = (
  params: WebSocketHandlerParams<TBody>,
) => WebSocketResult | void | Promise<WebSocketResult | void>;

/**
 * Declares a function behind routes of a WebSocket API. What it throws becomes the same status and body as that of an API
 * handler: a client reads the status when it connects, and the body as a message where the route is two-way.
 *
 * It does not authenticate callers: the authorizer does, once, when the connection is made.
 *
 * @param options Schema, names.
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
 * const event = createWebSocketMessageEvent({ body: { action: "say", text: "hello" } });
 * console.log((await handler(event, createLambdaContext())).body); // HELLO
 * ```
 */
export function defineWebSocketHandler<TBody = never>(
  options: WebSocketHandlerOptions<TBody> = {},
): (
  handler: WebSocketHandlerFunction<TBody>,
) => TriggerHandler<WebSocketEvent, WebSocketResult, WebSocketHandlerFunction<TBody>> {
  checkTriggerOptions("defineWebSocketHandler", options, ["schema"]);
  const { schema, logging, metrics, tracing } = options;

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
        const params = { event, connectionId, routeKey, eventType, context, metadata, ...parsed };
        return shape(event, await handler(params as unknown as WebSocketHandlerParams<TBody>));
      } catch (error) {
        // the client is gone, so it is not a client error
        throw eventType === "DISCONNECT" ? toServerError(error) : error;
      }
    }

    const operationName = options.operationName || handler.name || "handler";
    const respondToError = (
      error: unknown,
      context: LambdaContext,
      event: WebSocketEvent,
    ): WebSocketResult => shape(event, buildErrorResponse(context, error));
    const lambda = withObservability(handle, {
      operationName,
      logging,
      metrics,
      tracing,
      respondToError,
    });
    return Object.assign(lambda, { handler });
  };
}

function shape(event: WebSocketEvent, result: WebSocketResult | void): WebSocketResult {
  const given = result ?? { statusCode: 200 };
  const { statusCode, headers, body } = toGatewayResult(
    event as unknown as ApiEvent,
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
  const context = event?.requestContext;
  if (typeof context?.connectionId !== "string" || typeof context.eventType !== "string") {
    throw new UnexpectedError(
      "The event is none of a WebSocket API: the trigger of this function must be one",
    );
  }
  return context;
}
