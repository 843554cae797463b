import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { AuthorizerContext } from "../../core/http/lambda.ts";
import type { WebSocketEvent, WebSocketResult } from "../../core/triggers/trigger_events.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { logError, logWarn } from "../../observability/logger.ts";
import {
  createRequestAuthorizerEvent,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
  type WebSocketEventOptions,
} from "../../testing/gateway_events.ts";
import {
  GatewayError,
  runAuthorizer,
  selectAuthorizer,
} from "../../testing/gateway/run_authorizer.ts";
import {
  findMessageRoute,
  findSocketRoute,
  getSocketAnswer,
  toGatewayMessage,
} from "../../testing/gateway/socket_routes.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";
import { assertNoPage } from "./aws/aws_sink.ts";
import { readBody } from "./http/http_server.ts";
import type { LocalServices } from "./local_services.ts";
import { SOCKET_PATH } from "./socket_paths.ts";

/** Limit of API Gateway for a message (WebSocket quotas, 2026-11). */
const MAX_MESSAGE_BYTES = 128 * 1024;

/** The local WebSocket API. */
export interface SocketGateway {
  /** Answers the handshake of a client. */
  accept(request: IncomingMessage, socket: Duplex, head: Uint8Array): Promise<void>;
  /** Answers clients of the management API: they send a message to a connection, read its state or close it. */
  answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void>;
  /** Closes all connections. */
  close(): void;
}

/**
 * Loads the package `ws`.
 *
 * @throws {ConfigurationError} If it is not installed.
 */
export function loadWebSockets(): Promise<typeof import("ws")> {
  return import("ws").catch(explainMissing(CLI_PACKAGES, "ws", "The local WebSocket API"));
}

/** The part of a connection of the package `ws` that is used here. */
interface Socket {
  send(data: string | Uint8Array): void;
  close(code?: number): void;
  terminate(): void;
  on(event: "message", listener: (data: Uint8Array, isBinary: boolean) => void): void;
  on(event: "close" | "error", listener: () => void): void;
}

/** An open connection. */
interface Connection {
  readonly socket: Socket;
  readonly authorizer: AuthorizerContext | undefined;
  /** ISO 8601. */
  readonly connectedAt: string;
}

/** A handshake that is answered with another status. */
class HandshakeError extends Error {
  constructor(readonly status: number) {
    super(`The handshake is refused with ${status}`);
  }
}

/**
 * Creates the local WebSocket API: the authorizer and `$connect` decide about a handshake, the field
 * `action` of a message names its route, and functions send messages through the management API.
 */
