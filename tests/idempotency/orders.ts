import { buildValidatedResponse } from "../../core/mod.ts";
import { defineQueueHandler } from "../../triggers/mod.ts";
import { closeDrizzleClient, type DatabaseConfig, getDrizzleClient } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { createTransactionStore } from "../../idempotency/mod.ts";
import { createLambdaContext, createQueueEvent, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";

const QUIET = { logging: { level: "SILENT" }, metrics: false } as const;

/** Handlers that add an order, for requests and for messages. */
export type Orders = ReturnType<typeof createOrders>;

function getConfig(connectionString: string): DatabaseConfig {
  return { provider: "serverless-pg", connectionString, instrument: false };
}

/** Opens the connection. */
export async function connectOrders(url: string): Promise<void> {
  await (await getDrizzleClient(getConfig(url))).execute(sql`SELECT 1`);
}

/** Closes the connection, if it is open. */
export async function closeOrders(url: string): Promise<void> {
  await closeDrizzleClient(getConfig(url));
}

/** Creates the handlers on a database. Each execution adds a row, and answers with its number. */
export function createOrders(url: string) {
  const store = createTransactionStore(() => getDrizzleClient(getConfig(url)));
  const idempotency = { store, leaseSeconds: 1 };
  const request = defineApiHandler({ ...QUIET, idempotency })(
    async function createOrder({ event, tx, context }) {
      const key = event.headers["Idempotency-Key"];
      const { rows: [{ id }] } = await tx.execute<{ id: number }>(
        sql`INSERT INTO orders (key) VALUES (${key}) RETURNING id`,
      );
      return buildValidatedResponse(context, 201, { id, token: crypto.randomUUID() });
    },
  );
  const message = defineQueueHandler({ ...QUIET, idempotency })(
    async function importOrder({ record, tx }) {
      await tx.execute(sql`INSERT INTO orders (key) VALUES (${record.messageId})`);
    },
  );
  return { request, message };
}

/** Answer to a duplicate, after it was sent again as long as another execution was running. */
export interface OrderAnswer {
  readonly text: string;
  readonly conflicts: number;
}

const context = () =>
  createLambdaContext({ functionName: "orders", awsRequestId: crypto.randomUUID() });

/** Sends a request until it is neither a conflict nor a failure. */
export async function sendRequest({ request }: Orders, key: string): Promise<OrderAnswer> {
  for (let conflicts = 0;; conflicts++) {
    const event = createRestApiEvent({
      method: "POST",
      path: "/orders",
      headers: { "Idempotency-Key": key },
      body: "{}",
    });
    const { statusCode, headers = {}, body } = await request(event, context());
    if (statusCode !== 409 && statusCode < 500) {
      const type = headers["Content-Type"];
      return { text: JSON.stringify([statusCode, type, body]), conflicts };
    }
    await pause();
  }
}

/** Delivers a message until it was processed. */
export async function sendMessage({ message }: Orders, key: string): Promise<OrderAnswer> {
  for (let conflicts = 0;; conflicts++) {
    const { batchItemFailures } = await message(
      createQueueEvent([{ body: {}, messageId: key }]),
      context(),
    );
    if (batchItemFailures.length === 0) return { text: "processed", conflicts };
    await pause();
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 30));
}
