import type { IncomingMessage } from "node:http";
import type { ProxyResult } from "../../core/http/lambda.ts";
import { getPreflightResponder } from "../../core/http/preflight.ts";
import { toRestApiEvent } from "../../testing/gateway/to_event.ts";
import { BuildError } from "../sources/build_error.ts";
import { renderBuildFailure } from "./build_failure_page.ts";
import type { FunctionStore } from "./functions/function_store.ts";
import {
  createServerSink,
  getRequestedMethod,
  type LocalHandler,
  sendResult,
  toFailure,
  toGatewayRequest,
} from "./http/http_server.ts";
import type { Invoker } from "./functions/invoker.ts";
import type { LocalEnvironment } from "./local_environment.ts";
import { createLocalRouter, type LocalMatch } from "./local_router.ts";
import type { PendingWork } from "./pending_work.ts";
import type { Recorder } from "./functions/recorder.ts";

/** Options of {@link createRouteHandler}. */
export interface RouteHandlerOptions {
  readonly environment: LocalEnvironment;
  readonly store: FunctionStore;
  readonly recorder: Recorder;
  readonly invoker: Invoker;
  /** Registers calls that must end before the server stops. */
  readonly pending: PendingWork;
  /** True if GET routes answer HEAD too. */
  readonly hasHeadRoutes: boolean | undefined;
  /** Resolves when functions may use the database. */
  ready(): Promise<void>;
}

/** Name of the stage in events. */
const STAGE = "local";

/** Creates the handler that answers requests with the functions of the project. */
export function createRouteHandler(options: RouteHandlerOptions): LocalHandler {
  const { environment, store, recorder, invoker, pending, ready } = options;
  const findFunction = createLocalRouter(store, options.hasHeadRoutes);

  /** Answers a preflight request with the function of the requested method. */
  async function findPreflight(
    request: IncomingMessage,
    url: URL,
  ): Promise<ProxyResult | undefined> {
    const requested = getRequestedMethod(request);
    if (requested === undefined) return undefined;
    const { route, parameters } = await findFunction(requested, url.pathname);
    const { handler } = await store.load(route);
    const parts = { resource: route.path, parameters, stage: STAGE };
    const event = await toRestApiEvent(toGatewayRequest(request, url), parts);
    return await getPreflightResponder(handler)?.(event);
  }

  return async function answerRoute(request, response, url): Promise<void> {
    const { method = "GET" } = request;
    const title = `${method} ${url.pathname}${url.search}`;
    await ready();
    if (environment.refresh()) store.invalidate();
    let found: LocalMatch;
    try {
      found = await findFunction(method, url.pathname);
    } catch (error) {
      const preflight = await findPreflight(request, url).catch((error) =>
        toGatewayFailure(request, error)
      );
      if (preflight !== undefined) return sendResult(response, preflight);
      const result = toFailure(request, error);
      const call = recorder.begin({ kind: "none", title, method });
      recorder.end(call, {
        status: result.statusCode,
        isFailed: result.statusCode >= 500,
        note: (error as Error).message,
      });
      return sendResult(response, result);
    }
    const event = await toRestApiEvent(toGatewayRequest(request, url), {
      resource: found.route.path,
      parameters: found.parameters,
      stage: STAGE,
    });
    const answer = invoker.answer(
      found.route,
      event,
      { title, method },
      (error) => toGatewayFailure(request, error),
      createServerSink(response),
    );
    const result = await pending.track(answer);
    if (!response.headersSent) sendResult(response, result);
    // a streamed response that failed is cut off
    else if (!response.writableEnded) response.destroy();
  };
}

/**
 * Converts an error of a request to a response: build errors to a page or JSON with the source
 * location, all others like API Gateway.
 */
export function toGatewayFailure(
  request: Pick<IncomingMessage, "headers">,
  error: unknown,
): ProxyResult {
  return error instanceof BuildError
    ? renderBuildFailure(error, String(request.headers.accept ?? ""))
    : toFailure(request, error);
}
