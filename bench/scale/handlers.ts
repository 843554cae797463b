import { createHmac } from "node:crypto";
import { Buffer } from "node:buffer";
import * as z from "zod";
import { validateCodeHostWebhook } from "../../auth/webhooks/webhooks.ts";
import { defineQueueHandler } from "../../core/triggers/queue.ts";
import { buildValidatedResponse } from "../../core/http/response.ts";
import { defineApiHandler } from "../../validation/define_api_handler.ts";
import { toJsonSchema } from "../../validation/openapi/json_schema.ts";
import { createLambdaContext } from "../../testing/context.ts";
import { createRestApiEvent } from "../../testing/events.ts";
import { createQueueEvent } from "../../testing/trigger_events.ts";
import type { Subject, Workload } from "./subject.ts";

const context = createLambdaContext({ timeoutMs: 3_600_000 });
const quiet = { logging: { level: "SILENT" }, metrics: false, tracing: false } as const;
const MEGABYTE = 1_048_576;

function getFields(count: number): z.ZodObject {
  const kinds = [z.string().max(40), z.int().min(0), z.boolean(), z.array(z.string()).max(5)];
  return z.object(
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`field${i}`, kinds[i % kinds.length]]),
    ),
  );
}

function getValues(count: number): Record<string, unknown> {
  const values = ["text", 7, true, ["a", "b"]];
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`field${i}`, values[i % values.length]]),
  );
}

function post(schema: z.ZodType, body: unknown, statusCode: number): Workload {
  const handler = defineApiHandler({ ...quiet, schema })(({ context }) =>
    buildValidatedResponse(context, 200, {})
  );
  const event = createRestApiEvent({ method: "POST", path: "/things", body });
  return {
    async run(): Promise<void> {
      const result = await handler(event, context);
      if (result.statusCode !== statusCode) throw new Error(`${result.statusCode}: ${result.body}`);
    },
  };
}

/** One request against the number of fields of its schema. */
export const schemas: Subject = {
  id: "scale_schemas",
  title: "One POST against the fields of its schema",
  unit: "fields",
  sizes: [10, 30, 100, 200, 500, 1000],
  series: [
    { name: "valid body", prepare: (size) => post(getFields(size), getValues(size), 200) },
    {
      name: "every field wrong",
      prepare: (size) =>
        post(
          getFields(size),
          Object.fromEntries(Object.keys(getValues(size)).map((k) => [k, null])),
          400,
        ),
    },
    {
      name: "toJsonSchema",
      prepare(size): Workload {
        const schema = getFields(size);
        return { run: () => toJsonSchema(schema) };
      },
    },
  ],
};

const Items = z.object({
  items: z.array(z.object({ id: z.string(), amount: z.number(), live: z.boolean() })),
});

function getItems(bytes: number): { items: unknown[] } {
  const item = { id: "evt_0123456789", amount: 12950, live: true };
  return {
    items: Array.from({
      length: Math.max(1, Math.floor(bytes / (JSON.stringify(item).length + 1))),
    }, () => item),
  };
}

/** One request against the size of its body. */
export const bodies: Subject = {
  id: "scale_bodies",
  title: "One request against the size of its body",
  unit: "bytes",
  sizes: [1024, 8192, 65_536, 524_288, MEGABYTE, 2 * MEGABYTE, 6 * MEGABYTE - 100],
  series: [
    { name: "JSON, valid", prepare: (size) => post(Items, getItems(size), 200) },
    {
      name: "the same in base64",
      prepare(size): Workload {
        const handler = defineApiHandler({ ...quiet, schema: Items })(({ context }) =>
          buildValidatedResponse(context, 200, {})
        );
        const event = createRestApiEvent({ method: "POST", path: "/things", body: getItems(size) });
        const encoded = {
          ...event,
          body: Buffer.from(event.body!).toString("base64"),
          isBase64Encoded: true,
        };
        return {
          async run(): Promise<void> {
            const { statusCode } = await handler(encoded, context);
            if (statusCode !== 200) throw new Error(String(statusCode));
          },
        };
      },
    },
    {
      name: "webhook signature",
      prepare(size): Workload {
        const payload = "x".repeat(size);
        const header = `sha256=${createHmac("sha256", "secret").update(payload).digest("hex")}`;
        return { run: () => validateCodeHostWebhook(payload, header, "secret") };
      },
    },
  ],
};

const Message = z.object({ noteId: z.string(), version: z.int() });

function batch(size: number, schema: typeof Message | undefined): Workload {
  const records = Array.from(
    { length: size },
    (_, i) => ({ body: { noteId: `n${i}`, version: i }, messageId: `m${i}` }),
  );
  const event = createQueueEvent(records);
  const handle = defineQueueHandler({ ...quiet, ...(schema && { schema }) })(() => {});
  return {
    async run(): Promise<void> {
      const { batchItemFailures } = await handle(event, context);
      if (batchItemFailures.length > 0) throw new Error(`${batchItemFailures.length} failed`);
    },
  };
}

function failingBatch(size: number): Workload {
  const event = createQueueEvent(
    Array.from({ length: size }, (_, i) => ({ body: {}, messageId: `m${i}` })),
  );
  const handle = defineQueueHandler({ ...quiet })(() => {
    throw new Error("refused");
  });
  return { run: () => handle(event, context) };
}

/** One invocation against the number of its records. */
export const batches: Subject = {
  id: "scale_batches",
  title: "One queue invocation against its records",
  unit: "records",
  sizes: [1, 10, 100, 1000, 3000, 10_000],
  series: [
    { name: "without a schema", prepare: (size) => batch(size, undefined) },
    { name: "with a schema", prepare: (size) => batch(size, Message) },
    { name: "every record fails", prepare: failingBatch },
  ],
};
