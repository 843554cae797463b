import "@aws-sdk/util-dynamodb";
import { IdempotencyConfig, IdempotencyRecordStatus } from "@aws-lambda-powertools/idempotency";
import { DynamoDBPersistenceLayer } from "@aws-lambda-powertools/idempotency/dynamodb";
import { assertEquals, assertThrows } from "@std/assert";
import { ConfigurationError } from "../../errors/mod.ts";
import { createDynamoDbStore } from "../../idempotency/mod.ts";
import { createFakeClock, createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { type DynamoDbServer, startDynamoDbServer } from "../support/dynamodb_server.ts";
import { withEnv } from "../support/with_env.ts";

const context = createLambdaContext({ functionName: "orders", clock: createFakeClock() });
const event = createRestApiEvent({
  method: "POST",
  path: "/orders",
  headers: { "Idempotency-Key": "k-1" },
  body: "{}",
});

function testDynamo(name: string, test: (server: DynamoDbServer) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn(): Promise<void> {
      const server = startDynamoDbServer("records");
      const variables = {
        AWS_ENDPOINT_URL_DYNAMODB: server.url,
        AWS_REGION: "eu-central-1",
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test",
        AWS_LAMBDA_FUNCTION_NAME: "orders",
      };
      await withEnv(variables, () => test(server)).finally(() => server.stop());
    },
  });
}

function createHandler(answer: () => Promise<string> | string) {
  const store = createDynamoDbStore({ tableName: "records" });
  return defineApiHandler({
    logging: { level: "SILENT" },
    metrics: false,
    idempotency: { store },
  })(async function createOrder() {
    return { statusCode: 200, body: await answer() };
  });
}

/** The persistence layer of AWS Powertools for the operation `createOrder` of the function `orders`. */
function createPowertoolsLayer(): DynamoDBPersistenceLayer {
  const layer = new DynamoDBPersistenceLayer({ tableName: "records" });
  const config = new IdempotencyConfig({ hashFunction: "sha256" });
  layer.configure({ config, functionName: "createOrder" });
  return layer;
}

const DATA = { scope: "", key: "k-1" };

testDynamo("createDynamoDbStore() writes records that AWS Powertools reads", async () => {
  const ends = Promise.withResolvers<string>();
  const handler = createHandler(() => ends.promise);
  const layer = createPowertoolsLayer();
  const first = handler(event, context);
  let record = await layer.getRecord(DATA).catch(() => undefined);
  while (record === undefined) record = await layer.getRecord(DATA).catch(() => undefined);
  assertEquals(record.getStatus(), IdempotencyRecordStatus.INPROGRESS);
  ends.resolve("done");
  await first;
  const done = await layer.getRecord(DATA);
  assertEquals(done.getStatus(), IdempotencyRecordStatus.COMPLETED);
  assertEquals(JSON.parse(String(done.getResponse())).body, "done");
});

testDynamo(
  "createDynamoDbStore() respects the records that AWS Powertools writes",
  async (server) => {
    const layer = createPowertoolsLayer();
    await layer.saveInProgress(DATA, 60_000);
    const [item] = server.items.values();
    item.validation = { S: "another" };
    const handler = createHandler(() => "executed");
    assertEquals((await handler(event, context)).statusCode, 422);
    item.in_progress_expiration = { N: String(Date.now() - 1) };
    assertEquals((await handler(event, context)).body, "executed");
  },
);

testDynamo(
  "createDynamoDbStore() recognizes its own record when an answer is lost",
  async (server) => {
    let calls = 0;
    const handler = createHandler(() => String(++calls));
    server.loseAnswerOf = "PutItem";
    assertEquals((await handler(event, context)).body, "1");
    server.items.clear();
    server.loseAnswerOf = "UpdateItem";
    await handler(event, context);
    const { body, headers } = await handler(event, context);
    assertEquals([body, headers?.["Idempotency-Replayed"]], ["2", "true"]);
    assertEquals(server.calls.filter((call) => call === "PutItem").length, 4);
  },
);

Deno.test("createDynamoDbStore() refuses invalid options", () => {
  for (const options of [{}, { tableName: "" }, { tableName: "t", maxResultBytes: 400_000 }]) {
    assertThrows(() => createDynamoDbStore(options as never), ConfigurationError);
  }
});