export function createSocketGateway(
  { options, project: { store }, invoker, pending: { track } }: LocalServices,
): SocketGateway {
  const { functions: wiring, websocket: settings } = options.config.infra;
  const connections = new Map<string, Connection>();
  let isClosed = false;

  /** Returns the function of a route, e.g. `$connect`. */
  function find(routeKey: string): FunctionFile | undefined {
    return findSocketRoute(store.list(), routeKey);
  }

  /** Calls a function; an error becomes status 500. */
  async function invoke(fn: FunctionFile, event: WebSocketEvent): Promise<WebSocketResult> {
    const requestContext = { ...event.requestContext, domainName: "localhost", stage: "local" };
    const { result, error } = await invoker.invoke(fn, { ...event, requestContext }, {
      title: `${fn.name} ← ${event.requestContext.routeKey}`,
    });
    if (error !== undefined) return { statusCode: 500 };
    return (result ?? { statusCode: 200 }) as WebSocketResult;
  }

  /**
   * Asks the authorizer and `$connect` whether a client may connect.
   *
   * @throws {HandshakeError} If `$connect` refuses it.
   * @throws {GatewayError} If the authorizer denies access.
   */
  async function admitClient(request: IncomingMessage): Promise<WebSocketEventOptions> {
    const url = new URL(request.url ?? "/", "http://localhost");
    const hasSockets = store.list().some(({ kind }) => kind === "websocket");
    if (url.pathname !== SOCKET_PATH || !hasSockets) throw new HandshakeError(404);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const query = Object.fromEntries(url.searchParams);
    const connectionId = crypto.randomUUID().replaceAll("-", "").slice(0, 15) + "=";
    const connect = find("$connect");
    const authorizer = await authorize(connect, headers, query);
    // generate infra refuses an API without $connect, because it would admit every client
    if (connect === undefined) throw new HandshakeError(403);
    const connection = { connectionId, headers, query, authorizer };
    const { statusCode } = await invoke(connect, createWebSocketConnectEvent(connection));
    if (statusCode >= 400) throw new HandshakeError(statusCode);
    return connection;
  }

  async function authorize(
    connect: FunctionFile | undefined,
    headers: Record<string, string>,
    query: Record<string, string>,
  ): Promise<AuthorizerContext | undefined> {
    const { authorizer } = settings;
    // as in the generated infrastructure, an authorizer is only attached if $connect reads its result
    const isAsked = authorizer === undefined
      ? connect !== undefined && (await store.load(connect)).handler.auth === "authorizer"
      : authorizer !== false;
    const fn = isAsked ? selectAuthorizer(store.list(), authorizer || undefined) : undefined;
    if (fn === undefined) return undefined;
    const event = createRequestAuthorizerEvent({ path: SOCKET_PATH });
    Object.assign(event, { headers, queryStringParameters: query });
    return await runAuthorizer(() => invoker.invoke(fn, event, { title: "authorize $connect" }));
  }

  async function receive(connectionId: string, data: Uint8Array): Promise<void> {
    const { socket, authorizer } = connections.get(connectionId)!;
    const body = new TextDecoder().decode(data);
    const fn = findMessageRoute(store.list(), body);
    if (fn === undefined) {
      socket.send(toGatewayMessage("Forbidden", connectionId));
      return;
    }
    const { routeKey } = fn;
    const event = createWebSocketMessageEvent({ connectionId, authorizer, body, routeKey });
    const { twoWay } = wiring[fn.name] ?? {};
    const answer = getSocketAnswer(await invoke(fn, event), connectionId, twoWay);
    if (answer !== undefined) socket.send(answer);
  }

  function open(socket: Socket, { connectionId = "", authorizer }: WebSocketEventOptions): void {
    connections.set(connectionId, { socket, authorizer, connectedAt: new Date().toISOString() });
    socket.on("message", (data) => {
      track(receive(connectionId, data).catch((error) => logError("message failed", { error })));
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      connections.delete(connectionId);
      const fn = find("$disconnect");
      // the database is closed with the server
      if (fn === undefined || isClosed) return;
      track(invoke(fn, createWebSocketDisconnectEvent({ connectionId, authorizer })));
    });
  }

  return {
    async accept(request, socket, head): Promise<void> {
      try {
        const { WebSocketServer } = await loadWebSockets();
        const connection = await admitClient(request);
        const server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
        server.handleUpgrade(request, socket, head, (opened: Socket) => open(opened, connection));
      } catch (error) {
        const isRefused = error instanceof HandshakeError || error instanceof GatewayError;
        const status = isRefused ? error.status : 500;
        if (status === 500) logError("WebSocket handshake failed", { error });
        if (status === 404) {
          const reason = `the local WebSocket API is at ${SOCKET_PATH}`;
          logWarn("WebSocket handshake refused", { reason });
        }
        socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      }
    },

    async answer(request, response, url): Promise<void> {
      assertNoPage(request);
      const id = decodeURIComponent(url.pathname.split("/@connections/")[1] ?? "");
      const data = await readBody(request, MAX_MESSAGE_BYTES);
      const connection = connections.get(id);
      if (connection === undefined) {
        response.writeHead(410, { "x-amzn-ErrorType": "GoneException" }).end("{}");
        return;
      }
      const { socket, connectedAt } = connection;
      if (request.method === "POST") socket.send(data.toString("utf8"));
      else if (request.method === "DELETE") socket.close();
      response.writeHead(200, { "Content-Type": "application/json" })
        .end(request.method === "GET" ? JSON.stringify({ connectedAt }) : undefined);
    },

    close(): void {
      isClosed = true;
      for (const { socket } of connections.values()) socket.terminate();
    },
  };
}
