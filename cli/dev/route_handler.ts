import type { IncomingMessage } from "node:http";
import type { ProxyResult } from "../../core/http/lambda.ts";
import { getPreflightResponder } from "../../core/http/preflight.ts";
import { toRestApiEvent } from "../../testing/gateway/to_event.ts";
import { BuildError, formatSourceError } from "../sources/build_error.ts";
import type { FunctionStore } from "./functions/function_store.ts";
import {
  createServerSink,
  getRequestedMethod,
  type LocalHandler,
  sendResult,
  toFailure,
  toGatewayRequest,
} from "./http/http_server.ts";
import type { LocalServices } from "./local_services.ts";
import { existsSync } from "node:fs";
import { MethodNotAllowedError, NotFoundError } from "../../errors/http_errors.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { createRouteTable, type RouteMatch } from "../../testing/gateway/route_table.ts";
import { escapeHtml } from "../../core/http/escape_html.ts";

/** Name of the stage in events. */
const STAGE = "local";

/** Creates the handler that answers requests with the functions of the project. */
export function createRouteHandler(
  { options, project: { environment, store, recorder }, invoker, pending, migrations }:
    LocalServices,
): LocalHandler {
  const findFunction = createLocalRouter(store, options.config.infra.api.headRoutes);

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
    await migrations.ready();
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

/** A function that serves a route. */
type RoutedFile = FunctionFile & Required<Pick<FunctionFile, "method" | "path">>;

/** The function for a request. */
interface LocalMatch {
  readonly route: RoutedFile;
  /** Values of the route's parameters. */
  readonly parameters: Record<string, string> | null;
}

/**
 * Creates a router that also finds functions whose files were just added.
 *
 * @param hasHeadRoutes True if GET routes answer HEAD too.
 * @returns Finds a function; throws `NotFoundError` or `MethodNotAllowedError` if there is none.
 */
function createLocalRouter(
  store: FunctionStore,
  hasHeadRoutes: boolean | undefined,
): (method: string, path: string) => Promise<LocalMatch> {
  let builtFrom: readonly FunctionFile[] | undefined;
  let match: (method: string, path: string) => RouteMatch<RoutedFile>;

  function lookUp(method: string, path: string): RouteMatch<RoutedFile> {
    const routes = store.routes();
    if (builtFrom !== routes) {
      match = createRouteTable(routes as readonly RoutedFile[], hasHeadRoutes);
    }
    builtFrom = routes;
    return match(method, path);
  }

  return async function findFunction(method, path): Promise<LocalMatch> {
    let found = lookUp(method, path);
    // scanning is slow, so it runs only if no function was found or its file is gone
    if ((!("route" in found) || !existsSync(found.route.file)) && await store.scan()) {
      found = lookUp(method, path);
    }
    if ("route" in found) return found;
    throw found.allowed.length > 0
      ? new MethodNotAllowedError(found.allowed)
      : new NotFoundError("No such route");
  };
}

const STYLE = "body{font:16px/1.5 system-ui,sans-serif;margin:2rem " +
  "auto;max-width:56rem;padding:0 1rem;color-scheme:light dark}" +
  "h1{font-size:1.3rem}pre{overflow-x:auto;padding:.8rem;border:1px solid;border-radius:.4rem}";

/**
 * Renders the response of a function that cannot be built: HTML for browsers, JSON for all other
 * clients.
 *
 * @param accept The `Accept` header of the request.
 */
function renderBuildFailure(error: BuildError, accept: string): ProxyResult {
  const isPage = accept.includes("text/html");
  return {
    statusCode: 500,
    headers: {
      "Content-Type": isPage ? "text/html; charset=utf-8" : "application/json",
      "Cache-Control": "no-store",
      ...(isPage
        ? { "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'" }
        : {}),
    },
    body: isPage ? renderPage(error) : JSON.stringify({
      message: error.message,
      code: "BUILD_FAILED",
      function: error.functionName,
      errors: error.errors,
    }),
    isBase64Encoded: false,
  };
}

function renderPage({ functionName, errors }: BuildError): string {
  const items = errors.map((error) =>
    `<pre>${escapeHtml(formatSourceError(error))}${
      error.source === undefined ? "" : `\n\n${escapeHtml(error.source)}`
    }</pre>`
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta ` +
    `name="viewport" content="width=device-width">` +
    `<title>${escapeHtml(functionName)} cannot be loaded</title><style>${STYLE}</style>` +
    `<h1>${escapeHtml(functionName)} cannot be loaded</h1>${
      items.join("")
    }<p>Fix the error, then reload this page.</p></html>`;
}
