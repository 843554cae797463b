import type { JsonSchema } from "../../validation/openapi/json_schema.ts";
import { Components } from "../../validation/openapi/components.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { type AnySchema, getDefinitionPlace } from "../openapi/read_responses.ts";
import { type OpenApiFinding, SchemaFindings } from "../openapi/schema_findings.ts";
import { listNamedSchemas, nameSchemas } from "../openapi/schema_names.ts";
import { checkFacts, type TogetherModule } from "../project/load_together.ts";
import type { LoadedFunction, PlacedDefinition } from "../project/loaded_function.ts";
import type { Place } from "../sources/source_positions.ts";
import {
  type AnyNode,
  findProperty,
  getCalleeName,
  getMemberName,
  getText,
  visitNodes,
} from "../sources/syntax.ts";

/** A channel of a document. */
export interface Channel {
  readonly id: string;
  /** Name of the queue, topic, bus, job or workflow; streams have an ARN instead. */
  readonly address: string | null;
  readonly title: string;
  readonly "x-event-pattern"?: unknown;
}

/** Replaces the characters that ids of a document cannot have. */
export function toId(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_");
}

/** The kinds of functions that receive messages: what defines them, and what they read. */
export const RECEIVERS: Readonly<Record<string, readonly [definer: string, title: string]>> = {
  queue: ["defineQueueHandler", "SQS queue"],
  topic: ["defineTopicHandler", "SNS topic"],
  event: ["defineEventHandler", "EventBridge bus"],
  stream: ["defineStreamHandler", "Kinesis stream"],
  "table-stream": ["defineTableStreamHandler", "DynamoDB stream"],
  kafka: ["defineKafkaHandler", "Kafka topic"],
};

/** What the reader needs besides the modules. */
export interface MessagesData {
  /** The functions that receive messages, with files relative to the project and their channels. */
  readonly receivers: readonly (Pick<FunctionFile, "name" | "kind" | "file"> & {
    readonly channel: Channel;
  })[];
}

/** Parts of an AsyncAPI document. */
export interface ReadMessages {
  readonly channels: Readonly<Record<string, unknown>>;
  readonly operations: Readonly<Record<string, unknown>>;
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  readonly findings: readonly OpenApiFinding[];
}

/** A message of a channel. */
interface Message extends Place {
  readonly name: string;
  readonly channel: Channel;
  readonly schema?: unknown;
  /** Returns the payload of the message, if the schema describes only a part of it. */
  readonly wrap?: (schema: JsonSchema) => JsonSchema;
  /** What the application does with it, by the name of the operation. */
  readonly actions: readonly (readonly [operation: string, action: "receive" | "send"])[];
}

/** Describes the messages of the loaded functions, jobs and workflows. Runs in the process that loads them. */
export function read(fn: LoadedFunction): ReadMessages {
  const { modules, data } = fn.module as TogetherModule<MessagesData>;
  const schemas = new SchemaFindings(listNamedSchemas(fn, modules));
  const messages = [
    ...data.receivers.flatMap(({ name, kind, file, channel }): Message[] => {
      const { handler } = modules[file] ?? {};
      const definition = fn.definitions.findLast(({ value }) => value === handler);
      // other handlers of a queue, such as a worker of jobs, define their messages elsewhere
      if (definition?.name !== RECEIVERS[kind][0]) return [];
      const { schema } = (definition.args[0] ?? {}) as { schema?: unknown };
      return [{ ...definition.place, name, channel, schema, actions: [[name, "receive"]] }];
    }),
    ...readJobs(fn, schemas),
  ].map((message): Message & { readonly value?: AnySchema } => ({
    ...message,
    value: schemas.use(message.schema, message, "schema"),
  }));
  const components = new Components({
    schemaNames: nameSchemas(schemas.named).names,
    onIssue: (issue) => schemas.addIssue(issue.schema, issue),
  });
  const channels: Record<string, { address: string | null; messages: Record<string, unknown> }> =
    {};
  const operations: Record<string, unknown> = {};
  for (const { name, channel: { id, ...channel }, actions, value, wrap } of messages) {
    channels[id] ??= { ...channel, messages: {} };
    const payload = value === undefined
      ? {}
      : components.describe(value, "input", `${name}Message`);
    channels[id].messages[name] = { name, payload: wrap?.(payload) ?? payload };
    const reference = `#/channels/${id}`;
    for (const [operation, action] of actions) {
      operations[operation] = {
        action,
        channel: { $ref: reference },
        messages: [{ $ref: `${reference}/messages/${name}` }],
      };
    }
  }
  const { document, schemas: described } = components.finish({ channels });
  return checkFacts({
    channels: document.channels,
    operations,
    schemas: described,
    findings: schemas.findings,
  });
}

/** What background work is: its channel, the option with the schema of its messages, and the members that send one. */
interface WorkKind {
  readonly channel: "job" | "workflow";
  readonly title: string;
  readonly schema: "schema" | "input";
  readonly action: "enqueue" | "start";
  readonly senders: RegExp;
}

const WORK: Readonly<Record<string, WorkKind>> = {
  defineJob: {
    channel: "job",
    title: "Background job",
    schema: "schema",
    action: "enqueue",
    senders: /^enqueue(?:Many)?$/,
  },
  defineMail: {
    channel: "job",
    title: "Mail",
    schema: "schema",
    action: "enqueue",
    senders: /^send$/,
  },
  defineWorkflow: {
    channel: "workflow",
    title: "Workflow",
    schema: "input",
    action: "start",
    senders: /^start$/,
  },
};

