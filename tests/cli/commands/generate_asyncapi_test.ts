import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import specs from "@asyncapi/specs";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { generateAsyncapi } from "../../../cli/commands/generate_asyncapi.ts";
import { runInProcess } from "../fixtures/run.ts";
import { type Files, type Json, withOpenapiProject } from "../fixtures/openapi_project.ts";

const receiver = (definer: string, options: string) =>
  `import { ${definer} } from "@trellis/fn/triggers";
import { Order, OrderEvent } from "../../schemas.ts";
export const handler = ${definer}(${options})(() => {});
`;
const FILES: Files = {
  "src/schemas.ts": `import * as z from "zod";
export const Order = z.object({ id: z.uuid(), lines: z.array(z.object({ sku: z.string() })) });
export const OrderEvent = z.object({ order: Order, at: z.iso.datetime() });
`,
  "src/functions/queue/send-order.ts": receiver("defineQueueHandler", "{ schema: Order }"),
  "src/functions/queue/anything.ts": receiver("defineQueueHandler", "{}"),
  "src/functions/topic/index-order.ts": receiver("defineTopicHandler", "{ schema: OrderEvent }"),
  "src/functions/topic/audit-order.ts": receiver("defineTopicHandler", "{ schema: OrderEvent }"),
  "src/functions/event/order-paid.ts": receiver(
    "defineEventHandler",
    "{ schema: OrderEvent.pick({ at: true }) }",
  ),
  "src/functions/stream/click.ts": receiver("defineStreamHandler", "{ schema: Order }"),
  "src/functions/table-stream/row.ts": receiver("defineTableStreamHandler", "{ schema: Order }"),
  "src/functions/bus/bill-order.ts": receiver("defineKafkaHandler", "{ schema: Order }"),
  "src/functions/schedule/clean.ts": receiver("defineScheduleHandler", "{}"),
  "trellis.config.ts": `import { defineConfig } from "@trellis/fn/cli";
export default defineConfig({ folders: { bus: "kafka" }, infra: { functions: {
  Click: { source: "aws_kinesis_stream.clicks.arn" },
  Row: { source: "aws_dynamodb_table.rows.stream_arn" },
  BillOrder: { source: "aws_msk_cluster.main.arn", kafka: { topic: "orders" } },
  SendOrder: { queue: "orders" },
  IndexOrder: { topic: "changes" },
  AuditOrder: { topic: "changes" },
  OrderPaid: { bus: "shop", pattern: { "detail-type": ["paid"] } },
} } });
`,
};

function generate(root: string, ...args: string[]) {
  return runInProcess(["generate", "asyncapi", "--project", root, ...args], {
    commands: [generateAsyncapi],
  });
}

/** Holds a document against the schema that the AsyncAPI initiative publishes. */
function assertValid(document: Json): void {
  const ajv = new Ajv({ strict: false, allErrors: true });
  // the package is CommonJS
  (addFormats as unknown as (target: unknown) => void)(ajv);
  const published = (specs as Json).schemasWithoutId ?? (specs as Json).schemas;
  const validate = ajv.compile(published["3.0.0"]);
  const broken = { ...document, operations: { a: { action: "drop" } } };
  assertEquals(validate(broken), false);
  assert(validate(document), ajv.errorsText(validate.errors));
}

