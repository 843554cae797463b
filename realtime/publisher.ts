import { loadOnce } from "../core/async/single_flight.ts";
import { wholeNumber } from "../core/function_options.ts";
import { checkOptions, FUNCTION_OPTION, OBJECT_OPTION } from "../core/option_rules.ts";
import { getTestServices } from "../core/test_services.ts";
import { limitClient, type RequestLimit } from "../env/limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../env/optional_package.ts";
import { ConfigurationError, PayloadTooLargeError } from "../errors/http_errors.ts";
import { describeError } from "../observability/describe_error.ts";
import { logWarn } from "../observability/logger.ts";
import type { ConnectionStore } from "./connection_store.ts";

/** Options of {@link createPublisher}. */
export interface PublisherOptions {
  /** The connections with their topics. Those that are gone are removed. */
  connections: ConnectionStore;
  /**
   * Returns the URL of the API's management endpoint, such as `() => getRequiredEnv("SOCKET_URL")` with
   * `{ websocket: true }` in `infra.environment`.
   */
  endpoint: () => string;
  /**
   * Messages under way at once, 1 to 1,000.
   * @default 20
   */
  concurrency?: number;
}

/** What became of a message. */
export interface PublishResult {
  /** Connections that it was sent to. */
  delivered: number;
  /** Connections that had ended, which are now removed. */
  gone: number;
  /** Connections that it could not be sent to. Each is logged. */
  failed: number;
}

/** Sends messages to clients of a WebSocket API. */
export interface Publisher {
  /**
   * Sends a message to one connection.
   *
   * @param connectionId The connection.
   * @param message A string is sent unchanged, other values as JSON.
   * @returns False if the connection has ended; it is then removed.
   * @throws {PayloadTooLargeError} If the message has more than 128 KB.
   * @throws {TypeError} If the message cannot be serialised as JSON.
   * @throws {ConfigurationError} If the package or the endpoint is missing: nothing can be sent.
   */
  send(connectionId: string, message: unknown): Promise<boolean>;
  /**
   * Sends a message to all connections of a topic.
   *
   * @param topic The topic.
   * @param message A string is sent unchanged, other values as JSON.
   * @throws {PayloadTooLargeError} If the message has more than 128 KB.
   * @throws {TypeError} If the message cannot be serialised as JSON.
   * @throws {ConfigurationError} If the package or the endpoint is missing: nothing can be sent.
   */
  publish(topic: string, message: unknown): Promise<PublishResult>;
}

/** Limit of API Gateway for a message (WebSocket quotas, 2026-11). */
const MAX_MESSAGE_BYTES = 128 * 1024;
const PAGE_SIZE = 1000;
const LIMIT: RequestLimit = { service: "The WebSocket API", limitMs: 5000 };

/**
 * Creates a publisher. Install `@aws-sdk/client-apigatewaymanagementapi`. Region and credentials come
 * from the environment; the role needs `execute-api:ManageConnections` on the API, which
 * `{ websocket: true }` gives it.
 *
 * @param options Connections, endpoint and concurrency.
 * @returns The publisher. It connects when it first sends.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import { getRequiredEnv } from "@trellis/fn/env";
 * import { createConnectionStore, createPublisher } from "@trellis/fn/realtime";
 *
 * export const connections = createConnectionStore(() => getDrizzleClient({ provider: "embedded-pg" }));
 * export const publisher = createPublisher({ connections, endpoint: () => getRequiredEnv("SOCKET_URL") });
 *
 * // in a handler: await publisher.publish(`room:${roomId}`, { text: body.text });
 * ```
 */
export function createPublisher(options: PublisherOptions): Publisher {
  checkOptions("createPublisher", options, {
    connections: OBJECT_OPTION,
    endpoint: FUNCTION_OPTION,
    concurrency: wholeNumber([1, 1000, "messages at once"]),
  });
  const { connections, endpoint, concurrency = 20 } = options;
  if (connections === undefined || endpoint === undefined) {
    throw new ConfigurationError("createPublisher needs connections and endpoint");
  }
  const post = createSender(endpoint);

  return {
    async send(connectionId, message): Promise<boolean> {
      const isThere = await post(connectionId, encode(message));
      if (!isThere) await connections.remove(connectionId);
      return isThere;
    },

    async publish(topic, message): Promise<PublishResult> {
      const data = encode(message);
      const result: PublishResult = { delivered: 0, gone: 0, failed: 0 };
      let after: string | undefined;
      while (true) {
        const page = await connections.list(topic, { limit: PAGE_SIZE, after });
        const gone = await sendToAll(page, data, { post, concurrency, topic, result });
        if (gone.length > 0) await connections.remove(...gone);
        if (page.length < PAGE_SIZE) return result;
        after = page.at(-1);
      }
    },
  };
}

/** Sends to one connection; returns false if it has ended. */
type Send = (connectionId: string, data: Uint8Array) => Promise<boolean>;

interface Sending {
  readonly post: Send;
  readonly concurrency: number;
  readonly topic: string;
  /** Is counted up. */
  readonly result: PublishResult;
}

/** Sends to connections, and returns those that have ended. */
async function sendToAll(
  connectionIds: readonly string[],
  data: Uint8Array,
  { post, concurrency, topic, result }: Sending,
): Promise<string[]> {
  const gone: string[] = [];
  const left = connectionIds.values();
  async function run(): Promise<void> {
    for (const connectionId of left) {
      try {
        if (await post(connectionId, data)) {
          result.delivered++;
        } else {
          result.gone++;
          gone.push(connectionId);
        }
      } catch (error) {
        // no connection can be reached: the package or the endpoint is missing
        if (error instanceof ConfigurationError) throw error;
        result.failed++;
        const reason = describeError(error).message;
        logWarn("message was not sent to a connection", { topic, connectionId, reason });
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, connectionIds.length) }, run));
  return gone;
}

function createSender(endpoint: () => string): Send {
  const connect = loadOnce(async () => {
    const sdk = await import("@aws-sdk/client-apigatewaymanagementapi").catch(
      explainMissing(
        RUNTIME_PACKAGES,
        "@aws-sdk/client-apigatewaymanagementapi",
        "createPublisher",
      ),
    );
    const client = new sdk.ApiGatewayManagementApiClient({ endpoint: endpoint() });
    return { sdk, client: limitClient(client, LIMIT) };
  });

  return async function post(ConnectionId, Data): Promise<boolean> {
    const test = getTestServices();
    if (test !== undefined) return test.postToConnection(ConnectionId, Data);
    const { sdk, client } = await connect();
    try {
      await client.send(new sdk.PostToConnectionCommand({ ConnectionId, Data }));
      return true;
    } catch (error) {
      if ((error as Error).name === "GoneException") return false;
      throw error;
    }
  };
}

function encode(message: unknown): Uint8Array {
  const text = typeof message === "string" ? message : JSON.stringify(message);
  if (text === undefined) throw new TypeError("The message cannot be serialised as JSON");
  const data = new TextEncoder().encode(text);
  if (data.length <= MAX_MESSAGE_BYTES) return data;
  throw new PayloadTooLargeError(
    `The message has ${data.length} bytes, but API Gateway sends at most ${MAX_MESSAGE_BYTES}`,
  );
}