/**
 * Reads the jobs, mails and workflows that the project defines, in alphabetical order, and which of them its code enqueues
 * or starts. A workflow also receives signals.
 */
function readJobs(fn: LoadedFunction, schemas: SchemaFindings): Message[] {
  const definitions = fn.list(...Object.keys(WORK)).filter((definition) =>
    findOptionsCall(fn, definition) !== undefined
  );
  const jobs = definitions.flatMap((definition) => {
    const kind = WORK[definition.name];
    const options = definition.args[0] as { name: string } & Record<string, unknown>;
    const isMail = definition.name === "defineMail";
    const place = getDefinitionPlace(fn, definition);
    if (!hasFixedName(fn, definition)) {
      const message =
        `the name of the ${kind.channel} cannot be determined: it may differ each time. Write a literal`;
      schemas.add({ ...place, message });
      return [];
    }
    const job = isMail ? `mail.${options.name}` : options.name;
    return [{ ...place, ...kind, job, schema: options[kind.schema], isMail, definition }];
  }).sort((one, other) => `${one.channel} ${one.job}` < `${other.channel} ${other.job}` ? -1 : 1);
  const ids = new Set<string>();
  return jobs.flatMap(
    ({ job, channel, title, schema, isMail, action, file, line, ...work }, index) => {
      const former = jobs[index - 1];
      if (job === former?.job && channel === former.channel) {
        schemas.add({ file, line, message: `another ${channel} has the name ${job} too` });
      }
      // a.b and a_b are two jobs
      let id = `${channel}_${toId(job)}`;
      for (let count = 2; ids.has(id); count++) id = `${channel}_${toId(job)}_${count}`;
      ids.add(id);
      const name = id.slice(channel.length + 1);
      const message: Message = {
        file,
        line,
        name,
        channel: { id, address: job, title },
        schema,
        ...isMail && { wrap: describeMail },
        actions: [
          [`run_${name}`, "receive"],
          ...isUsed(fn, work.definition, work.senders)
            ? [[`${action}_${name}`, "send"] as const]
            : [],
        ],
      };
      return channel === "job"
        ? [message]
        : [message, ...readSignals(fn, work.definition, message)];
    },
  );
}

/**
 * Reads the signals that the function of a workflow waits for by a literal name. A schema that is made of local values is
 * not known, and the payload is any JSON.
 */
function readSignals(
  fn: LoadedFunction,
  definition: PlacedDefinition,
  { file, line, name, channel }: Message,
): Message[] {
  const body = fn.findCall(definition)?.arguments[0];
  const sent = new Set(
    fn.syntax.uses.filter((use) => use.name === "signalWorkflow").map(({ args }) =>
      getText(args?.[2])
    ),
  );
  const signals = new Map<string, Message>();
  if (body === undefined) return [];
  visitNodes(body, (node) => {
    if (node.type !== "CallExpression") return;
    const called = getMemberName(node.callee) ?? getCalleeName(node);
    const signal = getText(node.arguments[0]);
    if (called !== "waitFor" || signal === undefined || signals.has(signal)) return;
    const schema = findProperty(node.arguments[1], "schema");
    const message = `${name}_${toId(signal)}`;
    signals.set(signal, {
      file,
      line,
      name: message,
      channel,
      schema: schema && execute(fn, schema),
      actions: [
        [`receive_${message}`, "receive"],
        ...sent.has(signal) ? [[`signal_${message}`, "send"] as const] : [],
      ],
    });
  });
  return [...signals.values()];
}

/** Returns the value of an expression; `undefined` if it is made of local values. */
function execute(fn: LoadedFunction, node: AnyNode): unknown {
  try {
    return fn.execute(node);
  } catch {
    return undefined;
  }
}

/** Describes the payload of a mail, see `MailPayload`. */
function describeMail(data: JsonSchema): JsonSchema {
  const addresses = { type: "array", items: { type: "string" } };
  const recipients = { to: addresses, cc: addresses, bcc: addresses, replyTo: addresses };
  const headers = { type: "object", additionalProperties: { type: "string" } };
  const properties = { ...recipients, headers, data };
  return { type: "object", properties, required: Object.keys(properties) };
}

/** Returns the call with the options of a job, mail or workflow; `undefined` if this package defines it. */
function findOptionsCall(
  fn: LoadedFunction,
  definition: PlacedDefinition,
): ReturnType<LoadedFunction["findCall"]> {
  const call = fn.findCall(definition);
  const inner = definition.name === "defineMail" ? call : call?.callee;
  return inner?.type === "CallExpression" &&
      fn.syntax.findExport(inner.callee)?.name === definition.name
    ? inner
    : undefined;
}

/** Checks that no call makes the name of a job or workflow. */
function hasFixedName(fn: LoadedFunction, definition: PlacedDefinition): boolean {
  const name = findProperty(findOptionsCall(fn, definition)?.arguments[0], "name");
  return !name || fn.evaluate(name).isKnown;
}

/** Checks for `resize.enqueue(…)`, `resize.enqueueMany(…)`, `onboard.start(…)` and, of a mail, `welcome.send(…)`. */
function isUsed(fn: LoadedFunction, definition: PlacedDefinition, senders: RegExp): boolean {
  const name = fn.findName(definition);
  if (name === undefined) return false;
  return fn.syntax.listReferences(name).some((reference) => {
    const parent = fn.syntax.getParent(reference);
    if (parent?.type !== "MemberExpression" || parent.object !== reference) return false;
    return senders.test(getMemberName(parent) ?? "");
  });
}
