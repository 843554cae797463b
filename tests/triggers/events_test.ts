import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type * as aws from "aws-lambda";
import * as z from "zod";
import { UnexpectedError } from "../../errors/mod.ts";
import {
  createHttpApiEvent,
  createLambdaContext,
  createQueueEvent,
  createRestApiEvent,
  createScheduleEvent,
  createStorageEvent,
  createStorageEventBridgeEvent,
  createStorageTestEvent,
  createTokenAuthorizerEvent,
  createTopicEvent,
  createTopicNotification,
  createWebSocketMessageEvent,
} from "../../testing/mod.ts";
import * as events from "../../triggers/events.ts";
import {
  defineAuthorizerHandler,
  defineEventHandler,
  defineQueueHandler,
  defineScheduleHandler,
  defineStorageHandler,
  type StorageChange,
} from "../../triggers/mod.ts";
import { captureLogs } from "../support/capture_logs.ts";

const context = createLambdaContext();
const options = { logging: { level: "SILENT" }, metrics: false } as const;

function cognito(triggerSource: string, request: object, response: object = {}) {
  const callerContext = { awsSdkVersion: "1", clientId: "c1" };
  return {
    version: "1",
    region: "eu-west-1",
    userPoolId: "eu-west-1_a",
    triggerSource,
    userName: "ada",
    callerContext,
    request: { userAttributes: { email: "ada@example.com" }, ...request },
    response,
  };
}

const verdict = { status: "PASS" };
const challenge = { challengeName: "CUSTOM_CHALLENGE", challengeResult: true };
const objectLambda = {
  xAmzRequestId: "r1",
  configuration: { accessPointArn: "arn:a", supportingAccessPointArn: "arn:b", payload: "{}" },
  userRequest: { url: "https://example.com/a", headers: { Host: "example.com" } },
  userIdentity: { type: "IAMUser" },
  protocolVersion: "1.00",
};

