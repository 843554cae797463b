import type * as DynamoDb from "@aws-sdk/client-dynamodb";
import { loadOnce } from "../core/async/single_flight.ts";
import type { IdempotencyStore } from "../core/idempotency.ts";
import { wholeNumber } from "../core/function_options.ts";
import { checkOption, checkOptions, someText } from "../core/option_rules.ts";
import { limitClient, REPEATABLE, type RequestLimit } from "../env/limit_request.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../env/optional_package.ts";
import type { Attempt, Claim, IdempotencyBackend, RecordKey, RecordTerms } from "./backend.ts";
import { createIdempotencyStore } from "./stores.ts";
import { NOT_STORED } from "./execute_once.ts";

/** Options of {@link createDynamoDbStore}. */
export interface DynamoDbStoreOptions {
  /** Name of the table: the output `table_name` of the Terraform module `idempotency`. */
  tableName: string;
  /**
   * Largest result in bytes, 1 to 390,000. DynamoDB stores items of up to 400 KB.
   * @default 350000
   */
  maxResultBytes?: number;
}

const TABLE_NAME = someText("the name of a table");

const LIMIT: RequestLimit = { service: "Amazon DynamoDB", limitMs: 5000 };

type Item = Record<string, DynamoDb.AttributeValue>;

/** Attributes of a record, as AWS Powertools names them. `fence` is an addition, which Powertools ignores. */
const NAMES = {
  "#id": "id",
  "#expiry": "expiration",
  "#lease": "in_progress_expiration",
  "#status": "status",
} as const;

const RUNNING: DynamoDb.AttributeValue = { S: "INPROGRESS" };
const DONE: DynamoDb.AttributeValue = { S: "COMPLETED" };

/** The record is missing, has expired, or its lease has ended. */
const IS_FREE = "attribute_not_exists(#id) OR #expiry < :now OR " +
  "(#status = :running AND attribute_exists(#lease) AND #lease < :nowMs)";
const IS_OWN = "#status = :running AND #fence = :fence";

/**
 * Creates a store in a DynamoDB table, in the record format of AWS Powertools. It works like `createLeaseStore`. Its times are
 * those of the function's clock. Install `@aws-sdk/client-dynamodb`. Region, endpoint and credentials come from the environment.
 *
 * @param options The table.
 * @returns The store.
 * @throws {ConfigurationError} If an option is invalid.
 *
 * @example
 * ```ts
 * import { defineEventHandler } from "@trellis/fn/triggers";
 * import { createDynamoDbStore } from "@trellis/fn/idempotency";
 *
 * const store = createDynamoDbStore({ tableName: "notes-prod-idempotency" });
 * const handler = defineEventHandler({ idempotency: { store } })(function importNote() {});
 * ```
 */
export function createDynamoDbStore(options: DynamoDbStoreOptions): IdempotencyStore {
  const maxResultBytes = wholeNumber([1, 390_000, "bytes"]);
  checkOptions("createDynamoDbStore", options, { tableName: TABLE_NAME, maxResultBytes });
  checkOption("tableName", options.tableName, TABLE_NAME);
  return createIdempotencyStore(createBackend(options));
}

function createBackend(
  { tableName, maxResultBytes = 350_000 }: DynamoDbStoreOptions,
): IdempotencyBackend {
  const connect = loadOnce(loadClient);
  return {
    maxResultBytes,

    async claim({ id, fingerprint }: RecordKey, terms: RecordTerms): Promise<Claim> {
      const { sdk, client } = await connect();
      const fence = crypto.randomUUID();
      const nowMs = Date.now();
      const item: Item = {
        id: { S: id },
        status: RUNNING,
        expiration: toNumber(Math.round(nowMs / 1000 + terms.ttlSeconds)),
        in_progress_expiration: toNumber(nowMs + terms.leaseSeconds * 1000),
        validation: { S: fingerprint },
        fence: { S: fence },
      };
      const put = new sdk.PutItemCommand({
        TableName: tableName,
        Item: item,
        ConditionExpression: IS_FREE,
        ExpressionAttributeNames: NAMES,
        ExpressionAttributeValues: {
          ":now": toNumber(nowMs / 1000),
          ":nowMs": toNumber(nowMs),
          ":running": RUNNING,
        },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      });
      try {
        await client.send(put);
        return { state: "claimed", fence };
      } catch (error) {
        if (!(error instanceof sdk.ConditionalCheckFailedException)) throw error;
        return readClaim(error.Item, fence, fingerprint);
      }
    },

    async complete(attempt: Attempt, result: string): Promise<boolean> {
      const { sdk, client } = await connect();
      const update = new sdk.UpdateItemCommand({
        TableName: tableName,
        Key: { id: { S: attempt.id } },
        UpdateExpression: "SET #status = :done, #expiry = :expiry, #data = :data",
        ConditionExpression: IS_OWN,
        ExpressionAttributeNames: {
          "#status": NAMES["#status"],
          "#expiry": NAMES["#expiry"],
          "#data": "data",
          "#fence": "fence",
        },
        ExpressionAttributeValues: {
          ":done": DONE,
          ":running": RUNNING,
          ":fence": { S: attempt.fence },
          ":expiry": toNumber(Math.round(Date.now() / 1000 + attempt.ttlSeconds)),
          ":data": { S: result },
        },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      });
      try {
        await client.send(update);
        return true;
      } catch (error) {
        if (!(error instanceof sdk.ConditionalCheckFailedException)) throw error;
        // the client repeats a call whose answer was lost
        return error.Item?.fence?.S === attempt.fence;
      }
    },

    async release(attempt: Attempt): Promise<void> {
      const { sdk, client } = await connect();
      const remove = new sdk.DeleteItemCommand({
        TableName: tableName,
        Key: { id: { S: attempt.id } },
        ConditionExpression: IS_OWN,
        ExpressionAttributeNames: { "#status": NAMES["#status"], "#fence": "fence" },
        ExpressionAttributeValues: { ":running": RUNNING, ":fence": { S: attempt.fence } },
      });
      try {
        await client.send(remove);
      } catch (error) {
        // another execution holds the record
        if (!(error instanceof sdk.ConditionalCheckFailedException)) throw error;
      }
    },
  };
}

async function loadClient(): Promise<{ sdk: typeof DynamoDb; client: DynamoDb.DynamoDBClient }> {
  const sdk = await import("@aws-sdk/client-dynamodb").catch(
    explainMissing(RUNTIME_PACKAGES, "@aws-sdk/client-dynamodb", "createDynamoDbStore"),
  );
  return { sdk, client: limitClient(new sdk.DynamoDBClient(REPEATABLE), LIMIT) };
}

function readClaim(item: Item | undefined, fence: string, fingerprint: string): Claim {
  // deleted since: the next duplicate can claim it
  if (item === undefined) return { state: "running", fingerprint };
  // the client repeats a call whose answer was lost
  if (item.fence?.S === fence) return { state: "claimed", fence };
  const found = item.validation?.S ?? "";
  if (item.status?.S !== DONE.S) return { state: "running", fingerprint: found };
  return { state: "done", fingerprint: found, result: item.data?.S ?? NOT_STORED };
}

function toNumber(value: number): DynamoDb.AttributeValue {
  return { N: String(value) };
}
