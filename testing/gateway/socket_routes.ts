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

function getAction(body: string): string | undefined {
  try {
    const { action } = JSON.parse(body) as { action?: unknown };
    return typeof action === "string" ? action : undefined;
  } catch {
    return undefined;
  }
}
