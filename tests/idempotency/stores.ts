import type { IdempotencyStore } from "../../core/idempotency.ts";
import { sql } from "../../database/orm.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import {
  createDynamoDbStore,
  createLeaseStore,
  createTransactionStore,
  IDEMPOTENCY_MIGRATION_SQL,
} from "../../idempotency/mod.ts";
import { createTestDatabase } from "../../testing/mod.ts";
import { type DynamoDbServer, startDynamoDbServer } from "../support/dynamodb_server.ts";

/** Store under test. */
export interface StoreLab {
  readonly name: string;
  readonly store: IdempotencyStore<unknown>;
  /** Ends the lease of all records. */
  endLeases(): Promise<void>;
  /** Expires all records. */
  expire(): Promise<void>;
  /** Number of records. */
  count(): Promise<number>;
  /** Everything that is stored, as text. */
  dump(): Promise<string>;
}

/** Stores of all kinds. */
export interface Stores {
  readonly all: readonly StoreLab[];
  readonly db: DrizzleClient;
  readonly dynamo: DynamoDbServer;
  close(): Promise<void>;
}

/** Creates the table of the records. */
export async function createRecordsTable(db: DrizzleClient): Promise<void> {
  for (const statement of IDEMPOTENCY_MIGRATION_SQL.split("--> statement-breakpoint")) {
    await db.execute(sql.raw(statement));
  }
}

/** Opens a database and a DynamoDB server with a store of each kind. */
async function openStores(): Promise<Stores> {
  const database = await createTestDatabase();
  const { db } = database;
  await createRecordsTable(db);
  const dynamo = startDynamoDbServer("records");
  Deno.env.set("AWS_ENDPOINT_URL_DYNAMODB", dynamo.url);
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) Deno.env.set(name, "test");
  Deno.env.set("AWS_REGION", "eu-central-1");
  const inDatabase = {
    endLeases: async () =>
      void await db.execute(sql`UPDATE idempotency_records SET lease_expires_at = now()`),
    expire: async () =>
      void await db.execute(sql`UPDATE idempotency_records SET expires_at = now()`),
    count: async () =>
      Number((await db.execute(sql`SELECT count(*) AS n FROM idempotency_records`)).rows[0].n),
    dump: async () =>
      JSON.stringify((await db.execute(sql`SELECT * FROM idempotency_records`)).rows),
  };
  return {
    db,
    dynamo,
    all: [
      { name: "transaction", store: createTransactionStore(() => db), ...inDatabase },
      { name: "lease", store: createLeaseStore(() => db), ...inDatabase },
      {
        name: "dynamodb",
        store: createDynamoDbStore({ tableName: "records" }),
        endLeases: () => setAll(dynamo, "in_progress_expiration", Date.now() - 1),
        expire: () => setAll(dynamo, "expiration", Math.floor(Date.now() / 1000) - 1),
        count: () => Promise.resolve(dynamo.items.size),
        dump: () => Promise.resolve(JSON.stringify([...dynamo.items.values()])),
      },
    ],
    async close(): Promise<void> {
      await dynamo.stop();
      await database.close();
    },
  };
}

function setAll({ items }: DynamoDbServer, name: string, value: number): Promise<void> {
  for (const item of items.values()) item[name] = { N: String(value) };
  return Promise.resolve();
}

let opened: Stores | undefined;
Deno.test.afterAll(() => opened?.close());

/** Opens the stores that all tests of a file share. */
export async function shareStores(): Promise<Stores> {
  return opened ??= await openStores();
}

/** Runs a test on each kind of store. */
export function testStores(
  name: string,
  test: (lab: StoreLab, stores: Stores) => Promise<void>,
): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn(t): Promise<void> {
      const stores = await shareStores();
      for (const lab of stores.all) {
        stores.dynamo.items.clear();
        await stores.db.execute(sql`DELETE FROM idempotency_records`);
        await t.step({
          name: lab.name,
          fn: () => test(lab, stores),
          sanitizeOps: false,
          sanitizeResources: false,
        });
      }
    },
  });
}