/** An event of each kind, with a property that the schema does not name. */
const SAMPLES: Readonly<Record<string, object>> = {
  CognitoPreSignUpEvent: cognito("PreSignUp_SignUp", {}, { autoConfirmUser: false }),
  CognitoPostConfirmationEvent: cognito("PostConfirmation_ConfirmSignUp", {}),
  CognitoPreAuthenticationEvent: cognito("PreAuthentication_Authentication", {}),
  CognitoPostAuthenticationEvent: cognito("PostAuthentication_Authentication", {
    newDeviceUsed: true,
  }),
  CognitoPreTokenGenerationEvent: cognito("TokenGeneration_RefreshTokens", {
    groupConfiguration: { groupsToOverride: ["a"], preferredRole: null },
    scopes: ["openid"],
  }, { claimsAndScopeOverrideDetails: null }),
  CognitoCustomMessageEvent: cognito("CustomMessage_SignUp", { codeParameter: "{####}" }, {
    smsMessage: null,
  }),
  CognitoDefineAuthChallengeEvent: cognito("DefineAuthChallenge_Authentication", {
    session: [challenge],
  }),
  CognitoCreateAuthChallengeEvent: cognito("CreateAuthChallenge_Authentication", {
    challengeName: "CUSTOM_CHALLENGE",
    session: [],
  }),
  CognitoVerifyAuthChallengeEvent: cognito("VerifyAuthChallengeResponse_Authentication", {
    privateChallengeParameters: { answer: "5" },
    challengeAnswer: "5",
  }),
  CognitoInboundFederationEvent: cognito("InboundFederation_ExternalProvider", {
    providerName: "Corporate",
    providerType: "SAML",
    attributes: { samlResponse: { "http://schemas.xmlsoap.org/claims/email": "ada@example.com" } },
  }, { userAttributesToMap: {} }),
  CognitoUserMigrationEvent: cognito("UserMigration_Authentication", { password: "p" }),
  FirehoseTransformationEvent: {
    invocationId: "i1",
    deliveryStreamArn: "arn:d",
    region: "eu-west-1",
    records: [{ recordId: "r1", approximateArrivalTimestamp: 1, data: "e30=", more: 1 }],
  },
  SesReceiptEvent: {
    Records: [{
      eventSource: "aws:ses",
      ses: {
        mail: {
          timestamp: "2026-01-01T00:00:00.000Z",
          source: "a@example.com",
          messageId: "m1",
          destination: ["b@example.com"],
          headersTruncated: false,
          headers: [{ name: "X", value: "y" }],
          commonHeaders: { subject: "Hello" },
        },
        receipt: {
          timestamp: "2026-01-01T00:00:00.000Z",
          recipients: ["b@example.com"],
          spamVerdict: verdict,
          virusVerdict: verdict,
          spfVerdict: verdict,
          dkimVerdict: verdict,
        },
      },
    }],
  },
  ActiveMqEvent: {
    eventSource: "aws:mq",
    eventSourceArn: "arn:b",
    messages: [{
      messageID: "m1",
      messageType: "jms/text-message",
      timestamp: 1,
      redelivered: false,
      destination: { physicalName: "q" },
      data: "e30=",
    }],
  },
  RabbitMqEvent: {
    eventSource: "aws:rmq",
    eventSourceArn: "arn:b",
    rmqMessagesByQueue: { "q::/": [{ basicProperties: {}, redelivered: false, data: "e30=" }] },
  },
  CustomResourceEvent: {
    RequestType: "Create",
    ResponseURL: "https://example.com",
    StackId: "s",
    RequestId: "r",
    LogicalResourceId: "l",
    ResourceType: "Custom::A",
    ResourceProperties: { ServiceToken: "arn:a" },
  },
  S3ObjectLambdaEvent: {
    ...objectLambda,
    getObjectContext: { inputS3Url: "https://example.com", outputRoute: "o", outputToken: "t" },
  },
  LambdaDestinationEvent: {
    version: "1.0",
    timestamp: "2026-01-01T00:00:00.000Z",
    requestContext: {
      requestId: "r1",
      functionArn: "arn:f",
      condition: "RetriesExhausted",
      approximateInvokeCount: 3,
    },
    requestPayload: { a: 1 },
    responseContext: { statusCode: 200, executedVersion: "$LATEST", functionError: "Unhandled" },
    responsePayload: { errorMessage: "x" },
  },
  AppSyncResolverEvent: {
    arguments: { id: "n1" },
    identity: null,
    source: null,
    request: { headers: { host: "example.com" }, domainName: null },
    info: { fieldName: "note", parentTypeName: "Query", variables: {}, selectionSetList: ["id"] },
    prev: null,
    stash: {},
  },
  AppSyncAuthorizerEvent: {
    authorizationToken: "t",
    requestContext: {
      apiId: "a",
      accountId: "1",
      requestId: "r",
      queryString: "query { a }",
      variables: {},
    },
  },
  VpcLatticeEvent: {
    version: "2.0",
    path: "/notes",
    method: "GET",
    headers: { accept: ["*/*"] },
    requestContext: {
      serviceNetworkArn: "arn:n",
      serviceArn: "arn:s",
      targetGroupArn: "arn:t",
      region: "eu-west-1",
      timeEpoch: "1",
    },
  },
};

Deno.test("the schemas of events take the events of their service unchanged, and those of no other", async () => {
  const schemas = Object.entries(events).filter(([name]) => name in SAMPLES);
  assertEquals(schemas.length, Object.keys(SAMPLES).length);
  for (const [name, event] of Object.entries(SAMPLES)) {
    for (const [other, schema] of schemas) {
      const result = await (schema as z.ZodType).safeParseAsync(event);
      assertEquals([other, result.success], [other, other === name], JSON.stringify(result.error));
      if (other === name) assertEquals(result.data, event);
    }
  }
});

Deno.test("the schemas of results take what the services take", () => {
  const records = [{ recordId: "r1", result: "Ok", data: "e30=" }];
  assertEquals(events.FirehoseTransformationResult.safeParse({ records }).success, true);
  const bare = { records: [{ recordId: "r1", result: "Ok", data: "{}" }] };
  assertEquals(events.FirehoseTransformationResult.safeParse(bare).success, false);
  assertEquals(events.SesReceiptResult.safeParse({ disposition: "STOP_RULE" }).success, true);
  assertEquals(events.AppSyncAuthorizerResult.safeParse({ isAuthorized: true }).success, true);
});