Deno.test("generate asyncapi describes the messages of queues, topics and buses", async () => {
  await withOpenapiProject(FILES, async (root) => {
    const { exitCode, stdout, stderr } = await generate(root);
    assertEquals([exitCode, stdout], [0, "created asyncapi.json\n8 operations: done\n"], stderr);
    const text = await Deno.readTextFile(`${root}/asyncapi.json`);
    const document = JSON.parse(text);
    assertValid(document);
    assertEquals(Object.keys(document.components.schemas), ["Order", "OrderEvent"]);
    const channels = Object.entries<Json>(document.channels).map(([id, channel]) => [
      id,
      channel.address,
      Object.entries<Json>(channel.messages).map(([name, { payload }]) => [
        name,
        payload.$ref ?? payload,
      ]),
    ]);
    const event = "#/components/schemas/OrderEvent";
    const order = "#/components/schemas/Order";
    assertEquals(Object.fromEntries(channels.map(([id, ...rest]) => [id, rest])), {
      // the name that generate infra gives a queue without a setting
      queue_anything: ["anything", [["Anything", {}]]],
      kafka_orders: ["orders", [["BillOrder", order]]],
      Click: [null, [["Click", order]]],
      Row: [null, [["Row", order]]],
      topic_changes: ["changes", [["AuditOrder", event], ["IndexOrder", event]]],
      OrderPaid: ["shop", [[
        "OrderPaid",
        document.channels.OrderPaid.messages.OrderPaid.payload,
      ]]],
      queue_orders: ["orders", [["SendOrder", order]]],
    });
    const { payload } = document.channels.OrderPaid.messages.OrderPaid;
    assertEquals(Object.keys(payload.properties), ["at"]);
    assertEquals(document.channels.OrderPaid["x-event-pattern"], { "detail-type": ["paid"] });
    assertEquals(document.operations.IndexOrder, {
      action: "receive",
      channel: { $ref: "#/channels/topic_changes" },
      messages: [{ $ref: "#/channels/topic_changes/messages/IndexOrder" }],
    });
    assertEquals((await generate(root, "--check")).exitCode, 0);
    await Deno.writeTextFile(
      `${root}/src/schemas.ts`,
      FILES["src/schemas.ts"].replace("z.uuid()", "z.bigint()"),
    );
    const refused = await generate(root);
    assertEquals(refused.exitCode, 1);
    assertStringIncludes(refused.stdout, "id: a request never carries a bigint");
    assertEquals(await Deno.readTextFile(`${root}/asyncapi.json`), text);
  });
});

const JOBS = `import { defineJob } from "@trellis/fn/jobs";
import * as z from "zod";
export const Mail = z.object({ to: z.email() });
const PREFIX = "mail";
const options = { schema: Mail };
export const sendMail = defineJob({ ...options, name: PREFIX + ".send" })(() => {});
export const cleanUp = defineJob({ name: "clean.up", schema: z.null() })(() => {});
`;
const JOB_FILES: Files = {
  "src/jobs.ts": JOBS,
  "src/functions/queue/jobs.ts": `import { defineJobQueueHandler } from "@trellis/fn/jobs";
import { cleanUp, sendMail } from "../../jobs.ts";
export const handler = defineJobQueueHandler({ getDb: () => { throw new Error(); }, jobs: [cleanUp, sendMail] });
`,
  "src/mail.ts": `import { sendMail as mail } from "./jobs.ts";
export const order = (tx: never) => mail.enqueue(tx, { to: "a@example.com" });
`,
  "src/functions/schedule/order.ts": `import { defineScheduleHandler } from "@trellis/fn/triggers";
import { order } from "../../mail.ts";
export const handler = defineScheduleHandler({})(() => order(undefined as never));
`,
};

Deno.test("generate asyncapi describes jobs, and which of them the functions enqueue", async () => {
  await withOpenapiProject(JOB_FILES, async (root) => {
    const { exitCode, stdout, stderr } = await generate(root);
    assertEquals([exitCode, stdout], [0, "created asyncapi.json\n3 operations: done\n"], stderr);
    const document = JSON.parse(await Deno.readTextFile(`${root}/asyncapi.json`));
    assertValid(document);
    const title = "Background job";
    assertEquals(document.channels, {
      job_clean_up: {
        address: "clean.up",
        title,
        messages: { clean_up: { name: "clean_up", payload: { "x-const": null } } },
      },
      job_mail_send: {
        address: "mail.send",
        title,
        messages: {
          mail_send: { name: "mail_send", payload: { $ref: "#/components/schemas/Mail" } },
        },
      },
    });
    assertEquals(
      Object.entries<Json>(document.operations).map(([name, { action }]) => [name, action]),
      [["run_clean_up", "receive"], ["run_mail_send", "receive"], ["enqueue_mail_send", "send"]],
    );
  });
});

