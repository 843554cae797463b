/**
 * Schemas of events of AWS without a specific factory, for `defineEventHandler({ event, response })`. They check what a handler
 * reads and keep all other properties, so that an event can be returned to Cognito. Shapes are those of AWS's documentation in 2026.
 *
 * @example
 * ```ts
 * import { createLambdaContext } from "@trellis/fn/testing";
 * import { defineEventHandler } from "@trellis/fn/triggers";
 * import { FirehoseTransformationEvent, FirehoseTransformationResult } from "@trellis/fn/triggers/events";
 *
 * export const handler = defineEventHandler({
 *   event: FirehoseTransformationEvent,
 *   response: FirehoseTransformationResult,
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(({ event }) => ({
 *   records: event.records.map(({ recordId, data }) => ({ recordId, result: "Ok", data })),
 * }));
 *
 * const records = [{ recordId: "r1", approximateArrivalTimestamp: 0, data: "e30=" }];
 * const event = { invocationId: "i1", deliveryStreamArn: "arn:aws:firehose:…", region: "eu-west-1", records };
 * console.log(await handler(event, createLambdaContext())); // { records: [ { recordId: "r1", result: "Ok", data: "e30=" } ] }
 * ```
 *
 * @module
 */
import * as z from "zod";
import { decodeBase64 } from "../core/http/base64.ts";
import {
  readChange,
  type S3EventBridgeEvent,
  type S3Record,
  type StorageChange,
} from "../core/triggers/storage_events.ts";

export {
  type CognitoChallenge,
  CognitoCreateAuthChallengeEvent,
  CognitoCustomMessageEvent,
  CognitoDefineAuthChallengeEvent,
  type CognitoEvent,
  type CognitoFederatedAttributes,
  type CognitoGroups,
  CognitoInboundFederationEvent,
  CognitoPostAuthenticationEvent,
  CognitoPostConfirmationEvent,
  CognitoPreAuthenticationEvent,
  CognitoPreSignUpEvent,
  CognitoPreTokenGenerationEvent,
  CognitoUserMigrationEvent,
  type CognitoUserRequest,
  CognitoVerifyAuthChallengeEvent,
} from "./cognito_events.ts";

export type { StorageChange } from "../core/triggers/storage_events.ts";

const Texts = z.record(z.string(), z.string());

/** Records that Firehose wants changed. */
export interface FirehoseTransformationEvent {
  /** Id of the invocation. */
  invocationId: string;
  /** ARN of the delivery stream. */
  deliveryStreamArn: string;
  /** ARN of the data stream that fills it, if one does. */
  sourceKinesisStreamArn?: string;
  /** The region. */
  region: string;
  /** The records; `data` is base64. */
  records: { recordId: string; approximateArrivalTimestamp: number; data: string }[];
}
/** Schema of {@link FirehoseTransformationEvent}. */
export const FirehoseTransformationEvent: z.ZodType<FirehoseTransformationEvent> = z.looseObject({
  invocationId: z.string(),
  deliveryStreamArn: z.string(),
  sourceKinesisStreamArn: z.string().optional(),
  region: z.string(),
  records: z.array(z.looseObject({
    recordId: z.string(),
    approximateArrivalTimestamp: z.number(),
    data: z.string(),
  })),
});

/** The records as Firehose takes them: each of the event once, with `data` in base64. */
export interface FirehoseTransformationResult {
  /** The records. `metadata.partitionKeys` is for dynamic partitioning. */
  records: {
    recordId: string;
    result: "Ok" | "Dropped" | "ProcessingFailed";
    data?: string;
    metadata?: { partitionKeys: Record<string, string> };
  }[];
}
/** Schema of {@link FirehoseTransformationResult}. */
export const FirehoseTransformationResult: z.ZodType<
  FirehoseTransformationResult,
  FirehoseTransformationResult
> = z.object({
  records: z.array(z.object({
    recordId: z.string(),
    result: z.enum(["Ok", "Dropped", "ProcessingFailed"]),
    data: z.base64().optional(),
    metadata: z.object({ partitionKeys: Texts }).optional(),
  })),
});

/** The verdict of a check of SES. */
export interface SesVerdict {
  /** `PASS`, `FAIL`, `GRAY`, `PROCESSING_FAILED` or `DISABLED`. */
  status: string;
}

