import type { AuthorizerContext, RestApiEvent } from "../../core/http/lambda.ts";
import { answerRequest, type GatewayApi } from "../../testing/gateway/answer_request.ts";
import { createRouteTable, type LocalRoute } from "../../testing/gateway/route_table.ts";
import {
  createLocalContext,
  createServerSink,
  type Gateway,
  listenOnLoopback,
  sendResult,
  toGatewayRequest,
} from "./http/http_server.ts";

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
  const { authorizer } = options;
  const api: GatewayApi<LocalRoute> = {
    match: createRouteTable(options.routes),
    load: (route) => route,
    stage: "local",
    createContext(route, operation) {
      const timeout = operation?.resources.timeout ?? options.timeoutSeconds;
      return createLocalContext(route.name, { timeout });
    },
    authorize: authorizer && (async (event) => await authorizer(event)),
  };
  return await listenOnLoopback(async function answer(request, response, url): Promise<void> {
    const page = options.pages?.[url.pathname];
    if (page !== undefined && (request.method === "GET" || request.method === "HEAD")) {
      response.writeHead(200, { "Content-Type": page.contentType }).end(
        request.method === "HEAD" ? undefined : page.body,
      );
      return;
    }
    const { result, isStreamed } = await answerRequest(
      toGatewayRequest(request, url),
      api,
      createServerSink(response),
    );
    if (!isStreamed) sendResult(response, result);
  }, options.port ?? 0);
}
