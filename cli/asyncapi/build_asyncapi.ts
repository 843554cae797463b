import type { JsonSchema } from "../../validation/openapi/json_schema.ts";
import type { OpenApiInfo } from "../../validation/openapi/document.ts";
import type { ResolvedConfig } from "../config/config.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import { getResource } from "../infra/resources.ts";
import { toPortablePath } from "../files/inside_folder.ts";
import type { OpenApiFinding } from "../openapi/schema_findings.ts";
import { loadTogether } from "../project/load_together.ts";
import { getModuleUrl } from "../project/module_url.ts";
import { type Channel, type ReadMessages, RECEIVERS, toId } from "./read_messages.ts";

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
 * Builds the AsyncAPI document of the functions that receive messages, background jobs and workflows. Functions of one
 * queue or topic share a channel; each function of an event bus has its own, because its pattern selects the
 * events. Each job has a separate channel, on which the application sends and receives; each workflow has one for its
 * input and its signals.
 *
 * @param config The configuration, which names queues, topics and buses.
 */
export async function buildAsyncApi(
  root: string,
  functions: readonly FunctionFile[],
  info: OpenApiInfo,
  config: ResolvedConfig,
): Promise<BuiltAsyncApi> {
  const receivers = functions.filter(({ kind }) => Object.hasOwn(RECEIVERS, kind)).map((fn) => ({
    name: fn.name,
    kind: fn.kind,
    file: toPortablePath(root, fn.file),
    channel: getChannel(fn, config),
  }));
  const { facts, errors } = await loadTogether<ReadMessages>({
    root,
    files: functions.map(({ file }) => file),
    reader: getModuleUrl(import.meta.url, "./read_messages"),
    data: { receivers },
  });
  const { channels = {}, operations = {}, schemas = {}, findings = errors } = facts ?? {};
  return {
    document: {
      asyncapi: "3.0.0",
      info,
      defaultContentType: "application/json",
      channels,
      operations,
      components: { schemas },
    },
    findings,
  };
}

/** Describes the channel of a function by the resource that it reads. */
function getChannel({ kind, name }: FunctionFile, config: ResolvedConfig): Channel {
  const settings = config.infra.functions[name] ?? {};
  const { kafka, pattern } = settings;
  // streams have an ARN, and no name
  const address = kafka?.topic ?? getResource({ kind, name, settings });
  // patterns divide the events of a bus
  const id = address === undefined || kind === "event" ? name : `${kind}_${address}`;
  return {
    id: toId(id),
    address: address ?? null,
    title: RECEIVERS[kind][1],
    ...kind === "event" && pattern !== undefined && { "x-event-pattern": pattern },
  };
}