/** Mails that SES received. They have no body: an S3 action before this one stores it. */
export interface SesReceiptEvent {
  /** One record. */
  Records: {
    ses: {
      mail: {
        timestamp: string;
        source: string;
        messageId: string;
        destination: string[];
        headersTruncated: boolean;
        headers: { name: string; value: string }[];
        commonHeaders: {
          subject?: string;
          from?: string[];
          to?: string[];
          messageId?: string;
          date?: string;
        };
      };
      receipt: {
        timestamp: string;
        recipients: string[];
        spamVerdict: SesVerdict;
        virusVerdict: SesVerdict;
        spfVerdict: SesVerdict;
        dkimVerdict: SesVerdict;
        dmarcVerdict?: SesVerdict;
      };
    };
  }[];
}
const Verdict = z.looseObject({ status: z.string() });
/** Schema of {@link SesReceiptEvent}. */
export const SesReceiptEvent: z.ZodType<SesReceiptEvent> = z.looseObject({
  Records: z.array(z.looseObject({
    ses: z.looseObject({
      mail: z.looseObject({
        timestamp: z.string(),
        source: z.string(),
        messageId: z.string(),
        destination: z.array(z.string()),
        headersTruncated: z.boolean(),
        headers: z.array(z.looseObject({ name: z.string(), value: z.string() })),
        commonHeaders: z.looseObject({
          subject: z.string().optional(),
          from: z.array(z.string()).optional(),
          to: z.array(z.string()).optional(),
          messageId: z.string().optional(),
          date: z.string().optional(),
        }),
      }),
      receipt: z.looseObject({
        timestamp: z.string(),
        recipients: z.array(z.string()),
        spamVerdict: Verdict,
        virusVerdict: Verdict,
        spfVerdict: Verdict,
        dkimVerdict: Verdict,
        dmarcVerdict: Verdict.optional(),
      }),
    }),
  })).min(1),
});

/** The answer to SES, if the action waits for it (invocation type `RequestResponse`). */
export interface SesReceiptResult {
  /** What happens with the rules after this one. */
  disposition: "CONTINUE" | "STOP_RULE" | "STOP_RULE_SET";
}
/** Schema of {@link SesReceiptResult}. */
export const SesReceiptResult: z.ZodType<SesReceiptResult, SesReceiptResult> = z.object({
  disposition: z.enum(["CONTINUE", "STOP_RULE", "STOP_RULE_SET"]),
});

/** Lines of a subscription of CloudWatch Logs, decompressed. */
export interface CloudWatchLogsEvent {
  /** `DATA_MESSAGE`, or `CONTROL_MESSAGE` when CloudWatch tests the subscription. */
  messageType: string;
  /** Account of the log group. */
  owner: string;
  /** The log group. */
  logGroup: string;
  /** The log stream. */
  logStream: string;
  /** Names of the filters that matched. */
  subscriptionFilters: string[];
  /** The lines; `timestamp` in milliseconds since 1970. */
  logEvents: {
    id: string;
    timestamp: number;
    message: string;
    extractedFields?: Record<string, string>;
  }[];
}
const LogLines: z.ZodType<CloudWatchLogsEvent> = z.looseObject({
  messageType: z.string(),
  owner: z.string(),
  logGroup: z.string(),
  logStream: z.string(),
  subscriptionFilters: z.array(z.string()),
  logEvents: z.array(z.looseObject({
    id: z.string(),
    timestamp: z.number(),
    message: z.string(),
    extractedFields: Texts.optional(),
  })),
});
/** Largest text that an event is decompressed to, in bytes: Lambda takes events of 6 MB, of which gzip could make gigabytes. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;
/** Schema of {@link CloudWatchLogsEvent}: decodes `awslogs.data`, which is JSON in gzip in base64. At most 64 MB. */
export const CloudWatchLogsEvent: z.ZodType<CloudWatchLogsEvent> = z.looseObject({
  awslogs: z.looseObject({ data: z.base64() }),
}).transform(async ({ awslogs: { data } }, context) => {
  try {
    return JSON.parse(await decompress(decodeBase64(data)));
  } catch {
    context.addIssue({
      code: "custom",
      message: "It is no JSON in gzip",
      path: ["awslogs", "data"],
    });
    return z.NEVER;
  }
}).pipe(LogLines);