Deno.test("the events of @types/aws-lambda have the types of the schemas", () => {
  // assignments that the type checker decides
  const check = <T>(_give: (event: never) => T) => {};
  check<events.CognitoPreSignUpEvent>((event: aws.PreSignUpTriggerEvent) => event);
  check<events.CognitoPostConfirmationEvent>((event: aws.PostConfirmationTriggerEvent) => event);
  check<events.CognitoPreAuthenticationEvent>((event: aws.PreAuthenticationTriggerEvent) => event);
  check<events.CognitoPostAuthenticationEvent>((event: aws.PostAuthenticationTriggerEvent) =>
    event
  );
  check<events.CognitoPreTokenGenerationEvent>((event: aws.PreTokenGenerationTriggerEvent) =>
    event
  );
  check<events.CognitoPreTokenGenerationEvent>((event: aws.PreTokenGenerationV2TriggerEvent) =>
    event
  );
  check<events.CognitoCustomMessageEvent>((event: aws.CustomMessageTriggerEvent) => event);
  check<events.CognitoDefineAuthChallengeEvent>((event: aws.DefineAuthChallengeTriggerEvent) =>
    event
  );
  check<events.CognitoCreateAuthChallengeEvent>((event: aws.CreateAuthChallengeTriggerEvent) =>
    event
  );
  check<events.CognitoVerifyAuthChallengeEvent>((
    event: aws.VerifyAuthChallengeResponseTriggerEvent,
  ) => event);
  check<events.CognitoInboundFederationEvent>((event: aws.InboundFederationTriggerEvent) => event);
  check<events.FirehoseTransformationEvent>((event: aws.FirehoseTransformationEvent) => event);
  check<aws.FirehoseTransformationResult>((result: events.FirehoseTransformationResult) => result);
  check<events.SesReceiptEvent>((event: aws.SESEvent) => event);
  check<events.CustomResourceEvent>((event: aws.CloudFormationCustomResourceEvent) => event);
  check<events.AppSyncResolverEvent>((
    event: aws.AppSyncResolverEvent<Record<string, unknown>>,
  ) => ({ ...event, identity: { ...event.identity } }));
  check<events.AppSyncAuthorizerEvent>((event: aws.AppSyncAuthorizerEvent) => ({
    ...event,
    requestHeaders: {},
  }));
  check<aws.AppSyncAuthorizerResult<Record<string, string>>>((
    result: events.AppSyncAuthorizerResult,
  ) => result);
});

async function compress(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer()).toBase64();
}

Deno.test("CloudWatchLogsEvent decompresses lines, up to 64 MB", async () => {
  const lines = {
    messageType: "DATA_MESSAGE",
    owner: "1",
    logGroup: "g",
    logStream: "s",
    subscriptionFilters: ["f"],
    logEvents: [{ id: "1", timestamp: 5, message: "Grüße" }],
  };
  const handler = defineEventHandler({ event: events.CloudWatchLogsEvent, ...options })(
    ({ event }) => event.logEvents[0].message,
  );
  const event = { awslogs: { data: await compress(JSON.stringify(lines)) } };
  assertEquals(await handler(event, context), "Grüße");
  const large = await compress(JSON.stringify(lines) + " ".repeat(65 << 20));
  for (const data of [await compress("no JSON"), "e30=", large]) {
    await assertRejects(() => handler({ awslogs: { data } }, context), UnexpectedError, "awslogs");
  }
});

Deno.test("defineEventHandler({ event, response }) parses both", async () => {
  const handler = defineEventHandler({
    event: z.object({ cents: z.coerce.number() }),
    response: z.object({ approved: z.boolean() }),
    ...options,
  })(({ event }) => ({ approved: event.cents < 100, secret: "kept here" }));
  assertEquals(await handler({ cents: "5" }, context), { approved: true });
  const { result, lines } = await captureLogs(() =>
    assertRejects(
      () =>
        defineEventHandler({ event: z.unknown(), response: z.object({ id: z.string() }) })(
          function wrong() {
            return { id: 5 } as never;
          },
        )({}, context),
      UnexpectedError,
      "The result does not fit response: Validation failed: id",
    )
  );
  assertEquals(result.cause instanceof Error, true);
  assertEquals(lines.some((line) => line.operation === "wrong"), true);
});

