import type {
  AuthorizerContext,
  EventHeaders,
  HttpApiEvent,
  RestApiEvent,
} from "../http/lambda.ts";

/** One message of an SQS queue. */
export interface SqsRecord {
  /** SQS' id of the message; the same in each delivery. */
  readonly messageId: string;
  /** Handle to delete this delivery. */
  readonly receiptHandle: string;
  /** The message. */
  readonly body: string;
  /** Attributes that SQS sets; all values are strings. */
  readonly attributes: {
    readonly ApproximateReceiveCount: string;
    readonly SentTimestamp: string;
    /** Order within a FIFO queue; fairness in a standard queue. */
    readonly MessageGroupId?: string;
    readonly MessageDeduplicationId?: string;
    readonly SequenceNumber?: string;
    readonly AWSTraceHeader?: string;
    readonly [name: string]: string | undefined;
  };
  /** Attributes that the sender set. */
  readonly messageAttributes: Readonly<
    Record<
      string,
      | { readonly dataType: string; readonly stringValue?: string; readonly binaryValue?: string }
      | undefined
    >
  >;
  /** `aws:sqs` */
  readonly eventSource: string;
  /** ARN of the queue; that of a FIFO queue ends with `.fifo`. */
  readonly eventSourceARN: string;
  /** `eu-west-1` */
  readonly awsRegion: string;
}

/** The event of a consumer of an SQS queue. */
export interface SqsEvent {
  /** 1 to 10,000 messages. */
  readonly Records: readonly SqsRecord[];
}

/** The messages that SQS delivers again. The others are deleted. */
export interface SqsBatchResult {
  /** Ids of the messages that failed. */
  batchItemFailures: { itemIdentifier: string }[];
}

/** A message of an SNS topic. In a queue it is the JSON of the body, unless the subscription asks for raw delivery. */
export interface SnsMessage {
  /** `Notification` */
  readonly Type: string;
  /** SNS' id of the message; the same in each delivery. */
  readonly MessageId: string;
  /** ARN of the topic. */
  readonly TopicArn: string;
  /** The publisher's subject line. */
  readonly Subject?: string | null;
  /** The message. */
  readonly Message: string;
  /** ISO 8601. */
  readonly Timestamp: string;
  /** Attributes that the publisher set. */
  readonly MessageAttributes?: Readonly<
    Record<string, { readonly Type: string; readonly Value: string } | undefined>
  >;
}

/** One record of an SNS event. */
export interface SnsRecord {
  /** `aws:sns` */
  readonly EventSource: string;
  /** `1.0` */
  readonly EventVersion: string;
  /** ARN of the subscription. */
  readonly EventSubscriptionArn: string;
  /** The message. */
  readonly Sns: SnsMessage;
}

/** The event of an SNS topic; in practice with one record. */
export interface SnsEvent {
  /** The messages. */
  readonly Records: readonly SnsRecord[];
}

/** An event of an EventBridge bus. */
export interface EventBridgeEvent {
  /** `0` */
  readonly version: string;
  /** EventBridge's id of the event; the same in each delivery. */
  readonly id: string;
  /** Name of the event: `note.created`. */
  readonly "detail-type": string;
  /** The sender: `notes`. */
  readonly source: string;
  /** The account. */
  readonly account: string;
  /** ISO 8601. */
  readonly time: string;
  /** `eu-west-1` */
  readonly region: string;
  /** ARNs that the event is about. */
  readonly resources: readonly string[];
  /** The event's own content. */
  readonly detail: unknown;
}

/**
 * The event of a schedule: a rule of EventBridge (`source` is `aws.events`), EventBridge Scheduler by default (`detail`
 * is the text `{}`), or a schedule of the function module.
 */
export interface ScheduleEvent {
  /** `0` */
  readonly version: string;
  /** Id of the event; Scheduler makes a new one for each attempt. */
  readonly id: string;
  /** `Scheduled Event` */
  readonly "detail-type": string;
  /** `aws.events` or `aws.scheduler` */
  readonly source: string;
  /** ISO 8601: the scheduled time. */
  readonly time: string;
  /** ARN of the rule or of the schedule. */
  readonly resources: readonly string[];
  /** The account. */
  readonly account?: string;
  /** `eu-west-1` */
  readonly region?: string;
  /** Empty. */
  readonly detail: unknown;
}