async function decompress(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MAX_LOG_BYTES) throw new RangeError("The lines are larger than 64 MB");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Messages of a queue of Amazon MQ for ActiveMQ. A failure brings the batch again. */
export interface ActiveMqEvent {
  /** Always `aws:mq`. */
  eventSource: "aws:mq";
  /** ARN of the broker. */
  eventSourceArn: string;
  /** The messages; `data` is base64, `timestamp` in milliseconds since 1970. */
  messages: {
    messageID: string;
    messageType: string;
    timestamp: number;
    redelivered: boolean;
    destination: { physicalName: string };
    data: string;
    properties?: Record<string, unknown>;
  }[];
}
/** Schema of {@link ActiveMqEvent}. */
export const ActiveMqEvent: z.ZodType<ActiveMqEvent> = z.looseObject({
  eventSource: z.literal("aws:mq"),
  eventSourceArn: z.string(),
  messages: z.array(z.looseObject({
    messageID: z.string(),
    messageType: z.string(),
    timestamp: z.number(),
    redelivered: z.boolean(),
    destination: z.looseObject({ physicalName: z.string() }),
    data: z.string(),
    properties: z.record(z.string(), z.unknown()).optional(),
  })),
});

/** Messages of queues of Amazon MQ for RabbitMQ. A failure brings the batch again. */
export interface RabbitMqEvent {
  /** Always `aws:rmq`. */
  eventSource: "aws:rmq";
  /** ARN of the broker. */
  eventSourceArn: string;
  /** The messages by queue and virtual host (`queue::/`); `data` is base64. */
  rmqMessagesByQueue: Record<
    string,
    { basicProperties: Record<string, unknown>; redelivered: boolean; data: string }[]
  >;
}
/** Schema of {@link RabbitMqEvent}. */
export const RabbitMqEvent: z.ZodType<RabbitMqEvent> = z.looseObject({
  eventSource: z.literal("aws:rmq"),
  eventSourceArn: z.string(),
  rmqMessagesByQueue: z.record(
    z.string(),
    z.array(z.looseObject({
      basicProperties: z.record(z.string(), z.unknown()),
      redelivered: z.boolean(),
      data: z.string(),
    })),
  ),
});

/**
 * A custom resource of CloudFormation. The function must send the result to `ResponseURL` with PUT, also when it fails, or the stack
 * waits for an hour; frameworks such as the CDK's provider do that for a function.
 */
export interface CustomResourceEvent {
  /** What CloudFormation does. */
  RequestType: "Create" | "Update" | "Delete";
  /** Where the result goes; absent behind a framework that sends it. */
  ResponseURL?: string;
  /** ARN of the stack. */
  StackId: string;
  /** Id of the request. */
  RequestId: string;
  /** Name of the resource in the template. */
  LogicalResourceId: string;
  /** Type of the resource, such as `Custom::Thing`. */
  ResourceType: string;
  /** Id that the function gave the resource; absent in `Create`. */
  PhysicalResourceId?: string;
  /** The properties of the resource in the template; numbers and booleans are texts. */
  ResourceProperties: Record<string, unknown>;
  /** The properties before an `Update`. */
  OldResourceProperties?: Record<string, unknown>;
}
/** Schema of {@link CustomResourceEvent}. */
export const CustomResourceEvent: z.ZodType<CustomResourceEvent> = z.looseObject({
  RequestType: z.enum(["Create", "Update", "Delete"]),
  ResponseURL: z.string().optional(),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
  ResourceType: z.string(),
  PhysicalResourceId: z.string().optional(),
  ResourceProperties: z.record(z.string(), z.unknown()),
  OldResourceProperties: z.record(z.string(), z.unknown()).optional(),
});

/** A read of an object through S3 Object Lambda: send the answer with `WriteGetObjectResponse`. */
export interface S3ObjectLambdaEvent {
  /** Id of the request. */
  xAmzRequestId: string;
  /** Where the object can be read, and where the answer goes. */
  getObjectContext?: { inputS3Url: string; outputRoute: string; outputToken: string };
  /** Where the object's metadata can be read, for HEAD. */
  headObjectContext?: { inputS3Url: string };
  /** Where the list can be read, for ListObjects. */
  listObjectsContext?: { inputS3Url: string };
  /** Where the list can be read, for ListObjectsV2. */
  listObjectsV2Context?: { inputS3Url: string };
  /** The access point, with the text of its configuration. */
  configuration: { accessPointArn: string; supportingAccessPointArn: string; payload: string };
  /** The caller's request. */
  userRequest: { url: string; headers: Record<string, string> };
  /** The caller. */
  userIdentity: Record<string, unknown>;
}
const ReadableAt = z.looseObject({ inputS3Url: z.string() });
/** Schema of {@link S3ObjectLambdaEvent}. */
export const S3ObjectLambdaEvent: z.ZodType<S3ObjectLambdaEvent> = z.looseObject({
  xAmzRequestId: z.string(),
  getObjectContext: z.looseObject({
    inputS3Url: z.string(),
    outputRoute: z.string(),
    outputToken: z.string(),
  }).optional(),
  headObjectContext: ReadableAt.optional(),
  listObjectsContext: ReadableAt.optional(),
  listObjectsV2Context: ReadableAt.optional(),
  configuration: z.looseObject({
    accessPointArn: z.string(),
    supportingAccessPointArn: z.string(),
    payload: z.string(),
  }),
  userRequest: z.looseObject({ url: z.string(), headers: Texts }),
  userIdentity: z.record(z.string(), z.unknown()),
});

