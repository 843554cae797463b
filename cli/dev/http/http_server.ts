import { AsyncLocalStorage } from "node:async_hooks";
import { Buffer } from "node:buffer";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import { CORRELATION_ID_HEADER, getCorrelationId } from "../../../core/http/correlation_id.ts";
import { buildErrorResponse } from "../../../core/http/error_response.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../../../core/http/lambda.ts";
import type { ResponseSink } from "../../../core/http/streaming.ts";
import { isAppError } from "../../../errors/app_error.ts";
import {
  ConfigurationError,
  ForbiddenError,
  PayloadTooLargeError,
} from "../../../errors/http_errors.ts";
import { Invocation } from "../../../observability/invocation.ts";
import { resumeInvocation } from "../../../observability/invocation_context.ts";
import { logError } from "../../../observability/logger.ts";
import type { GatewayRequest } from "../../../testing/gateway/to_event.ts";

/** Limit of API Gateway for the body of a request (REST API quotas). */
const MAX_BODY_BYTES = 10 * 1024 * 1024;

/** Older versions of Node ignore it, and upgrade to anything. */
const SERVER_OPTIONS: ServerOptions = { shouldUpgradeCallback: offersWebSocket } as object;

/** Handles a request; a thrown error becomes the response. */
export type LocalHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
) => Promise<void>;

/** Answers a WebSocket handshake. */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Uint8Array,
) => Promise<void>;

/** A running local server. */
export interface Gateway {
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /** The port that it listens on. */
  readonly port: number;
  /**
   * Sets what answers WebSocket handshakes. Requests that offer another protocol, such as h2c, are served as HTTP/1.1,
   * because a server need not upgrade (RFC 9110, section 7.8).
   */
  onUpgrade(accept: UpgradeHandler): void;
  /** Stops listening, closes open connections and resolves when all are closed. */
  stop(): Promise<void>;
}

/**
 * Listens on the loopback address. Requests to another host name, or from a page of another host,
 * are rejected.
 *
 * @param port The port; 0 picks a free one.
 * @returns The server.
 * @throws {ConfigurationError} If the port is in use.
 */