Deno.test("generate asyncapi describes the mails of the outbox, and jobs whose names differ in a dot", async () => {
  const files = {
    ...JOB_FILES,
    "src/mail.ts": `import { defineMail } from "@trellis/fn/mail";
import { defineJob } from "@trellis/fn/jobs";
import * as z from "zod";
export const Welcome = z.object({ name: z.string() });
export const welcome = defineMail({ name: "welcome", schema: Welcome, render: () => ({ subject: "", text: "" }) });
export const other = defineJob({ name: "clean_up", schema: z.null() })(() => {});
export const order = (tx: never) => welcome.send(tx, { to: "a@example.com", data: { name: "Ada" } });
`,
  };
  await withOpenapiProject(files, async (root) => {
    const { exitCode, stdout, stderr } = await generate(root);
    assertEquals(exitCode, 0, stdout + stderr);
    const document = JSON.parse(await Deno.readTextFile(`${root}/asyncapi.json`));
    assertValid(document);
    const channels = Object.values<Json>(document.channels);
    assertEquals(channels.map(({ address }) => address), [
      "clean.up",
      "clean_up",
      "mail.send",
      "mail.welcome",
    ]);
    const { title, messages } = document.channels.job_mail_welcome;
    assertEquals([title, messages.mail_welcome.payload.properties.data], [
      "Mail",
      { $ref: "#/components/schemas/Welcome" },
    ]);
    assert("enqueue_mail_welcome" in document.operations);
  });
});

Deno.test("generate asyncapi describes workflows, their signals, and what the functions start and send", async () => {
  const files = {
    "src/onboard.ts": `import { defineWorkflow } from "@trellis/fn/workflows";
import * as z from "zod";
export const Signup = z.object({ firm: z.string() });
export const Paid = z.object({ cents: z.int() });
export const onboard = defineWorkflow({ name: "onboard", input: Signup })(async ({ waitFor }) => {
  await waitFor("paid", { timeoutSeconds: 60, schema: Paid });
  const schema = z.null();
  await waitFor("closed", { schema });
});
`,
    "src/functions/queue/jobs.ts": `import { defineJobQueueHandler } from "@trellis/fn/jobs";
import { onboard } from "../../onboard.ts";
export const handler = defineJobQueueHandler({ getDb: () => { throw new Error(); }, jobs: [onboard.job] });
`,
    "src/functions/schedule/order.ts":
      `import { defineScheduleHandler } from "@trellis/fn/triggers";
import { signalWorkflow } from "@trellis/fn/workflows";
import { onboard } from "../../onboard.ts";
export const handler = defineScheduleHandler({})(async () => {
  const id = await onboard.start(undefined as never, { firm: "Acme" });
  await signalWorkflow(undefined as never, id, "paid", { cents: 1 });
});
`,
  };
  await withOpenapiProject(files, async (root) => {
    const { exitCode, stdout, stderr } = await generate(root);
    assertEquals([exitCode, stdout], [0, "created asyncapi.json\n5 operations: done\n"], stderr);
    const document = JSON.parse(await Deno.readTextFile(`${root}/asyncapi.json`));
    assertValid(document);
    assertEquals(document.channels, {
      workflow_onboard: {
        address: "onboard",
        title: "Workflow",
        messages: {
          onboard: { name: "onboard", payload: { $ref: "#/components/schemas/Signup" } },
          onboard_paid: { name: "onboard_paid", payload: { $ref: "#/components/schemas/Paid" } },
          onboard_closed: { name: "onboard_closed", payload: {} },
        },
      },
    });
    assertEquals(
      Object.entries<Json>(document.operations).map(([name, { action }]) => `${action} ${name}`),
      [
        "receive run_onboard",
        "send start_onboard",
        "receive receive_onboard_paid",
        "send signal_onboard_paid",
        "receive receive_onboard_closed",
      ],
    );
  });
});

Deno.test("generate asyncapi refuses jobs without a fixed name, and two with one name", async () => {
  for (
    const [from, to, message] of [
      ['PREFIX + ".send"', "crypto.randomUUID()", "Write a literal"],
      ['"clean.up"', '"mail.send"', "another job has the name mail.send too"],
    ]
  ) {
    const files = {
      ...JOB_FILES,
      "src/jobs.ts": JOBS.replace(from, to),
      // a worker refuses two jobs with one name itself
      "src/functions/queue/jobs.ts": JOB_FILES["src/functions/queue/jobs.ts"].replace(
        "[cleanUp, sendMail]",
        "[sendMail]",
      ),
    };
    await withOpenapiProject(files, async (root) => {
      const { exitCode, stdout } = await generate(root);
      assertEquals(exitCode, 1);
      assertStringIncludes(stdout, message);
    });
  }
});