const FOREIGN: readonly [event: unknown, factory: string][] = [
  [createQueueEvent([{ body: {} }]), "It is an event of SQS: use defineQueueHandler"],
  [createTopicEvent([{ message: "{}" }]), "It is an event of SNS: use defineTopicHandler"],
  [
    createStorageEvent([{ bucket: "b", key: "k" }]),
    "It is an event of S3: use defineStorageHandler",
  ],
  [createScheduleEvent(), "It is an event of a schedule: use defineScheduleHandler"],
  [createHttpApiEvent({ path: "/" }), "It is an event of an HTTP API: use defineApiHandler"],
  [createRestApiEvent({ path: "/" }), "It is an event of an HTTP API: use defineApiHandler"],
  [
    createWebSocketMessageEvent({}),
    "It is an event of a WebSocket API: use defineWebSocketHandler",
  ],
  [createTokenAuthorizerEvent("t"), "It is an event of an authorizer: use defineAuthorizerHandler"],
  [SAMPLES.CognitoPreSignUpEvent, "It is an event of Cognito: use defineEventHandler"],
  [SAMPLES.FirehoseTransformationEvent, "It is an event of Firehose: use defineEventHandler"],
  [SAMPLES.RabbitMqEvent, "It is an event of RabbitMQ: use defineEventHandler"],
  [SAMPLES.VpcLatticeEvent, "It is an event of VPC Lattice: use defineEventHandler"],
];

Deno.test("an event of another service is refused with the factory for it", async () => {
  const task = defineEventHandler({ event: z.object({ cents: z.number() }), ...options })(() => 1);
  const queue = defineQueueHandler(options)(() => {});
  for (const [event, expected] of FOREIGN) {
    const error = await assertRejects(() => task(event, context), UnexpectedError);
    assertStringIncludes(error.message, expected);
    if (event === FOREIGN[0][0]) continue;
    const refused = await assertRejects(() => queue(event as never, context), UnexpectedError);
    assertStringIncludes(refused.message, expected);
  }
  await assertRejects(() => task({}, context), UnexpectedError, "Validation failed: cents");
  const nightly = defineScheduleHandler(options)(() => {});
  const bus = { "detail-type": "note.created", time: "2026-01-01T00:00:00Z", detail: {} };
  await assertRejects(
    () => nightly(bus as never, context),
    UnexpectedError,
    "It is an event of EventBridge: use defineEventHandler",
  );
});

Deno.test("an authorizer does not decide about a request of an HTTP API that asks for no decision", async () => {
  const authorize = defineAuthorizerHandler(options)(() => {
    throw new Error("must not run");
  });
  await assertRejects(
    () => authorize(createHttpApiEvent({ path: "/" }) as never, context),
    Error,
    "Unauthorized",
  );
});

Deno.test("StorageNotification reads S3's notifications in queues and topics as defineStorageHandler does", async () => {
  const key = "summer 2026/a+b.jpg";
  const direct = createStorageEvent([{ bucket: "photos", key, size: 3 }, {
    bucket: "photos",
    key: "c",
  }]);
  const bridged = createStorageEventBridgeEvent({ bucket: "photos", key, size: 3 });
  const expected: StorageChange[] = [];
  const keep = defineStorageHandler(options)((
    { record: _, context: _c, metadata: _m, ...change },
  ) => void expected.push(change));
  await keep(direct, context);
  await keep(bridged, context);
  assertEquals(expected.map(({ key }) => key), [key, "c", key]);

  for (const envelope of ["none", "topic"] as const) {
    const changes: StorageChange[] = [];
    const handler = defineQueueHandler({
      schema: events.StorageNotification,
      envelope,
      ...options,
    })(
      ({ body }) => void changes.push(...body),
    );
    const bodies = [direct, bridged, createStorageTestEvent()].map((body) =>
      envelope === "none" ? body : createTopicNotification({ message: body })
    );
    const event = createQueueEvent(
      [...bodies, { Records: [{ s3: {} }] }].map((body) => ({ body })),
    );
    const { batchItemFailures } = await handler(event, context);
    assertEquals(changes, expected, envelope);
    assertEquals(batchItemFailures.length, 1, "a message that is no notification");
  }
});
