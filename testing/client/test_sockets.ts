import { parseJsonOr } from "../../core/http/parse_json.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { WebSocketResult } from "../../core/triggers/trigger_events.ts";
import {
  createRequestAuthorizerEvent,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
} from "../gateway_events.ts";
import { GatewayError, runAuthorizer, selectAuthorizer } from "../gateway/run_authorizer.ts";
import {
  findMessageRoute,
  findSocketRoute,
  getSocketAnswer,
  toGatewayMessage,
} from "../gateway/socket_routes.ts";
import type { TestSocket, TestSocketOptions } from "../test_client.ts";
import { invokeAuthorizer } from "./send_request.ts";
import type { TestProject } from "./test_project.ts";

/** The WebSocket API of a test. */
export interface TestSockets {
  /** Connects a client. */
  connect(options?: TestSocketOptions): Promise<TestSocket>;
  /** Takes a message of a function; returns false if the connection has ended. */
  post(connectionId: string, data: Uint8Array): boolean;
}

/** Creates the WebSocket API of a project. */
export function createTestSockets(project: TestProject): TestSockets {
  const { functions, settings } = project;
  /** The received messages of open connections. */
  const received = new Map<string, string[]>();
  let created = 0;

  async function admit(
    connectionId: string,
    { as, headers, query }: TestSocketOptions,
  ): Promise<{ readonly status: number; readonly authorizer?: TestSocketAuthorizer }> {
    const connect = findSocketRoute(functions, "$connect");
    if (connect === undefined) {
      throw new ConfigurationError("The project has no function websocket/$connect");
    }
    const handshake = { ...as?.headers, ...headers };
    try {
      const authorizer = as?.authorizer ?? await authorize(handshake, query);
      const event = createWebSocketConnectEvent({
        connectionId,
        headers: handshake,
        query,
        authorizer,
      });
      const result = await project.invoke(connect, event) as Partial<WebSocketResult> | undefined;
      return { status: result?.statusCode ?? 200, authorizer };
    } catch (error) {
      if (error instanceof GatewayError) return { status: error.status };
      throw error;
    }
  }

  /** Runs the authorizer if `$connect` reads its result, as the generated infrastructure does. */
  async function authorize(
    headers: Readonly<Record<string, string>>,
    query: Readonly<Record<string, string>> | undefined,
  ): Promise<TestSocketAuthorizer> {
    const { authorizer } = settings.infra?.websocket ?? {};
    const [reading] = await project.find("websocket", ({ auth }) => auth === "authorizer");
    const isAsked = authorizer === undefined ? reading !== undefined : authorizer !== false;
    const fn = isAsked ? selectAuthorizer(functions, authorizer || undefined) : undefined;
    if (fn === undefined) return undefined;
    const event = createRequestAuthorizerEvent({ path: "/", headers, query });
    return await runAuthorizer(() => invokeAuthorizer(project, fn.name, event));
  }

  return {
    post(connectionId, data): boolean {
      return received.get(connectionId)?.push(new TextDecoder().decode(data)) !== undefined;
    },

    async connect(options = {}): Promise<TestSocket> {
      const connectionId = `test-${++created}=`;
      // $connect may already send to it
      received.set(connectionId, []);
      const messages = received.get(connectionId)!;
      const { status, authorizer } = await admit(connectionId, options);
      if (status >= 400) received.delete(connectionId);

      function assertOpen(): void {
        if (received.has(connectionId)) return;
        throw new ConfigurationError(`The connection ${connectionId} is closed (status ${status})`);
      }

      return {
        status,
        connectionId,
        messages: () => messages.map((text) => parseJsonOr(text, text)),
        async send(message): Promise<void> {
          assertOpen();
          const body = typeof message === "string" ? message : JSON.stringify(message);
          const fn = findMessageRoute(functions, body);
          if (fn === undefined) {
            messages.push(toGatewayMessage("Forbidden", connectionId));
            return;
          }
          const { routeKey } = fn;
          const event = createWebSocketMessageEvent({ connectionId, authorizer, body, routeKey });
          const result = await project.invoke(fn, event) as Partial<WebSocketResult> | undefined;
          const { twoWay } = settings.infra?.functions?.[fn.name] ?? {};
          const answer = getSocketAnswer(result ?? {}, connectionId, twoWay);
          if (answer !== undefined) messages.push(answer);
        },
        async close(): Promise<void> {
          assertOpen();
          received.delete(connectionId);
          const fn = findSocketRoute(functions, "$disconnect");
          if (fn === undefined) return;
          await project.invoke(fn, createWebSocketDisconnectEvent({ connectionId, authorizer }));
        },
      };
    },
  };
}

type TestSocketAuthorizer = Readonly<Record<string, unknown>> | undefined;
