import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthorizerContext } from "../../../core/http/lambda.ts";
import { assertNoPage } from "../aws/aws_sink.ts";
import { readBody } from "../http/http_server.ts";

/** The path of the management endpoint, through which functions send messages to connections. */
export const CONNECTIONS_PATH = "/_trellis/connections";

/** Limit of API Gateway for a message (WebSocket quotas, 2026-11). */
export const MAX_MESSAGE_BYTES: number = 128 * 1024;

/** The part of a connection of the package `ws` that is used here. */
export interface Socket {
  send(data: string | Uint8Array): void;
  close(code?: number): void;
  terminate(): void;
  on(event: "message", listener: (data: Uint8Array, isBinary: boolean) => void): void;
  on(event: "close" | "error", listener: () => void): void;
}

/** An open connection. */
export interface Connection {
  readonly socket: Socket;
  readonly authorizer: AuthorizerContext | undefined;
  /** ISO 8601. */
  readonly connectedAt: string;
}

/**
 * Answers clients of the management API: they send a message to a connection, read its state or close
 * it.
 *
 * @param connections The open connections by their ids.
 * @param url The URL of the request.
 */
export async function answerConnections(
  connections: ReadonlyMap<string, Connection>,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  assertNoPage(request);
  const id = decodeURIComponent(url.pathname.split("/@connections/")[1] ?? "");
  const data = await readBody(request, MAX_MESSAGE_BYTES);
  const connection = connections.get(id);
  if (connection === undefined) {
    response.writeHead(410, { "x-amzn-ErrorType": "GoneException" }).end("{}");
    return;
  }
  if (request.method === "POST") connection.socket.send(data.toString("utf8"));
  else if (request.method === "DELETE") connection.socket.close();
  const { connectedAt } = connection;
  response.writeHead(200, { "Content-Type": "application/json" })
    .end(request.method === "GET" ? JSON.stringify({ connectedAt }) : undefined);
}
