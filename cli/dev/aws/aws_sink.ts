import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ForbiddenError } from "../../../errors/http_errors.ts";
import { escapeHtml } from "../../../core/http/escape_html.ts";

/** A message attribute. */
export interface SentAttribute {
  readonly type: string;
  readonly value: string;
}

/** A message that a function sent. */
export interface SentMessage {
  readonly id: string;
  readonly service: "sqs" | "sns" | "eventbridge" | "s3";
  /** Name of the queue, topic, event bus or bucket. */
  readonly target: string;
  readonly at: string;
  /** The message body, the event detail, or the change of an object in a bucket. */
  readonly body: string;
  readonly attributes: Readonly<Record<string, SentAttribute>>;
  /** EventBridge only. */
  readonly detailType?: string;
  /** EventBridge only. */
  readonly source?: string;
  /** SNS only. */
  readonly subject?: string;
  /** FIFO queues only. */
  readonly groupId?: string;
}

/** The path that AWS clients send to. */
export const AWS_PATH = "/_trellis/aws";

/** The account id in local ARNs and queue URLs. */
export const LOCAL_ACCOUNT = "000000000000";

/** An error in the format of AWS, which the clients throw. */
class AwsError extends Error {
  constructor(readonly code: string, message: string) {
    super(message);
  }
}

type Json = Record<string, unknown>;

/**
 * Answers AWS clients that send messages: SQS (`SendMessage`, `SendMessageBatch`, `GetQueueUrl`),
 * SNS (`Publish`, `PublishBatch`) and EventBridge (`PutEvents`). Implements the protocols of the
 * AWS SDK for JavaScript 3 (2026-11): AWS JSON 1.0 and 1.1, AWS query. Nothing is sent over the
 * network.
 *
 * @param body The request body.
 * @param url The base URL of this server.
 * @param onSent Called with each message.
 */
export function answerAwsClient(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  url: string,
  onSent: (sent: SentMessage) => void,
): void {
  const target = String(request.headers["x-amz-target"] ?? "");
  const isQuery = target === "";
  try {
    if (isQuery) {
      const xml = answerSns(new URLSearchParams(body.toString("utf8")), onSent);
      response.writeHead(200, { "Content-Type": "text/xml" }).end(xml);
      return;
    }
    const input = JSON.parse(body.toString("utf8")) as Json;
    const output = target.startsWith("AmazonSQS.")
      ? answerSqs(target.slice("AmazonSQS.".length), input, url, onSent)
      : target === "AWSEvents.PutEvents"
      ? putEvents(input, onSent)
      : unsupported(target);
    response.writeHead(200, { "Content-Type": "application/x-amz-json-1.0" }).end(
      JSON.stringify(output),
    );
  } catch (error) {
    const { code = "InvalidRequest", message } = error as AwsError;
    response.writeHead(400, { "Content-Type": isQuery ? "text/xml" : "application/x-amz-json-1.0" })
      .end(
        isQuery
          ? `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${
            escapeHtml(message)
          }</Message></Error></ErrorResponse>`
          : JSON.stringify({ __type: code, message }),
      );
  }
}

/**
 * Rejects requests that a browser page made. AWS clients run in functions and never send these
 * headers.
 *
 * @throws {ForbiddenError} If the request has `Origin` or `Sec-Fetch-Site`.
 */
export function assertNoPage({ headers }: IncomingMessage): void {
  const pageHeaders = [headers.origin, headers.referer, headers.cookie, headers["sec-fetch-site"]];
  if (pageHeaders.some((header) => header !== undefined)) {
    throw new ForbiddenError("This address serves AWS clients only, not browser pages");
  }
}

function unsupported(what: string): never {
  throw new AwsError(
    "UnsupportedOperation",
    `trellis dev supports SendMessage, SendMessageBatch, ` +
      `GetQueueUrl, Publish, PublishBatch and PutEvents, not ${what}`,
  );
}