/** An event of a WebSocket API. */
export interface WebSocketEvent {
  /** With CONNECT and DISCONNECT. */
  readonly headers?: EventHeaders;
  /** With CONNECT and DISCONNECT. */
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>>;
  /** With CONNECT. */
  readonly queryStringParameters?: Readonly<Record<string, string | undefined>> | null;
  /** Data of the gateway about the connection. */
  readonly requestContext: {
    /** `$connect`, `$disconnect`, `$default` or a route of your own. */
    readonly routeKey: string;
    readonly eventType: "CONNECT" | "MESSAGE" | "DISCONNECT";
    readonly connectionId: string;
    /** Id of this event. */
    readonly requestId: string;
    /** Id of the message, with MESSAGE. */
    readonly messageId?: string;
    readonly domainName: string;
    readonly stage: string;
    readonly apiId: string;
    /** Epoch milliseconds. */
    readonly connectedAt: number;
    /** Epoch milliseconds. */
    readonly requestTimeEpoch: number;
    readonly identity?: { readonly sourceIp?: string; readonly userAgent?: string | null };
    /** The context of the authorizer, from the connect. */
    readonly authorizer?: AuthorizerContext | null;
    /** With DISCONNECT: a code of RFC 6455, section 7.4. */
    readonly disconnectStatusCode?: number;
    readonly disconnectReason?: string;
  };
  /** The message, with MESSAGE. */
  readonly body?: string;
  /** True if `body` is base64. */
  readonly isBase64Encoded: boolean;
}

/** The result for an event of a WebSocket API. */
export interface WebSocketResult {
  /** With CONNECT: from 200 to 299 the connection is made, else the client reads this status. */
  statusCode: number;
  /** With CONNECT: headers of the handshake's response, such as `Sec-WebSocket-Protocol`. */
  headers?: Record<string, string | number | boolean>;
  /** With MESSAGE: sent to the client when the route is two-way. */
  body?: string;
}

/** The event of a REST API's authorizer of the type TOKEN. */
export interface TokenAuthorizerEvent {
  /** The type of the authorizer. */
  readonly type: "TOKEN";
  /** The header that the authorizer is set to, whole. */
  readonly authorizationToken: string;
  /** `arn:aws:execute-api:eu-west-1:123456789012:<api>/<stage>/GET/notes` */
  readonly methodArn: string;
}

/** The event of an authorizer of the type REQUEST, for a REST API, a WebSocket API or an HTTP API (payload format 1.0). */
export interface RequestAuthorizerEvent extends Omit<RestApiEvent, "body" | "isBase64Encoded"> {
  /** The type of the authorizer. */
  readonly type: "REQUEST";
  /** `arn:aws:execute-api:eu-west-1:123456789012:<api>/<stage>/GET/notes`; it ends with `/$connect` for a WebSocket. */
  readonly methodArn: string;
}

/** The event of an HTTP API's authorizer (payload format 2.0). */
export interface HttpAuthorizerEvent extends Omit<HttpApiEvent, "body" | "isBase64Encoded"> {
  /** The type of the authorizer. */
  readonly type: "REQUEST";
  /** `arn:aws:execute-api:eu-west-1:123456789012:<api>/<stage>/GET/notes` */
  readonly routeArn: string;
  /** The cache key of the decision: usually the credential. */
  readonly identitySource?: readonly string[] | null;
}

/** Any event of an authorizer. */
export type AuthorizerEvent = TokenAuthorizerEvent | RequestAuthorizerEvent | HttpAuthorizerEvent;

/** The result for a REST API, a WebSocket API or an HTTP API with payload format 1.0. */
export interface AuthorizerPolicyResult {
  /** Id of the caller, for the gateway's logs. */
  principalId: string;
  /** The methods that the caller may invoke. */
  policyDocument: {
    Version: "2012-10-17";
    Statement: { Action: "execute-api:Invoke"; Effect: "Allow" | "Deny"; Resource: string }[];
  };
  /** The value of `event.requestContext.authorizer` in handlers. */
  context: Record<string, string | number | boolean>;
}

/** The result for an HTTP API with payload format 2.0 and simple responses. */
export interface AuthorizerSimpleResult {
  /** True if the request is allowed. */
  isAuthorized: boolean;
  /** The value of `event.requestContext.authorizer.lambda` in handlers. */
  context: Record<string, string | number | boolean>;
}

/** The result for a kind of event. */
export type AuthorizerResult<E extends AuthorizerEvent = AuthorizerEvent> = E extends
  HttpAuthorizerEvent ? AuthorizerSimpleResult
  : AuthorizerPolicyResult;
