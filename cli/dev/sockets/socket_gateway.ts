import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { explainMissing } from "../../../env/optional_package.ts";
import { logError } from "../../../observability/logger.ts";
import {
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
  type WebSocketEventOptions,
} from "../../../testing/gateway_events.ts";
import { CLI_PACKAGES } from "../../terminal/optional_packages.ts";
import type { FunctionInfra } from "../../config/function_infra.ts";
import type { InfraSettings } from "../../config/infra.ts";
import type { FunctionStore } from "../functions/function_store.ts";
import type { Invoker } from "../functions/invoker.ts";
import {
  answerConnections,
  type Connection,
  MAX_MESSAGE_BYTES,
  type Socket,
} from "./connections.ts";
import { admitClient, getRefusedStatus } from "./handshake.ts";
import { createSocketFunctions } from "./socket_functions.ts";

/** Options of {@link createSocketGateway}. */
export interface SocketGatewayOptions {
  readonly store: FunctionStore;
  readonly invoker: Invoker;
  /** The setting `infra.websocket`. */
  readonly settings: NonNullable<InfraSettings["websocket"]>;
  /** The setting `infra.functions`. */
  readonly wiring: Readonly<Record<string, FunctionInfra>>;
  /** Registers work that must finish before the server stops. */
  readonly track: (work: Promise<unknown>) => unknown;
}

/** The local WebSocket API. */
export interface SocketGateway {
  /** Answers the handshake of a client. */
  accept(request: IncomingMessage, socket: Duplex, head: Uint8Array): Promise<void>;
  /** Answers clients of the management API. */
  answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void>;
  /** Closes all connections. */
  close(): void;
}

/**
 * Creates the local WebSocket API: the authorizer and `$connect` decide about a handshake, the field
 * `action` of a message names its route, and functions send messages through the management API.
 */
export function createSocketGateway(options: SocketGatewayOptions): SocketGateway {
  const { store, invoker, settings, wiring, track } = options;
  const functions = createSocketFunctions(store, invoker);
  const connections = new Map<string, Connection>();
  let isClosed = false;

  async function receive(connectionId: string, data: Uint8Array): Promise<void> {
    const { socket, authorizer } = connections.get(connectionId)!;
    const body = new TextDecoder().decode(data);
    const fn = functions.find(getAction(body) ?? "$default") ?? functions.find("$default");
    if (fn === undefined) {
      socket.send(JSON.stringify({ message: "Forbidden", connectionId }));
      return;
    }
    const { routeKey } = fn;
    const event = createWebSocketMessageEvent({ connectionId, authorizer, body, routeKey });
    const { statusCode, body: answer } = await functions.invoke(fn, event);
    if (wiring[fn.name]?.twoWay && answer !== undefined) socket.send(answer);
    else if (statusCode >= 500) {
      socket.send(JSON.stringify({ message: "Internal server error", connectionId }));
    }
  }

  function open(socket: Socket, options: WebSocketEventOptions): void {
    const connectionId = options.connectionId!;
    const { authorizer } = options;
    connections.set(connectionId, { socket, authorizer, connectedAt: new Date().toISOString() });
    socket.on("message", (data) => {
      track(receive(connectionId, data).catch((error) => logError("message failed", { error })));
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      connections.delete(connectionId);
      const fn = functions.find("$disconnect");
      // the database is closed with the server
      if (fn === undefined || isClosed) return;
      track(functions.invoke(fn, createWebSocketDisconnectEvent({ connectionId, authorizer })));
    });
  }

  return {
    async accept(request, socket, head): Promise<void> {
      try {
        const { WebSocketServer } = await import("ws").catch(
          explainMissing(CLI_PACKAGES, "ws", "The local WebSocket API"),
        );
        const options = await admitClient({ store, invoker, functions, settings }, request);
        const server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
        server.handleUpgrade(request, socket, head, (opened: Socket) => open(opened, options));
      } catch (error) {
        const status = getRefusedStatus(error);
        if (status === 500) logError("WebSocket handshake failed", { error });
        socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      }
    },

    answer: (request, response, url) => answerConnections(connections, request, response, url),

    close(): void {
      isClosed = true;
      for (const { socket } of connections.values()) socket.terminate();
    },
  };
}

/** Returns the route that a message names: `$request.body.action`. */
function getAction(body: string): string | undefined {
  try {
    const { action } = JSON.parse(body) as { action?: unknown };
    return typeof action === "string" ? action : undefined;
  } catch {
    return undefined;
  }
}
