import { parseJsonOr } from "../../core/http/parse_json.ts";
import type { WebSocketResult } from "../../core/triggers/trigger_events.ts";

interface SocketFunction {
  readonly kind: string;
  readonly routeKey?: string;
}

/** Returns the function of a route of the WebSocket API, such as `$connect`. */
export function findSocketRoute<F extends SocketFunction>(
  functions: readonly F[],
  routeKey: string,
): F | undefined {
  return functions.find((fn) => fn.kind === "websocket" && fn.routeKey === routeKey);
}

/** Returns the function of the route that the field `action` of a message names. */
export function findMessageRoute<F extends SocketFunction>(
  functions: readonly F[],
  body: string,
): F | undefined {
  return findSocketRoute(functions, getAction(body) ?? "$default") ??
    findSocketRoute(functions, "$default");
}

/**
 * Returns what the client of a message receives: the body of a route with `twoWay`, and the gateway's message if the
 * function has failed.
 */
export function getSocketAnswer(
  { statusCode = 200, body }: Partial<WebSocketResult>,
  connectionId: string,
  isTwoWay: boolean | undefined,
): string | undefined {
  if (isTwoWay && body !== undefined) return body;
  return statusCode < 500 ? undefined : toGatewayMessage("Internal server error", connectionId);
}

/** Returns a message of the gateway itself. */
export function toGatewayMessage(message: string, connectionId: string): string {
  return JSON.stringify({ message, connectionId });
}

function getAction(body: string): string | undefined {
  const { action } = Object(parseJsonOr(body)) as { action?: unknown };
  return typeof action === "string" ? action : undefined;
}
