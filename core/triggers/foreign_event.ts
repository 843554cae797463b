import { UnexpectedError } from "../../errors/http_errors.ts";

interface AnyEvent {
  readonly Records?: readonly { readonly eventSource?: unknown; readonly EventSource?: unknown }[];
  readonly eventSource?: unknown;
  readonly "detail-type"?: unknown;
  readonly triggerSource?: unknown;
  readonly userPoolId?: unknown;
  readonly type?: unknown;
  readonly methodArn?: unknown;
  readonly routeArn?: unknown;
  readonly httpMethod?: unknown;
  readonly awslogs?: unknown;
  readonly deliveryStreamArn?: unknown;
  readonly requestContext?: {
    readonly connectionId?: unknown;
    readonly http?: unknown;
    readonly elb?: unknown;
    readonly serviceNetworkArn?: unknown;
  };
}

/** Services by the source that their events name, with the function of this package for them. */
const SOURCES: Readonly<Record<string, readonly [service: string, factory: string]>> = {
  "aws:sqs": ["SQS", "defineQueueHandler"],
  "aws:sns": ["SNS", "defineTopicHandler"],
  "aws:s3": ["S3", "defineStorageHandler"],
  "aws:kinesis": ["Kinesis", "defineStreamHandler"],
  "aws:dynamodb": ["a DynamoDB stream", "defineTableStreamHandler"],
  "aws:kafka": ["Kafka", "defineKafkaHandler"],
  SelfManagedKafka: ["Kafka", "defineKafkaHandler"],
  "aws:ses": ["SES", "defineEventHandler({ event: SesReceiptEvent })"],
  "aws:mq": ["ActiveMQ", "defineEventHandler({ event: ActiveMqEvent })"],
  "aws:rmq": ["RabbitMQ", "defineEventHandler({ event: RabbitMqEvent })"],
};

/** Finds the service that sent an event, and the function of this package that takes it. */
function findSender(event: AnyEvent): readonly [service: string, factory: string] | undefined {
  const first = Array.isArray(event.Records) ? event.Records[0] : undefined;
  const source = first?.eventSource ?? first?.EventSource ?? event.eventSource;
  if (typeof source === "string" && Object.hasOwn(SOURCES, source)) return SOURCES[source];
  const { requestContext: request } = event;
  if (typeof event["detail-type"] === "string") {
    return event["detail-type"] === "Scheduled Event"
      ? ["a schedule", "defineScheduleHandler"]
      : ["EventBridge", "defineEventHandler"];
  }
  if (event.type === "TOKEN" || event.methodArn !== undefined || event.routeArn !== undefined) {
    return ["an authorizer", "defineAuthorizerHandler"];
  }
  if (request?.connectionId !== undefined) return ["a WebSocket API", "defineWebSocketHandler"];
  if ([event.httpMethod, request?.http, request?.elb].some((part) => part !== undefined)) {
    return ["an HTTP API", "defineApiHandler"];
  }
  if (request?.serviceNetworkArn !== undefined) {
    return ["VPC Lattice", "defineEventHandler({ event: VpcLatticeEvent })"];
  }
  if (typeof event.triggerSource === "string" && event.userPoolId !== undefined) {
    return ["Cognito", "defineEventHandler with an event schema of @trellis/fn/triggers/events"];
  }
  if (event.awslogs !== undefined) {
    return ["CloudWatch Logs", "defineEventHandler({ event: CloudWatchLogsEvent })"];
  }
  if (event.deliveryStreamArn !== undefined) {
    return ["Firehose", "defineEventHandler({ event: FirehoseTransformationEvent })"];
  }
}

/**
 * Creates the error for an event that a function's trigger cannot have sent.
 *
 * @param problem What the event is not, and what the trigger must be.
 * @param event The event. Nothing of it is part of the message but the name of its service.
 * @param cause What was thrown before, if anything.
 * @returns The error.
 */
export function foreignEvent(problem: string, event: unknown, cause?: unknown): UnexpectedError {
  const [service, factory] = findSender((event ?? {}) as AnyEvent) ?? [];
  const hint = service === undefined ? "" : `. It is an event of ${service}: use ${factory}`;
  return new UnexpectedError(problem + hint, { cause });
}