function answerSqs(
  operation: string,
  input: Json,
  url: string,
  onSent: (sent: SentMessage) => void,
): Json {
  if (operation === "GetQueueUrl") {
    return { QueueUrl: `${url}${AWS_PATH}/${LOCAL_ACCOUNT}/${input.QueueName}` };
  }
  const queue = String(input.QueueUrl ?? "").split("/").at(-1) ?? "";
  if (queue === "") throw new AwsError("MissingParameter", "The request has no QueueUrl");
  const send = (entry: Json): Json => {
    const body = String(entry.MessageBody ?? "");
    const sent = newMessage("sqs", queue, body, {
      attributes: readAttributes(entry.MessageAttributes),
      groupId: entry.MessageGroupId === undefined ? undefined : String(entry.MessageGroupId),
    });
    onSent(sent);
    // clients verify the hash
    return { MessageId: sent.id, MD5OfMessageBody: createHash("md5").update(body).digest("hex") };
  };
  if (operation === "SendMessage") return send(input);
  if (operation !== "SendMessageBatch") return unsupported(operation);
  const entries = (input.Entries ?? []) as Json[];
  return { Successful: entries.map((entry) => ({ Id: entry.Id, ...send(entry) })), Failed: [] };
}

function putEvents(input: Json, onSent: (sent: SentMessage) => void): Json {
  const entries = (input.Entries ?? []) as Json[];
  return {
    FailedEntryCount: 0,
    Entries: entries.map((entry) => {
      const bus = String(entry.EventBusName ?? "default").split("/").at(-1)!;
      const sent = newMessage("eventbridge", bus, String(entry.Detail ?? "{}"), {
        attributes: {},
        detailType: String(entry.DetailType ?? ""),
        source: String(entry.Source ?? ""),
      });
      onSent(sent);
      return { EventId: sent.id };
    }),
  };
}

function answerSns(form: URLSearchParams, onSent: (sent: SentMessage) => void): string {
  const action = form.get("Action");
  if (action !== "Publish" && action !== "PublishBatch") return unsupported(String(action));
  const topic = (form.get("TopicArn") ?? form.get("TargetArn") ?? "").split(":").at(-1)!;
  if (topic === "") throw new AwsError("InvalidParameter", "The request has no TopicArn");
  const publish = (prefix: string): string => {
    const sent = newMessage("sns", topic, form.get(`${prefix}Message`) ?? "", {
      attributes: readQueryAttributes(form, prefix),
      subject: form.get(`${prefix}Subject`) ?? undefined,
    });
    onSent(sent);
    return sent.id;
  };
  const wrap = (result: string) =>
    `<${action}Response ` +
    `xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><${action}Result>${result}</${action}Result>` +
    `<ResponseMetadata><RequestId>${crypto.randomUUID()}</RequestId></ResponseMetadata></${action}Response>`;
  if (action === "Publish") return wrap(`<MessageId>${publish("")}</MessageId>`);
  const entry = (index: number) => `PublishBatchRequestEntries.member.${index}.`;
  const members: string[] = [];
  for (let i = 1; form.has(`${entry(i)}Id`); i++) {
    const id = escapeHtml(form.get(`${entry(i)}Id`)!);
    members.push(`<member><Id>${id}</Id><MessageId>${publish(entry(i))}</MessageId></member>`);
  }
  return wrap(`<Failed/><Successful>${members.join("")}</Successful>`);
}

function newMessage(
  service: SentMessage["service"],
  target: string,
  body: string,
  rest: Pick<SentMessage, "attributes" | "detailType" | "source" | "subject" | "groupId">,
): SentMessage {
  return { id: crypto.randomUUID(), service, target, at: new Date().toISOString(), body, ...rest };
}

function readAttributes(attributes: unknown): Record<string, SentAttribute> {
  return Object.fromEntries(
    Object.entries((attributes ?? {}) as Record<string, Json>).map((
      [name, { DataType, StringValue, BinaryValue }],
    ) => [
      name,
      { type: String(DataType), value: String(StringValue ?? BinaryValue ?? "") },
    ]),
  );
}

function readQueryAttributes(form: URLSearchParams, prefix: string): Record<string, SentAttribute> {
  const attributes: Record<string, SentAttribute> = {};
  for (let i = 1; form.has(`${prefix}MessageAttributes.entry.${i}.Name`); i++) {
    const at = `${prefix}MessageAttributes.entry.${i}.`;
    attributes[form.get(`${at}Name`)!] = {
      type: form.get(`${at}Value.DataType`) ?? "String",
      value: form.get(`${at}Value.StringValue`) ?? form.get(`${at}Value.BinaryValue`) ?? "",
    };
  }
  return attributes;
}
