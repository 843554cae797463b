import type { AuthorizerContext } from "../core/http/lambda.ts";
import { mapValues } from "../core/lists/map_values.ts";
import type {
  HttpAuthorizerEvent,
  RequestAuthorizerEvent,
  TokenAuthorizerEvent,
  WebSocketEvent,
} from "../core/triggers/trigger_events.ts";
import { createHttpApiEvent, createRestApiEvent, type EventOptions } from "./events.ts";
import { TIME_MS } from "./sample_account.ts";

const API_ARN = "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3d4e5/test";

/** A WebSocket connection and its message. */
export interface WebSocketEventOptions {
  /**
   * Connection id.
   * @default "conn-1="
   */
  connectionId?: string;
  /** Context returned by the authorizer at `$connect`. */
  authorizer?: AuthorizerContext;
  /** Headers of the handshake. */
  headers?: Readonly<Record<string, string>>;
  /** Query parameters of the handshake. */
  query?: Readonly<Record<string, string>>;
  /** The message. A string is sent unchanged, other values as JSON. */
  body?: unknown;
  /**
   * Route of the message.
   * @default "$default"
   */
  routeKey?: string;
}

/**
 * Creates the `$connect` event of a WebSocket API.
 *
 * @param options The connection.
 * @returns The event.
 */
export function createWebSocketConnectEvent(options: WebSocketEventOptions = {}): WebSocketEvent {
  const { headers = {}, query } = options;
  return {
    headers,
    multiValueHeaders: mapValues(headers, (value) => [value]),
    ...(query && { queryStringParameters: query }),
    requestContext: connectionContext("CONNECT", "$connect", options),
    isBase64Encoded: false,
  };
}

/**
 * Creates the event of a WebSocket message.
 *
 * @param options The connection and the message.
 * @returns The event.
 */
export function createWebSocketMessageEvent(options: WebSocketEventOptions = {}): WebSocketEvent {
  return {
    requestContext: {
      ...connectionContext("MESSAGE", options.routeKey ?? "$default", options),
      messageId: "message-1=",
    },
    body: typeof options.body === "string" ? options.body : JSON.stringify(options.body ?? ""),
    isBase64Encoded: false,
  };
}

/**
 * Creates the `$disconnect` event of a WebSocket API.
 *
 * @param options The connection.
 * @returns The event.
 */
export function createWebSocketDisconnectEvent(
  options: WebSocketEventOptions = {},
): WebSocketEvent {
  return {
    headers: { Host: "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com", "x-api-key": "" },
    requestContext: {
      ...connectionContext("DISCONNECT", "$disconnect", options),
      disconnectStatusCode: 1001,
      disconnectReason: "Going away",
    },
    isBase64Encoded: false,
  };
}

function connectionContext(
  eventType: WebSocketEvent["requestContext"]["eventType"],
  routeKey: string,
  { connectionId = "conn-1=", authorizer }: WebSocketEventOptions,
): WebSocketEvent["requestContext"] {
  return {
    routeKey,
    eventType,
    connectionId,
    requestId: "gateway-request-id",
    domainName: "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com",
    stage: "test",
    apiId: "a1b2c3d4e5",
    connectedAt: TIME_MS,
    requestTimeEpoch: TIME_MS + 1,
    identity: { sourceIp: "127.0.0.1" },
    ...(authorizer && { authorizer }),
  };
}

/**
 * Creates the event of a REST API for an authorizer of type REQUEST.
 *
 * @param options The request to authorize.
 * @returns The event.
 */
export function createRequestAuthorizerEvent(options: EventOptions = {}): RequestAuthorizerEvent {
  const { body: _body, isBase64Encoded: _encoded, ...request } = createRestApiEvent(options);
  return {
    type: "REQUEST",
    methodArn: `${API_ARN}/${request.httpMethod}${request.path}`,
    ...request,
  };
}

/**
 * Creates the event of a REST API for an authorizer of type TOKEN.
 *
 * @param authorizationToken The complete header value, such as `Bearer t-1`.
 * @param options The request to authorize.
 * @returns The event.
 */
export function createTokenAuthorizerEvent(
  authorizationToken: string,
  { method = "GET", path = "/" }: Pick<EventOptions, "method" | "path"> = {},
): TokenAuthorizerEvent {
  return { type: "TOKEN", methodArn: `${API_ARN}/${method}${path}`, authorizationToken };
}

/**
 * Creates the event of an HTTP API for an authorizer (payload format 2.0). The identity source is
 * the header `Authorization`.
 *
 * @param options The request to authorize.
 * @returns The event.
 */
export function createHttpAuthorizerEvent(options: EventOptions = {}): HttpAuthorizerEvent {
  const { body: _body, isBase64Encoded: _encoded, ...request } = createHttpApiEvent(options);
  const { method, path } = request.requestContext.http;
  const { authorization } = request.headers;
  return {
    type: "REQUEST",
    routeArn: `${API_ARN}/${method}${path}`,
    identitySource: authorization === undefined ? null : [authorization],
    ...request,
  };
}
