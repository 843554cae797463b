import { AsyncLocalStorage } from "node:async_hooks";
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { CORRELATION_ID_HEADER, getCorrelationId } from "../../core/http/correlation_id.ts";
import { buildErrorResponse } from "../../core/http/error_response.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../../core/http/lambda.ts";
import { isAppError } from "../../errors/app_error.ts";
import {
  ConfigurationError,
  ForbiddenError,
  PayloadTooLargeError,
} from "../../errors/http_errors.ts";
import { Invocation } from "../../observability/invocation.ts";
import { resumeInvocation } from "../../observability/invocation_context.ts";
import { logError } from "../../observability/logger.ts";

/** API Gateway's own limit of a request's body (REST API quotas). */
const MAX_BODY_BYTES = 10 * 1024 * 1024;

/** Answers a request, or throws what becomes the answer. */
export type LocalHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
) => Promise<void>;

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
 * Listens on loopback and answers to loopback: a request that names another host, or that a page of another host makes,
 * is refused.
 *
 * @param handle Answers.
 * @param port The port; 0 takes a free one.
 * @returns The server.
 * @throws {ConfigurationError} When the port is in use.
 */
export async function listenOnLoopback(handle: LocalHandler, port: number): Promise<Gateway> {
  // Deno 2.9 calls the server in the asynchronous context of an earlier request that loaded a module
  const inOwnContext = AsyncLocalStorage.snapshot();
  const server = createServer((request, response) => {
    inOwnContext(answer, request, response).catch((error) => {
      const result = toFailure(request, error);
      if (response.headersSent) response.destroy();
      else sendResult(response, result);
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // also where a page or a function without the wrapper answers
    response.setHeader(CORRELATION_ID_HEADER, getCorrelationId(toHead(request), undefined));
    refuseForeigners(request);
    await handle(request, response, toUrl(request.url ?? "/"));
  }

  await listen(server, port);
  const address = server.address() as { port: number };
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
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
          ? new ConfigurationError(
            `Port ${port} is in use: choose another one, or stop what uses it`,
            { cause: error },
          )
          : error,
      );
    });
    server.listen(port, "127.0.0.1", () => resolve());
  });
}

/** A page of another site must not reach a developer's machine, nor through a name that leads to loopback. */
function refuseForeigners({ headers }: IncomingMessage): void {
  if (!isLoopback((headers.host ?? "").replace(/:\d+$/, ""))) {
    throw new ForbiddenError("The local gateway answers to localhost only");
  }
  if (headers.origin !== undefined && !isLoopbackOrigin(headers.origin)) {
    throw new ForbiddenError("The local gateway answers to pages of localhost only");
  }
  // images, scripts and frames of a page come without Origin; a person who follows a link may come
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
 * A request's target as an address.
 *
 * @param target As the request line has it.
 */
export function toUrl(target: string): URL {
  // a target such as //example.com/ must stay a path
  const url = new URL("http://localhost");
  const at = target.indexOf("?");
  url.pathname = at < 0 ? target : target.slice(0, at);
  url.search = at < 0 ? "" : target.slice(at);
  return url;
}

/**
 * Reads a request's body.
 *
 * @param request The request.
 * @throws {PayloadTooLargeError} When it is larger than the gateway takes.
 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
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

/** The part of an event that the request's ids and the wanted form of an error are read from. */
function toHead({ headers }: Pick<IncomingMessage, "headers">): ApiEvent {
  const texts = Object.entries(headers).map((
    [name, value],
  ) => [name, Array.isArray(value) ? value.at(-1) : value]);
  return { headers: Object.fromEntries(texts) } as ApiEvent;
}

/**
 * Turns what was thrown outside of a function into an answer with the ids of its request, and logs it unless the client
 * is at fault.
 *
 * @param request The request.
 * @param error What was thrown.
 * @returns The answer.
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
 * Sends a function's result.
 *
 * @param response Where to.
 * @param result What the function returned.
 */
export function sendResult(response: ServerResponse, result: ProxyResult): void {
  response.statusCode = result.statusCode;
  for (const [name, value] of Object.entries(result.headers ?? {})) {
    if (name.toLowerCase() === CORRELATION_ID_HEADER.toLowerCase()) response.removeHeader(name);
    response.appendHeader(name, String(value));
  }
  for (const [name, values] of Object.entries(result.multiValueHeaders ?? {})) {
    for (const value of values) response.appendHeader(name, String(value));
  }
  response.end(result.isBase64Encoded ? Buffer.from(result.body, "base64") : result.body);
}

/**
 * Lambda's context object for a call on this machine.
 *
 * @param functionName The function.
 * @param resources What it declares of itself: `timeout` in seconds (30 without), `memorySize` in MB.
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