/** The result of an asynchronous invocation of another function, of which this one is the destination. */
export interface LambdaDestinationEvent {
  /** Version of the event. */
  version: string;
  /** When the function ended. */
  timestamp: string;
  /** The invocation; `condition` is `Success`, `RetriesExhausted` or `EventAgeExceeded`. */
  requestContext: {
    requestId: string;
    functionArn: string;
    condition: string;
    approximateInvokeCount: number;
  };
  /** What the function got. */
  requestPayload?: unknown;
  /** How it ended; `functionError` if it failed. */
  responseContext?: { statusCode: number; executedVersion: string; functionError?: string | null };
  /** What it returned, or its error. */
  responsePayload?: unknown;
}
/** Schema of {@link LambdaDestinationEvent}. */
export const LambdaDestinationEvent: z.ZodType<LambdaDestinationEvent> = z.looseObject({
  version: z.string(),
  timestamp: z.string(),
  requestContext: z.looseObject({
    requestId: z.string(),
    functionArn: z.string(),
    condition: z.string(),
    approximateInvokeCount: z.number(),
  }),
  requestPayload: z.unknown().optional(),
  responseContext: z.looseObject({
    statusCode: z.number(),
    executedVersion: z.string(),
    functionError: z.string().nullish(),
  }).optional(),
  responsePayload: z.unknown().optional(),
});

/** A field that AWS AppSync resolves by this function (a direct Lambda resolver). `z.array()` of the schema takes batches. */
export interface AppSyncResolverEvent {
  /** The arguments of the field. Parse them with a schema of your own. */
  arguments: Record<string, unknown>;
  /** The caller, by the kind of authorization. */
  identity?: Record<string, unknown> | null;
  /** The result of the parent field. */
  source?: Record<string, unknown> | null;
  /** The request. */
  request: { headers: Record<string, string | undefined>; domainName?: string | null };
  /** The field. */
  info: {
    fieldName: string;
    parentTypeName: string;
    variables: Record<string, unknown>;
    selectionSetList?: string[];
    selectionSetGraphQL?: string;
  };
  /** The result of the function before this one, in a pipeline. */
  prev?: { result?: unknown } | null;
  /** Values that the functions of a pipeline share. */
  stash?: Record<string, unknown>;
}
const Values = z.record(z.string(), z.unknown());
/** Schema of {@link AppSyncResolverEvent}. */
export const AppSyncResolverEvent: z.ZodType<AppSyncResolverEvent> = z.looseObject({
  arguments: Values,
  identity: Values.nullish(),
  source: Values.nullish(),
  request: z.looseObject({
    headers: z.record(z.string(), z.string().optional()),
    domainName: z.string().nullish(),
  }),
  info: z.looseObject({
    fieldName: z.string(),
    parentTypeName: z.string(),
    variables: Values,
    selectionSetList: z.array(z.string()).optional(),
    selectionSetGraphQL: z.string().optional(),
  }),
  prev: z.looseObject({ result: z.unknown().optional() }).nullish(),
  stash: Values.optional(),
});

/** AWS AppSync asks whether a caller is authorized. */
export interface AppSyncAuthorizerEvent {
  /** The value of the `Authorization` header. */
  authorizationToken: string;
  /** The query. */
  requestContext: {
    apiId: string;
    accountId: string;
    requestId: string;
    queryString: string;
    operationName?: string | null;
    variables: Record<string, unknown>;
  };
  /** The headers. */
  requestHeaders?: Record<string, string>;
}
/** Schema of {@link AppSyncAuthorizerEvent}. */
export const AppSyncAuthorizerEvent: z.ZodType<AppSyncAuthorizerEvent> = z.looseObject({
  authorizationToken: z.string(),
  requestContext: z.looseObject({
    apiId: z.string(),
    accountId: z.string(),
    requestId: z.string(),
    queryString: z.string(),
    operationName: z.string().nullish(),
    variables: Values,
  }),
  requestHeaders: Texts.optional(),
});

