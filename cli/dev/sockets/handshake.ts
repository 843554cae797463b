import type { IncomingMessage } from "node:http";
import type { AuthorizerContext } from "../../../core/http/lambda.ts";
import {
  createRequestAuthorizerEvent,
  createWebSocketConnectEvent,
  type WebSocketEventOptions,
} from "../../../testing/gateway_events.ts";
import type { InfraSettings } from "../../config/infra.ts";
import type { FunctionStore } from "../functions/function_store.ts";
import type { Invoker } from "../functions/invoker.ts";
import { GatewayError, runAuthorizer, selectAuthorizer } from "../functions/run_authorizer.ts";
import type { SocketFunctions } from "./socket_functions.ts";

/** The path to which clients connect. */
export const SOCKET_PATH = "/_trellis/websocket";

/** What decides about handshakes. */
export interface HandshakeOptions {
  readonly store: FunctionStore;
  readonly invoker: Invoker;
  readonly functions: SocketFunctions;
  /** The setting `infra.websocket`. */
  readonly settings: NonNullable<InfraSettings["websocket"]>;
}

/** A handshake that is answered with another status. */
class HandshakeError extends Error {
  constructor(readonly status: number) {
    super(`The handshake is refused with ${status}`);
  }
}

/**
 * Asks the authorizer and `$connect` whether a client may connect.
 *
 * @returns The new connection.
 * @throws If the handshake is refused; {@link getRefusedStatus} returns the status.
 */
export async function admitClient(
  { store, invoker, functions, settings }: HandshakeOptions,
  request: IncomingMessage,
): Promise<WebSocketEventOptions> {
  const url = new URL(request.url ?? "/", "http://localhost");
  const hasSockets = store.list().some(({ kind }) => kind === "websocket");
  if (url.pathname !== SOCKET_PATH || !hasSockets) throw new HandshakeError(404);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const query = Object.fromEntries(url.searchParams);
  const connectionId = crypto.randomUUID().replaceAll("-", "").slice(0, 15) + "=";
  const authorizer = await authorize();
  const connection = { connectionId, headers, query, authorizer };
  const fn = functions.find("$connect");
  // generate infra refuses an API without $connect, because it would admit every client
  if (fn === undefined) throw new HandshakeError(403);
  const { statusCode } = await functions.invoke(fn, createWebSocketConnectEvent(connection));
  if (statusCode >= 400) throw new HandshakeError(statusCode);
  return connection;

  /** As in the generated infrastructure, an authorizer is only attached if `$connect` reads its result. */
  async function asksAuthorizer(): Promise<boolean> {
    const fn = functions.find("$connect");
    return fn !== undefined && (await store.load(fn)).handler.auth === "authorizer";
  }

  async function authorize(): Promise<AuthorizerContext | undefined> {
    const { authorizer } = settings;
    if (authorizer === false || authorizer === undefined && !await asksAuthorizer()) {
      return undefined;
    }
    const fn = selectAuthorizer(store, authorizer);
    if (fn === undefined) return undefined;
    const event = createRequestAuthorizerEvent({ path: SOCKET_PATH });
    Object.assign(event, { headers, queryStringParameters: query });
    return await runAuthorizer(() => invoker.invoke(fn, event, { title: "authorize $connect" }));
  }
}

/** Returns the status of a refused handshake; 500 for other errors. */
export function getRefusedStatus(error: unknown): number {
  const isRefused = error instanceof HandshakeError || error instanceof GatewayError;
  return isRefused ? error.status : 500;
}
