import { checkHttpEvent, getHeader, getMethod } from "../core/http/api_event.ts";
import type { HttpOptions } from "../core/http_options.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import { getPreflightResponder, isPreflight } from "../core/http/preflight.ts";
import { HTTP_EVENTS, type LambdaHandler, observeHandler } from "../core/with_observability.ts";
import { MethodNotAllowedError, NotFoundError } from "../errors/http_errors.ts";
import { createResponder } from "../validation/responder.ts";
import { getRoutePath, toRoutedEvent } from "./route_event.ts";
import type { RoutePattern } from "./route_key.ts";
import type { RouteMatch, RouteMatcher } from "./route_matcher.ts";

/** A route and its Lambda handler. */
export interface HandledRoute extends RoutePattern {
  readonly handler: (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>;
}

/**
 * Creates the handler of requests without a route: preflight requests, `OPTIONS`, 405 and 404.
 *
 * @param matcher Finds the routes of a path.
 * @param options CORS, error bodies and observability.
 */
export function createUnmatchedHandler(
  matcher: RouteMatcher<HandledRoute>,
  options: HttpOptions,
): LambdaHandler<ApiEvent, ProxyResult> {
  const { operationName, logging, metrics, tracing } = options;
  const { respond, respondToError } = createResponder(options);

  async function answer(
    event: ApiEvent,
    _context: LambdaContext,
    { correlationId }: { readonly correlationId: string },
  ): Promise<ProxyResult> {
    checkHttpEvent(event);
    const preflight = await answerPreflight(matcher, event);
    if (preflight !== undefined) return preflight;
    const methods = matcher.listMethods(getRoutePath(event));
    if (methods.length === 0) throw new NotFoundError("No such route");
    const allowed = listAllowed(methods);
    if (getMethod(event) !== "OPTIONS") throw new MethodNotAllowedError(allowed);
    const headers = { Allow: allowed.join(", ") };
    return respond(event, { statusCode: 204, headers, body: "" }, correlationId);
  }

  return observeHandler(
    answer,
    { operationName, logging, metrics, tracing, respondToError },
    HTTP_EVENTS,
    "router",
  );
}

/** Returns the methods of a path with those that the router answers itself. */
function listAllowed(methods: readonly string[]): string[] {
  const own = methods.includes("GET") ? ["HEAD", "OPTIONS"] : ["OPTIONS"];
  return [...new Set([...methods, ...own])].sort();
}

/**
 * Answers a CORS preflight request with the headers of the handler that the request asks for.
 *
 * @param matcher Finds the handler.
 * @param event The event.
 * @returns The response; `undefined` for other requests, and if the handler has no CORS headers.
 */
export function answerPreflight(
  matcher: RouteMatcher<HandledRoute>,
  event: ApiEvent,
): ReturnType<NonNullable<ReturnType<typeof getPreflightResponder>>> {
  if (!isPreflight(event)) return undefined;
  const path = getRoutePath(event);
  const requested = getHeader(event, "Access-Control-Request-Method")!;
  const found: RouteMatch<HandledRoute> | undefined = matcher.find(requested, path) ??
    (requested === "HEAD" ? matcher.find("GET", path) : undefined);
  if (found === undefined) return undefined;
  return getPreflightResponder(found.route.handler)?.(toRoutedEvent(event, found));
}