/** The decision for AWS AppSync. */
export interface AppSyncAuthorizerResult {
  /** Whether the query runs. */
  isAuthorized: boolean;
  /** Texts for `$ctx.identity.resolverContext`. */
  resolverContext?: Record<string, string>;
  /** Fields that become null, such as `Note.body` or an ARN. */
  deniedFields?: string[];
  /** How long the decision is cached, in seconds. */
  ttlOverride?: number;
}
/** Schema of {@link AppSyncAuthorizerResult}. */
export const AppSyncAuthorizerResult: z.ZodType<AppSyncAuthorizerResult, AppSyncAuthorizerResult> =
  z.object({
    isAuthorized: z.boolean(),
    resolverContext: Texts.optional(),
    deniedFields: z.array(z.string()).optional(),
    ttlOverride: z.int().min(0).max(3600).optional(),
  });

/** A request of VPC Lattice, event version 2.0. The answer is `{ statusCode, headers, body }`. */
export interface VpcLatticeEvent {
  /** Always `2.0`. */
  version: "2.0";
  /** The path. */
  path: string;
  /** The method. */
  method: string;
  /** The values of each header. */
  headers: Record<string, string[]>;
  /** The values of each parameter. */
  queryStringParameters?: Record<string, string[]>;
  /** The body. */
  body?: string | null;
  /** Whether the body is base64. */
  isBase64Encoded?: boolean;
  /** The service network, the service and the caller. */
  requestContext: {
    serviceNetworkArn: string;
    serviceArn: string;
    targetGroupArn: string;
    region: string;
    timeEpoch: string;
    identity?: Record<string, unknown>;
  };
}
const Lists = z.record(z.string(), z.array(z.string()));
/** Schema of {@link VpcLatticeEvent}. */
export const VpcLatticeEvent: z.ZodType<VpcLatticeEvent> = z.looseObject({
  version: z.literal("2.0"),
  path: z.string(),
  method: z.string(),
  headers: Lists,
  queryStringParameters: Lists.optional(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().optional(),
  requestContext: z.looseObject({
    serviceNetworkArn: z.string(),
    serviceArn: z.string(),
    targetGroupArn: z.string(),
    region: z.string(),
    timeEpoch: z.string(),
    identity: Values.optional(),
  }),
});

const NotifiedObject = z.looseObject({ key: z.string() });
const NotifiedBucket = z.looseObject({ name: z.string() });

/**
 * Schema of a notification of S3 that comes as the message of a queue or topic: the changes of objects, as `defineStorageHandler`
 * gives them. Keys are decoded. The test that S3 sends when notifications are configured has no changes. For S3 through a topic in a
 * queue, set `envelope: "topic"`.
 *
 * @example
 * ```ts
 * import { createLambdaContext, createQueueEvent, createStorageEvent } from "@trellis/fn/testing";
 * import { defineQueueHandler } from "@trellis/fn/triggers";
 * import { StorageNotification } from "@trellis/fn/triggers/events";
 *
 * export const handler = defineQueueHandler({
 *   schema: StorageNotification,
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(function scaleImages({ body }) {
 *   for (const { bucket, key, change } of body) console.log(bucket, key, change); // photos a b.jpg created
 * });
 *
 * const body = createStorageEvent([{ bucket: "photos", key: "a b.jpg" }]);
 * await handler(createQueueEvent([{ body }]), createLambdaContext());
 * ```
 */
export const StorageNotification: z.ZodType<StorageChange[]> = z.union([
  z.looseObject({
    Records: z.array(z.looseObject({
      eventName: z.string(),
      s3: z.looseObject({ bucket: NotifiedBucket, object: NotifiedObject }),
    })),
  }).transform(({ Records }) => Records.map((each) => readChange(each as unknown as S3Record))),
  z.looseObject({
    source: z.literal("aws.s3"),
    "detail-type": z.string(),
    detail: z.looseObject({ bucket: NotifiedBucket, object: NotifiedObject }),
  }).transform((event) => [readChange(event as unknown as S3EventBridgeEvent)]),
  z.looseObject({ Service: z.string(), Event: z.literal("s3:TestEvent") }).transform(() => []),
]);
