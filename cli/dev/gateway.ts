import type { AuthorizerContext, RestApiEvent } from "../../core/http/lambda.ts";
import { getPreflightResponder } from "../../core/http/preflight.ts";
import { getStreamingHandler } from "../../core/http/streaming.ts";
import { MethodNotAllowedError, NotFoundError } from "../../errors/http_errors.ts";
import {
  createLocalContext,
  createServerSink,
  type Gateway,
  getRequestedMethod,
  listenOnLoopback,
  readBody,
  sendResult,
} from "./http/http_server.ts";
import { createRouteTable, type LocalRoute } from "./http/route_table.ts";
import { toRestApiEvent } from "./http/to_event.ts";

/** Options of {@link startGateway}. */
export interface GatewayOptions {
  /** The functions, the most specific routes first. */
  routes: readonly LocalRoute[];
  /**
   * The port on the loopback address; 0 picks a free one.
   *
   * @default 0
   */
  port?: number;
  /**
   * Replaces the authorizer of API Gateway: called for functions with auth `authorizer` and
   * `authorizer-optional`.
   */
  authorizer?: (event: RestApiEvent) => AuthorizerContext | Promise<AuthorizerContext>;
  /** Static pages by path. */
  pages?: Readonly<Record<string, { contentType: string; body: string }>>;
  /**
   * Default timeout of functions in seconds.
   *
   * @default 30
   */
  timeoutSeconds?: number;
}

export type { Gateway };

/**
 * Serves functions on the loopback address like a REST API: a request becomes an API Gateway event,
 * a proxy result becomes a response, and each call gets a context with a deadline. Requests to
 * another host name, or from a page of another host, are rejected.
 *
 * @param options Functions, port, authorizer.
 * @returns The running gateway.
 * @throws {ConfigurationError} If the port is in use.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const match = createRouteTable(options.routes);
  return await listenOnLoopback(async function answer(request, response, url): Promise<void> {
    const page = options.pages?.[url.pathname];
    if (page !== undefined && (request.method === "GET" || request.method === "HEAD")) {
      response.writeHead(200, { "Content-Type": page.contentType }).end(
        request.method === "HEAD" ? undefined : page.body,
      );
      return;
    }
    const direct = match(request.method ?? "GET", url.pathname);
    const requested = "route" in direct ? undefined : getRequestedMethod(request);
    const found = requested === undefined ? direct : match(requested, url.pathname);
    if (!("route" in found)) {
      throw found.allowed.length > 0
        ? new MethodNotAllowedError(found.allowed)
        : new NotFoundError("No such route");
    }
    const body = await readBody(request);
    const requestId = crypto.randomUUID();
    const { route, parameters } = found;
    const event = toRestApiEvent(request, url, {
      resource: route.path,
      parameters,
      body,
      requestId,
    });
    if (requested !== undefined) {
      const preflight = await getPreflightResponder(route.handler)?.(event);
      if (preflight === undefined) throw new MethodNotAllowedError([route.method]);
      return sendResult(response, preflight);
    }
    if (route.operation?.auth.startsWith("authorizer") && options.authorizer !== undefined) {
      Object.assign(event.requestContext, { authorizer: await options.authorizer(event) });
    }
    const timeout = route.operation?.resources.timeout ?? options.timeoutSeconds;
    const context = createLocalContext(route.name, { timeout });
    const stream = getStreamingHandler(route.handler);
    if (stream !== undefined) {
      await stream(event, createServerSink(response), context);
      return;
    }
    sendResult(response, await route.handler(event, context));
  }, options.port ?? 0);
}
