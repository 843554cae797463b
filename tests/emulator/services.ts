/**
 * Functions with services of AWS beside the database, on an emulator of AWS: idempotency records and a change stream of
 * DynamoDB, provisioned concurrency, and secrets that change while requests run.
 */
import { assert, assertEquals } from "@std/assert";
import { listProjectFiles, renderHealth } from "./project.ts";
import { checkPlanIsEmpty, deployFirst, destroyStage, testOnEmulator, until } from "./suite.ts";

testOnEmulator(
  "functions use records, change streams, provisioned concurrency and rotated secrets",
  async (suite) => {
    const { emulator, send, step, trellis } = suite;
    let api = "";
    const post = (path: string, title: string, headers: Record<string, string> = {}) =>
      emulator.request(`${api}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ title }),
      });
    const listTitles = async () => {
      const response = await emulator.request(`${api}/notes?limit=100`);
      const { notes } = await response.json() as { notes: { title: string }[] };
      return notes.map(({ title }) => title);
    };

    await step("deploy", async () => void (api = await deployFirst(suite)));

    await step("a request with the key of another one is answered from DynamoDB", async () => {
      const headers = { "idempotency-key": "first" };
      const answers = [];
      for (const _ of [1, 2]) answers.push(await post("/once", "once", headers));
      const [first, second] = await Promise.all(answers.map((answer) => answer.text()));
      assertEquals(answers.map(({ status }) => status), [201, 201], first + second);
      assertEquals(second, first);
      assertEquals(answers[1].headers.get("idempotency-replayed"), "true");
      const other = await post("/once", "other", headers);
      assertEquals(other.status, 422, await other.text());
      assertEquals((await listTitles()).filter((title) => title === "once").length, 1);
    });

    await step("a change of a table reaches its function", async () => {
      await send(["dynamodb", "PutItem", {
        TableName: "app-dev-stock",
        Item: { id: { S: "tea" }, stock: { N: "3" } },
      }]);
      const isThere = (titles: string[]) => titles.includes("tea: 3");
      assert(isThere(await until(listTitles, isThere)));
    });

    await step("the alias has sandboxes that are started in advance", async () => {
      const [found] = await send(["lambda", "GetProvisionedConcurrencyConfig", {
        FunctionName: "app-dev-Health",
        Qualifier: "live",
      }]);
      assertEquals([found.RequestedProvisionedConcurrentExecutions, found.Status], [2, "READY"]);
    });

    await step("the secret changes while requests run, and each one is answered", async () => {
      let isDone = false;
      const asking = (async () => {
        const statuses = new Set<number>();
        let count = 0;
        for (; !isDone; count++) {
          const response = await emulator.request(`${api}/health`);
          await response.text();
          statuses.add(response.status);
        }
        return { count, statuses: [...statuses] };
      })();
      try {
        for (let time = 0; time < 3; time++) {
          const { code, text } = await trellis("db rotate --stage dev");
          assertEquals(code, 0, text);
        }
      } finally {
        isDone = true;
      }
      const { count, statuses } = await asking;
      assertEquals(statuses, [200]);
      assert(count > 10, `${count} requests`);
    });

    await step("no request was denied", async () => {
      assertEquals(await emulator.listDenied(), []);
    });

    await step("a second plan is empty", () => checkPlanIsEmpty(suite));

    await step("destroy ends all of it", () => destroyStage(suite));
  },
  {
    isLong: true,
    project: {
      template: "api",
      render() {
        const files = listProjectFiles();
        return Promise.resolve({
          "trellis.config.ts": files["trellis.config.ts"]
            .replace(
              "buses: { domain: {} },",
              "environment: { RECORDS_TABLE: { idempotency: true } },",
            )
            .replace(/functions: \{[^]*?\n {4}\},/, FUNCTIONS),
          "src/database.ts": files["src/database.ts"],
          "src/functions/api/health.get.ts": renderHealth("first"),
          "src/functions/api/once.post.ts": ONCE,
          "src/functions/table-stream/watch_stock.ts": WATCH_STOCK,
          "infra/stock.tf": STOCK,
        });
      },
    },
  },
);

const FUNCTIONS = `functions: {
      Health: { provisionedConcurrency: 2 },
      WatchStock: { source: { reference: "aws_dynamodb_table.stock.stream_arn" } },
    },`;

const STOCK = `resource "aws_dynamodb_table" "stock" {
  name             = "app-dev-stock"
  billing_mode     = "PAY_PER_REQUEST"
  hash_key         = "id"
  stream_enabled   = true
  stream_view_type = "NEW_AND_OLD_IMAGES"

  attribute {
    name = "id"
    type = "S"
  }
}
`;

const WATCH_STOCK = `import { defineTableStreamHandler } from "@trellis/fn/triggers";
import * as z from "zod";
import { createNote } from "../../queries/notes.ts";

export const handler = defineTableStreamHandler({ schema: z.object({ id: z.string(), stock: z.number() }) })(
  async ({ item }) => {
    if (item !== undefined) await createNote({ title: item.id + ": " + item.stock, body: "" });
  },
);
`;

const ONCE = `import { getRequiredEnv } from "@trellis/fn/env";
import { createDynamoDbStore } from "@trellis/fn/idempotency";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { Note, NoteInput } from "../../notes_schemas.ts";
import { createNote } from "../../queries/notes.ts";

export const handler = defineApiHandler({
  schema: NoteInput,
  responses: { 201: Note },
  idempotency: { store: createDynamoDbStore({ tableName: getRequiredEnv("RECORDS_TABLE") }) },
})(async ({ body }) => reply(201, await createNote(body)));
`;
