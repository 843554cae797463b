import type {
  ApiEvent,
  AuthorizerContext,
  LambdaContext,
  ProxyResult,
  RestApiEvent,
} from "../../core/http/lambda.ts";
import { getPreflightResponder } from "../../core/http/preflight.ts";
import { getStreamingHandler, type ResponseSink } from "../../core/http/streaming.ts";
import { MethodNotAllowedError, NotFoundError } from "../../errors/http_errors.ts";
import type { RegisteredOperation } from "../../validation/openapi/registry.ts";
import type { RouteMatch } from "./route_table.ts";
import { type GatewayRequest, toRestApiEvent } from "./to_event.ts";

/** A function that can be called. */
export interface LoadedRoute {
  /** The Lambda handler. */
  readonly handler: (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>;
  /** The operation that `defineApiHandler` registered. */
  readonly operation?: RegisteredOperation;
}

/** What a gateway knows of its API. */
export interface GatewayApi<R> {
  /** Finds the route of a method and a path. */
  readonly match: (method: string, path: string) => RouteMatch<R>;
  /** Loads the function of a route. */
  readonly load: (route: R) => LoadedRoute | Promise<LoadedRoute>;
  /** Name of the stage. */
  readonly stage: string;
  /** Creates Lambda's context of a call. */
  readonly createContext: (route: R, operation: RegisteredOperation | undefined) => LambdaContext;
  /** Runs the authorizer, for functions with auth `authorizer` and `authorizer-optional`. */
  readonly authorize?: (event: RestApiEvent) => Promise<AuthorizerContext | undefined>;
}

/**
 * Answers a request as a REST API does: its function gets an event and a context with a deadline. A
 * preflight request is answered by the function of the requested method.
 *
 * @param sink Receives the response of a function that streams.
 * @returns The result of the function. That of a function that streams was sent to the sink.
 * @throws {NotFoundError} If the path has no function.
 * @throws {MethodNotAllowedError} If the method has no function.
 */
export async function answerRequest<R extends { readonly method: string; readonly path: string }>(
  request: GatewayRequest,
  api: GatewayApi<R>,
  sink: ResponseSink,
): Promise<{ readonly result: ProxyResult; readonly isStreamed: boolean }> {
  const { method, url: { pathname } } = request;
  const direct = api.match(method, pathname);
  const requested = "route" in direct ? undefined : getRequestedMethod(request);
  const found = requested === undefined ? direct : api.match(requested, pathname);
  if (!("route" in found)) {
    throw found.allowed.length > 0
      ? new MethodNotAllowedError(found.allowed)
      : new NotFoundError("No such route");
  }
  const { route, parameters } = found;
  const event = await toRestApiEvent(request, {
    resource: route.path,
    parameters,
    stage: api.stage,
  });
  const { handler, operation } = await api.load(route);
  if (requested !== undefined) {
    const preflight = await getPreflightResponder(handler)?.(event);
    if (preflight === undefined) throw new MethodNotAllowedError([route.method]);
    return { result: preflight, isStreamed: false };
  }
  if (operation?.auth.startsWith("authorizer")) {
    const authorizer = await api.authorize?.(event);
    if (authorizer !== undefined) Object.assign(event.requestContext, { authorizer });
  }
  const context = api.createContext(route, operation);
  const stream = getStreamingHandler(handler);
  return stream === undefined
    ? { result: await handler(event, context), isStreamed: false }
    : { result: await stream(event, sink, context), isStreamed: true };
}

/** Returns the method that a preflight request asks for. */
function getRequestedMethod({ method, headers }: GatewayRequest): string | undefined {
  if (method !== "OPTIONS") return undefined;
  const wanted = "access-control-request-method";
  return [...headers].find(([name]) => name.toLowerCase() === wanted)?.[1];
}
