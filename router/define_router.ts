import { checkFunctionOptions } from "../core/function_options.ts";
import { checkHttpEvent, getHeader, getMethod } from "../core/http/api_event.ts";
import { HTTP_RULES, type HttpOptions } from "../core/http_options.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import { getPreflightResponder, isPreflight, withPreflight } from "../core/http/preflight.ts";
import { getStreamingHandler } from "../core/http/streaming.ts";
import { OBJECT_OPTION } from "../core/option_rules.ts";
import { record } from "../env/recording.ts";
import { ConfigurationError, MethodNotAllowedError, NotFoundError } from "../errors/http_errors.ts";
import type { RegisteredOperation } from "../validation/openapi/registry.ts";
import { getRoutePath, toRoutedEvent } from "./route_event.ts";
import { parseRouteKey, type RouteKey, type RoutePattern } from "./route_key.ts";
import { createRouteMatcher, type RouteMatch, type RouteMatcher } from "./route_matcher.ts";
import { HTTP_EVENTS, type LambdaHandler, observeHandler } from "../core/with_observability.ts";
import { createResponder } from "../validation/responder.ts";

/** A handler of `defineApiHandler` or `createAuthHandler`. */
export interface RouteHandler {
  (event: ApiEvent, context: LambdaContext): Promise<ProxyResult>;
  /** The operation in the OpenAPI document. */
  readonly operation?: RegisteredOperation;
}

/** A route of a {@link Router}. */
export interface Route extends RoutePattern {
  /** The handler. */
  readonly handler: RouteHandler;
}

/** The Lambda function of several routes. */
export interface Router {
  (event: ApiEvent, context: LambdaContext): Promise<ProxyResult>;
  /** The routes in the order of their declaration. */
  readonly routes: readonly Route[];
  /** Settings of the Lambda function, for the infrastructure generator. */
  readonly resources: Readonly<Record<string, unknown>>;
}

/**
 * Combines several handlers to one Lambda function, for small services. A request is answered by the handler of the
 * most specific route: at each segment of the path a fixed text comes before a parameter, a parameter before the rest
 * of the path (`{proxy+}`). Each handler keeps its own authentication, validation, CORS, log line and metrics.
 *
 * Path parameters have the same values as behind API Gateway, decoded once. An unknown path is answered with 404, an
 * unknown method with 405 and `Allow`. `HEAD` is answered by the handler of `GET`, without the body; `OPTIONS` with
 * 204 and `Allow`, or as a CORS preflight request by the handler of the requested method. Needs the package `hono`,
 * of which only the router is bundled.
 *
 * @param handlers Handlers by method and path: `GET /notes/{noteId}`. `ANY` matches all methods.
 * @param options Settings of the Lambda function, and of the responses to unknown routes.
 * @returns The function to export for Lambda. It works behind REST APIs, HTTP APIs, function URLs and load balancers.
 * @throws {ConfigurationError} If a route is invalid, two routes match the same requests, or a handler has options of a
 * Lambda function, such as `timeout`: they belong in the options of the router.
 *
 * @example
 * ```ts
 * import { buildValidatedResponse } from "@trellis/fn/core";
 * import { defineRouter } from "@trellis/fn/router";
 * import { createFunctionUrlEvent, createLambdaContext } from "@trellis/fn/testing";
 * import { defineApiHandler } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * const options = { logging: { level: "SILENT" }, metrics: false } as const;
 * const getNote = defineApiHandler({ ...options, pathSchema: z.object({ noteId: z.string() }) })(
 *   function getNote({ path, context }) {
 *     return buildValidatedResponse(context, 200, { id: path.noteId });
 *   },
 * );
 *
 * const handler = defineRouter({ "GET /notes/{noteId}": getNote }, { timeout: 10 });
 *
 * const event = createFunctionUrlEvent({ path: "/notes/n1" });
 * console.log((await handler(event, createLambdaContext())).body); // {"id":"n1"}
 * ```
 */
export function defineRouter(
  handlers: Readonly<Partial<Record<RouteKey, RouteHandler>>>,
  options: RouterOptions = {},
): Router {
  checkHandlers(handlers);
  checkFunctionOptions("defineRouter", options, HTTP_RULES);
  const routes = Object.entries(handlers).map(([key, handler]): Route => ({
    ...parseRouteKey(key),
    handler: handler!,
  }));
  const matcher = createRouteMatcher(routes);
  const answerUnmatched = createUnmatchedHandler(matcher, options);

  async function route(event: ApiEvent, context: LambdaContext): Promise<ProxyResult> {
    const found = findRoute(matcher, event);
    if (found === undefined) return answerUnmatched(event, context);
    const response = await found.route.handler(toRoutedEvent(event, found), context);
    const isWithoutBody = getMethod(event) === "HEAD" && found.route.method === "GET";
    return isWithoutBody ? { ...response, body: "", isBase64Encoded: false } : response;
  }

  // a local gateway asks for the response to a preflight request
  withPreflight(route, (event) => answerPreflight(matcher, event));
  const { timeout, memorySize, reservedConcurrency, ephemeralStorage } = options;
  const resources = { timeout, memorySize, reservedConcurrency, ephemeralStorage };
  return record("defineRouter", [handlers, options], Object.assign(route, { routes, resources }));
}

/** Returns the route of an event; `undefined` also for an event that cannot be read, which then fails in a handler. */
function findRoute(matcher: RouteMatcher<Route>, event: ApiEvent): RouteMatch<Route> | undefined {
  try {
    const method = getMethod(event);
    const path = getRoutePath(event);
    return matcher.find(method, path) ??
      (method === "HEAD" ? matcher.find("GET", path) : undefined);
  } catch {
    return undefined;
  }
}

/**
 * Checks the handlers of a router.
 *
 * @param handlers Handlers by route.
 * @throws {ConfigurationError} If there is none, one is no function, or one has settings of a Lambda function.
 */
function checkHandlers(handlers: Readonly<Record<string, unknown>>): void {
  if (!OBJECT_OPTION[0](handlers) || Object.keys(handlers).length === 0) {
    throw new ConfigurationError(
      'defineRouter needs routes: { "GET /notes": defineApiHandler({ … })(…) }',
    );
  }
  for (const [key, handler] of Object.entries(handlers)) {
    if (typeof handler !== "function") {
      throw new ConfigurationError(
        `The route ${key} has no handler: write defineApiHandler({ … })(…)`,
      );
    }
    if (getStreamingHandler(handler) !== undefined) {
      throw new ConfigurationError(
        `The handler of ${key} streams its response, which needs a function of its own: give it a ` +
          "file with one route",
      );
    }
    const { operation } = handler as { operation?: RegisteredOperation };
    for (const [name, value] of Object.entries(operation?.resources ?? {})) {
      if (value === undefined) continue;
      throw new ConfigurationError(
        `The handler of ${key} has the option ${name}, but the routes of a router share one ` +
          `function: set it in the options of defineRouter`,
      );
    }
  }
}

/**
 * Options of `defineRouter`. The resources are those of the Lambda function. All other options are for
 * requests without a route, because the handlers have their own; `operationName` is then `router` by
 * default.
 */
export type RouterOptions = HttpOptions;

/** A route and its Lambda handler. */
interface HandledRoute extends RoutePattern {
  readonly handler: (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>;
}

/**
 * Creates the handler of requests without a route: preflight requests, `OPTIONS`, 405 and 404.
 *
 * @param matcher Finds the routes of a path.
 * @param options CORS, error bodies and observability.
 */
function createUnmatchedHandler(
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
function answerPreflight(
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
