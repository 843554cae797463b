import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  type AuthorizerContext,
  buildErrorResponse,
  type LambdaContext,
  type ProxyResult,
  type RestApiEvent,
} from "../../core/mod.ts";
import {
  ConfigurationError,
  ForbiddenError,
  isAppError,
  MethodNotAllowedError,
  NotFoundError,
  PayloadTooLargeError,
} from "../../errors/mod.ts";
import { logError } from "../../observability/mod.ts";
import { createRouteTable, type LocalRoute } from "./route_table.ts";
import { toRestApiEvent } from "./to_event.ts";

/** API Gateway's own limit of a request's body (REST API quotas). */
const MAX_BODY_BYTES = 10 * 1024 * 1024;

/** Options of {@link startGateway}. */
export interface GatewayOptions {
  /** The functions, the more specific routes first. */
  routes: readonly LocalRoute[];
  /**
   * The port on loopback; 0 takes a free one.
   * @default 0
   */
  port?: number;
  /** Stands for the gateway's authorizer: called for functions with auth `authorizer` and `authorizer-optional`. */
  authorizer?: (event: RestApiEvent) => AuthorizerContext | Promise<AuthorizerContext>;
  /** Pages of the gateway's own, by path. */
  pages?: Readonly<Record<string, { contentType: string; body: string }>>;
  /**
   * Seconds that a function may take when it does not say so itself.
   * @default 30
   */
  timeoutSeconds?: number;
}

/** A gateway that runs. */
export interface Gateway {
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /** The port that it listens on. */
  readonly port: number;
  /** Stops listening, ends open connections and resolves when all is closed. */
  stop(): Promise<void>;
}

/**
 * Serves functions on loopback the way a REST API does: requests become the gateway's real events, proxy results become
 * responses, each call gets a context with a deadline.
 *
 * @param options Functions, port, authorizer.
 * @returns The running gateway.
 * @throws {ConfigurationError} When the port is in use.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const match = createRouteTable(options.routes);
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      if (!isAppError(error) || error.statusCode >= 500) logError("the local gateway failed", { error });
      if (response.headersSent) response.destroy();
      else send(response, buildErrorResponse(contextFor("gateway", 30), error));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    refuseForeignHost(request);
    const url = toUrl(request);
    const page = options.pages?.[url.pathname];
    if (page !== undefined && (request.method === "GET" || request.method === "HEAD")) {
      response.writeHead(200, { "Content-Type": page.contentType }).end(
        request.method === "HEAD" ? undefined : page.body,
      );
      return;
    }
    const found = match(request.method ?? "GET", url.pathname);
    if (!("route" in found)) {
      throw found.allowed.length > 0 ? new MethodNotAllowedError(found.allowed) : new NotFoundError("No such route");
    }
    const body = await readBody(request);
    const requestId = crypto.randomUUID();
    const { route, parameters } = found;
    const event = toRestApiEvent(request, url, { resource: route.path, parameters, body, requestId });
    if (route.operation?.auth.startsWith("authorizer") && options.authorizer !== undefined) {
      Object.assign(event.requestContext, { authorizer: await options.authorizer(event) });
    }
    const seconds = route.operation?.resources.timeout ?? options.timeoutSeconds ?? 30;
    send(response, await route.handler(event, contextFor(route.name, Number(seconds))));
  }

  await listen(server, options.port ?? 0);
  const { port } = server.address() as { port: number };
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    stop(): Promise<void> {
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: Error & { code?: string }) => {
      reject(
        error.code === "EADDRINUSE"
          ? new ConfigurationError(`Port ${port} is in use: set PORT to another one, or stop what uses it`, {
            cause: error,
          })
          : error,
      );
    });
    server.listen(port, "127.0.0.1", () => resolve());
  });
}

/** A page of another site must not reach a developer's machine through a name that leads to loopback. */
function refuseForeignHost(request: IncomingMessage): void {
  const host = (request.headers.host ?? "").replace(/:\d+$/, "");
  if (host !== "127.0.0.1" && host !== "localhost" && host !== "[::1]") {
    throw new ForbiddenError("The local gateway answers to localhost only");
  }
}

function toUrl(request: IncomingMessage): URL {
  const target = request.url ?? "/";
  // a target such as //example.com/ must stay a path
  const url = new URL("http://localhost");
  const at = target.indexOf("?");
  url.pathname = at < 0 ? target : target.slice(0, at);
  url.search = at < 0 ? "" : target.slice(at);
  return url;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    // the rest is read and forgotten, so that the client hears the answer
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes > MAX_BODY_BYTES) throw new PayloadTooLargeError("A request has at most 10 MB");
  return Buffer.concat(chunks);
}

function contextFor(functionName: string, timeoutSeconds: number): LambdaContext {
  const endsAtMs = Date.now() + timeoutSeconds * 1000;
  return {
    awsRequestId: crypto.randomUUID(),
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${functionName}`,
    memoryLimitInMB: "512",
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    getRemainingTimeInMillis: () => Math.max(0, endsAtMs - Date.now()),
  };
}

function send(response: ServerResponse, result: ProxyResult): void {
  const headers: [string, string][] = [];
  for (const [name, value] of Object.entries(result.headers ?? {})) headers.push([name, String(value)]);
  for (const [name, values] of Object.entries(result.multiValueHeaders ?? {})) {
    for (const value of values) headers.push([name, String(value)]);
  }
  response.statusCode = result.statusCode;
  for (const [name, value] of headers) response.appendHeader(name, value);
  response.end(result.isBase64Encoded ? Buffer.from(result.body, "base64") : result.body);
}
