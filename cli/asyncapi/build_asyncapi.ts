import type { SliceUse } from "../analysis/slice.ts";
import { Components } from "../../validation/openapi/components.ts";
import type { OpenApiInfo } from "../../validation/openapi/document.ts";
import type { JsonSchema } from "../../validation/json_schema.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { getResource } from "../infra/resources.ts";
import { getRegistries } from "../openapi/build_document.ts";
import type { PackageLoader } from "../openapi/package_loader.ts";
import type { OpenApiFinding } from "../openapi/read_operations.ts";
import { runSlice, type SliceValues } from "../openapi/run_slice.ts";
import { nameSchemas } from "../openapi/schema_names.ts";
import { SchemaValues } from "../openapi/schema_values.ts";
import type { MessageReceiver, MessageReceivers } from "./read_messages.ts";

/** An AsyncAPI document. */
export interface AsyncApiDocument {
  readonly asyncapi: "3.0.0";
  readonly info: OpenApiInfo;
  readonly defaultContentType: "application/json";
  readonly channels: Readonly<Record<string, unknown>>;
  readonly operations: Readonly<Record<string, unknown>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

/** A document with its errors. */
export interface BuiltAsyncApi {
  readonly document: AsyncApiDocument;
  readonly findings: readonly OpenApiFinding[];
}

/**
 * Builds the AsyncAPI document of the functions that receive messages, and of background jobs. Functions of one
 * queue or topic share a channel; each function of an event bus has its own, because its pattern selects the
 * events. A job has a channel of its own, on which the application sends and receives.
 *
 * @param config The configuration, which names queues, topics and buses.
 */
export function buildAsyncApi(
  sources: MessageReceivers,
  info: OpenApiInfo,
  config: ResolvedConfig,
  load: PackageLoader,
): Promise<BuiltAsyncApi> {
  return runSlice(sources.slice, load, (values) => build(sources, info, config, values));
}

function build(
  sources: MessageReceivers,
  info: OpenApiInfo,
  config: ResolvedConfig,
  values: SliceValues,
): BuiltAsyncApi {
  const schemas = new SchemaValues(values);
  const messages = listMessages(sources, config).map((message) => ({
    ...message,
    value: message.schema && schemas.evaluate(message.schema, "schema"),
  }));
  const components = new Components({
    schemaNames: nameSchemas(values.evaluated()).names,
    registries: getRegistries(values),
    onIssue: (issue) => schemas.findIssue(issue.schema, issue, undefined),
  });
  const channels: Record<string, { address: string | null; messages: Record<string, unknown> }> =
    {};
  const operations: Record<string, unknown> = {};
  for (const { name, channel: { id, ...channel }, actions, value } of messages) {
    channels[id] ??= { ...channel, messages: {} };
    channels[id].messages[name] = {
      name,
      payload: value === undefined ? {} : components.describe(value, "input", `${name}Message`),
    };
    const reference = `#/channels/${id}`;
    for (const [operation, action] of actions) {
      operations[operation] = {
        action,
        channel: { $ref: reference },
        messages: [{ $ref: `${reference}/messages/${name}` }],
      };
    }
  }
  const { document: finished, schemas: described } = components.finish({ channels });
  return {
    document: {
      asyncapi: "3.0.0",
      info,
      defaultContentType: "application/json",
      channels: finished.channels,
      operations,
      components: { schemas: described },
    },
    findings: schemas.findings,
  };
}

/** A message of a channel. */
interface Message {
  readonly name: string;
  readonly channel: ReturnType<typeof getChannel>;
  readonly schema?: SliceUse;
  /** What the application does with it, by the name of the operation. */
  readonly actions: readonly (readonly [operation: string, action: "receive" | "send"])[];
}

function listMessages({ receivers, jobs }: MessageReceivers, config: ResolvedConfig): Message[] {
  return [
    ...receivers.map(({ fn, schema }): Message => ({
      name: fn.name,
      channel: getChannel(fn, config),
      schema,
      actions: [[fn.name, "receive"]],
    })),
    ...jobs.map(({ name: jobName, schema, isEnqueued }): Message => {
      const name = toId(jobName);
      return {
        name,
        channel: { id: `job_${name}`, address: jobName, title: "Background job" },
        schema,
        actions: [
          [`run_${name}`, "receive"],
          ...isEnqueued ? [[`enqueue_${name}`, "send"] as const] : [],
        ],
      };
    }),
  ];
}

/** Replaces the characters that ids of a document cannot have. */
function toId(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_");
}

/** What the kinds of functions read. */
const TITLES: Readonly<Record<string, string>> = {
  queue: "SQS queue",
  topic: "SNS topic",
  event: "EventBridge bus",
  stream: "Kinesis stream",
  "table-stream": "DynamoDB stream",
  kafka: "Kafka topic",
};

/** Describes the channel of a function by the resource that it reads. */
function getChannel({ kind, name }: MessageReceiver["fn"], config: ResolvedConfig) {
  const settings = config.infra.functions[name] ?? {};
  const { kafka, pattern } = settings;
  // streams have an ARN, and no name
  const address = kafka?.topic ?? getResource({ kind, name, settings });
  // patterns divide the events of a bus
  const id = address === undefined || kind === "event" ? name : `${kind}_${address}`;
  return {
    id: toId(id),
    address: address ?? null,
    title: TITLES[kind],
    ...kind === "event" && pattern !== undefined && { "x-event-pattern": pattern },
  };
}