export async function listenOnLoopback(handle: LocalHandler, port: number): Promise<Gateway> {
  // Deno 2.9 calls the listener in the async context of an earlier request that loaded a module
  const inOwnContext = AsyncLocalStorage.snapshot();
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    inOwnContext(answer, request, response).catch((error) => {
      // a streamed response is cut off; its error was logged by the function
      const hasClientLeft = request.destroyed && !request.complete;
      if (response.headersSent || hasClientLeft) response.destroy();
      else sendResult(response, toFailure(request, error));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // set here, so that static pages and functions without the wrapper have it too
    response.setHeader(CORRELATION_ID_HEADER, getCorrelationId(toHead(request), undefined));
    assertLoopback(request);
    await handle(request, response, toUrl(request.url ?? "/"));
  }

  await listen(server, port);
  const address = server.address() as { port: number };
  // the server does not close them
  const upgraded = new Set<Duplex>();
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
    onUpgrade(accept): void {
      server.on("upgrade", (request, socket, head) => {
        upgraded.add(socket);
        socket.on("close", () => upgraded.delete(socket));
        const refuse = (status: string, body = "") =>
          socket.end(
            `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
          );
        if (!offersWebSocket(request)) {
          return refuse(
            "501 Not Implemented",
            "Send HTTP/1.1 without Upgrade, or use Node 24.9 or later",
          );
        }
        try {
          assertLoopback(request);
        } catch {
          return refuse("403 Forbidden");
        }
        inOwnContext(accept, request, socket, head);
      });
    },
    stop(): Promise<void> {
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of upgraded) socket.destroy();
      });
    },
  };
}

function offersWebSocket({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: Error & { code?: string }) => {
      reject(
        error.code === "EADDRINUSE"
          ? new ConfigurationError(
            `Port ${port} is in use: choose another port, or stop the process that uses it`,
            { cause: error },
          )
          : error,
      );
    });
    server.listen(port, "127.0.0.1", () => resolve());
  });
}

/**
 * Rejects requests from pages of other sites and requests with another host name (DNS rebinding).
 */
function assertLoopback({ headers }: IncomingMessage): void {
  if (!isLoopback((headers.host ?? "").replace(/:\d+$/, ""))) {
    throw new ForbiddenError("The local gateway answers to localhost only");
  }
  if (headers.origin !== undefined && !isLoopbackOrigin(headers.origin)) {
    throw new ForbiddenError("The local gateway answers to pages of localhost only");
  }
  // images, scripts and frames are sent without Origin; following a link is allowed
  const isVisit = headers["sec-fetch-mode"] === "navigate" &&
    (headers["sec-fetch-dest"] ?? "document") === "document";
  const page = headers.origin ?? headers.referer;
  if (
    headers["sec-fetch-site"] === "cross-site" && !isVisit &&
    (page === undefined || !isLoopbackOrigin(page))
  ) {
    throw new ForbiddenError("The local gateway answers to pages of localhost only");
  }
}

function isLoopback(host: string): boolean {
  return host === "127.0.0.1" || host === "localhost" || host === "[::1]";
}

function isLoopbackOrigin(origin: string): boolean {
  try {
    return isLoopback(new URL(origin).hostname);
  } catch {
    return false; // "null": a sandboxed page or a file
  }
}

/**
 * Parses a request target.
 *
 * @param target The target of the request line.
 */
export function toUrl(target: string): URL {
  // a target such as //example.com/ must be parsed as a path
  const url = new URL("http://localhost");
  const at = target.indexOf("?");
  url.pathname = at < 0 ? target : target.slice(0, at);
  url.search = at < 0 ? "" : target.slice(at);
  return url;
}

/**
 * Reads the body of a request.
 *
 * @param maxBytes The limit; by default that of API Gateway.
 * @throws {PayloadTooLargeError} If it exceeds the limit.
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number = MAX_BODY_BYTES,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    // the rest is read and discarded, so that the client receives the response
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  if (bytes > maxBytes) {
    throw new PayloadTooLargeError(`The request body exceeds ${maxBytes / 1024 / 1024} MB`);
  }
  return Buffer.concat(chunks);
}

/** Converts a request of this server to one of the gateway. */
export function toGatewayRequest(request: IncomingMessage, url: URL): GatewayRequest {
  const { method = "GET", rawHeaders, socket } = request;
  const headers = Array.from(
    { length: rawHeaders.length / 2 },
    (_, at): [string, string] => [rawHeaders[2 * at], rawHeaders[2 * at + 1]],
  );
  const readWhole = () => readBody(request);
  return { method, url, headers, sourceIp: socket.remoteAddress, readBody: readWhole };
}

/** Returns the method that a preflight request asks for. */
export function getRequestedMethod(
  { method, headers }: Pick<IncomingMessage, "headers" | "method">,
): string | undefined {
  return method === "OPTIONS" ? headers["access-control-request-method"] : undefined;
}

/** Builds the part of an event from which correlation id and error format are read. */
function toHead({ headers }: Pick<IncomingMessage, "headers">): ApiEvent {
  const texts = Object.entries(headers).map((
    [name, value],
  ) => [name, Array.isArray(value) ? value.at(-1) : value]);
  return { headers: Object.fromEntries(texts) } as ApiEvent;
}

/**
 * Converts an error thrown outside a function to a response with the ids of its request, and logs
 * it unless it is a client error.
 */
export function toFailure(request: Pick<IncomingMessage, "headers">, error: unknown): ProxyResult {
  const context = createLocalContext("gateway");
  const event = toHead(request);
  const invocation = new Invocation({
    correlationId: getCorrelationId(event, context),
    requestId: context.awsRequestId,
    traceId: undefined,
    operationName: "gateway",
    functionName: undefined,
    coldStart: false,
  });
  invocation.event = event;
  const result = resumeInvocation(invocation, function build(): ProxyResult {
    if (!isAppError(error) || error.statusCode >= 500) {
      logError("the local gateway failed", { error });
    }
    return buildErrorResponse(context, error);
  });
  invocation.flush();
  return result;
}

/**
 * Sends a proxy result.
 *
 * @param result The value that the function returned.
 */
export function sendResult(response: ServerResponse, result: ProxyResult): void {
  setHead(response, result);
  response.end(result.isBase64Encoded ? Buffer.from(result.body, "base64") : result.body);
}

/** Creates the sink of a function that streams its response. */
export function createServerSink(response: ServerResponse): ResponseSink {
  return {
    open(head): ServerResponse {
      setHead(response, head);
      response.flushHeaders();
      return response;
    },
  };
}

function setHead(response: ServerResponse, result: ProxyResult): void {
  response.statusCode = result.statusCode;
  for (const [name, value] of Object.entries(result.headers ?? {})) {
    if (name.toLowerCase() === CORRELATION_ID_HEADER.toLowerCase()) response.removeHeader(name);
    response.appendHeader(name, String(value));
  }
  for (const [name, values] of Object.entries(result.multiValueHeaders ?? {})) {
    for (const value of values) response.appendHeader(name, String(value));
  }
}

/**
 * Creates the Lambda context of a local call.
 *
 * @param resources Declared resources: `timeout` in seconds (default 30), `memorySize` in MB.
 */
export function createLocalContext(
  functionName: string,
  resources: Readonly<Record<string, unknown>> = {},
): LambdaContext {
  const endsAtMs = performance.now() + Number(resources.timeout ?? 30) * 1000;
  return {
    awsRequestId: crypto.randomUUID(),
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${functionName}`,
    memoryLimitInMB: String(resources.memorySize ?? 512),
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    getRemainingTimeInMillis: () => Math.max(0, Math.round(endsAtMs - performance.now())),
  };
}
