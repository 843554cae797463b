import type { SpanAttribute, SpanKind } from "../observability/span.ts";
import { isSensitiveKey } from "../observability/sensitive_names.ts";
import { redactText } from "../observability/redact_text.ts";
import {
  getHeader,
  getMethod,
  getPath,
  getPathParameters,
  getRoute,
  isHttpEvent,
} from "./http/api_event.ts";
import type { ApiEvent } from "./http/lambda.ts";

/** How the span of an invocation begins. */
export interface SpanDescription {
  /** The name, unless the handler has an `operationName`. */
  readonly name?: string;
  readonly kind: SpanKind;
  readonly attributes: Readonly<Record<string, SpanAttribute>>;
}

/** A record of any source. */
interface AnyRecord {
  readonly eventSource?: unknown;
  /** The spelling of SNS. */
  readonly EventSource?: unknown;
  /** `arn:aws:sqs:eu-west-1:123456789012:orders`. */
  readonly eventSourceARN?: unknown;
  readonly Sns?: { readonly TopicArn?: unknown };
  readonly s3?: { readonly bucket?: { readonly name?: unknown } };
}

/**
 * Describes the span of an event, which may be malformed, with the attributes of OpenTelemetry's semantic conventions 1.38 ("HTTP spans", "FaaS
 * spans", "Messaging spans" and "Instrumenting AWS Lambda"). The query string and the contents of messages are left out.
 *
 * @param event Any event of Lambda.
 */
export function describeEvent(event: unknown): SpanDescription {
  try {
    return describeReadable(event);
  } catch {
    return { kind: "server", attributes: trigger("other") };
  }
}

function describeReadable(event: unknown): SpanDescription {
  if (isHttpEvent(event)) return describeRequest(event);
  const { Records, eventSource, source, "detail-type": detailType } = (event ?? {}) as Partial<
    Record<string, unknown>
  >;
  const records: readonly AnyRecord[] = Array.isArray(Records) ? Records : [];
  const [first] = records;
  switch (first?.eventSource ?? first?.EventSource ?? eventSource) {
    case "aws:sqs":
      return describeMessages("aws_sqs", getResource(first.eventSourceARN, ":"), records);
    case "aws:sns":
      return describeMessages("aws.sns", getResource(first.Sns?.TopicArn, ":"), records);
    case "aws:kinesis":
      return describeMessages("aws_kinesis", getResource(first.eventSourceARN, "/"), records);
    case "aws:kafka":
    case "SelfManagedKafka":
      return describeMessages("kafka");
    case "aws:dynamodb":
      return describeData(/:table\/([^/]+)/.exec(String(first.eventSourceARN))?.[1]);
    case "aws:s3":
      return describeData(first.s3?.bucket?.name);
  }
  if (detailType === "Scheduled Event") return { kind: "server", attributes: trigger("timer") };
  return typeof detailType === "string"
    ? {
      kind: "consumer",
      attributes: { ...trigger("pubsub"), ...optional("cloudevents.event_source", source) },
    }
    : { kind: "server", attributes: trigger("other") };
}

function describeRequest(event: ApiEvent): SpanDescription {
  const method = getMethod(event);
  const route = getRoute(event);
  return {
    name: route === undefined ? undefined : `${method} ${route}`,
    kind: "server",
    attributes: {
      ...trigger("http"),
      "http.request.method": method,
      // a parameter named token or code is a secret
      "url.path": Object.keys(getPathParameters(event)).some((name) => isSensitiveKey(name))
        ? route ?? "/"
        : redactText(getPath(event)),
      "url.scheme": getHeader(event, "X-Forwarded-Proto", "x-forwarded-proto") ?? "https",
      ...optional("http.route", route),
    },
  };
}

function describeMessages(
  system: string,
  destination?: string,
  records: readonly unknown[] = [],
): SpanDescription {
  return {
    kind: "consumer",
    attributes: {
      ...trigger("pubsub"),
      "messaging.system": system,
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      ...optional("messaging.destination.name", destination),
      ...records.length > 1 && { "messaging.batch.message_count": records.length },
    },
  };
}

function describeData(collection: unknown): SpanDescription {
  return {
    kind: "server",
    attributes: { ...trigger("datasource"), ...optional("faas.document.collection", collection) },
  };
}

function trigger(name: "http" | "pubsub" | "datasource" | "timer" | "other") {
  return { "faas.trigger": name };
}

function optional(name: string, value: unknown): Record<string, string> {
  return typeof value === "string" ? { [name]: value } : {};
}

/** Returns the last part of an ARN. */
function getResource(arn: unknown, separator: string): string | undefined {
  return typeof arn === "string" ? arn.slice(arn.lastIndexOf(separator) + 1) : undefined;
}
