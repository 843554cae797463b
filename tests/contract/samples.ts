/**
 * The sample events of AWS's library for Go, of which each is taken by the handler for it and refused by all others. Needs Go, which
 * downloads the samples.
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import type * as z from "zod";
import { runOrThrow } from "../../scripts/program.ts";
import { createLambdaContext } from "../../testing/mod.ts";
import * as events from "../../triggers/events.ts";
import * as triggers from "../../triggers/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { withTempFolder } from "../support/temp_folder.ts";

const MODULE = "github.com/aws/aws-lambda-go@v1.55.1";

/** Names of samples, and the handler or the schema of `defineEventHandler` that takes them. */
const TAKERS: readonly (readonly [name: RegExp, taker: string])[] = [
  [/^(?:alb|apigw-v2-request|apigw-re(?:quest|stapi)|lambda-urls)/, "defineApiHandler"],
  [/^apigw-(?:v2-)?custom-auth.*request/, "defineAuthorizerHandler"],
  [/^apigw-websocket/, "defineWebSocketHandler"],
  [/^(?:autoscaling|codebuild|codedeploy|ecr|ecs)/, "defineEventHandler"],
  [/^codepipeline-(?:action|execution)/, "defineEventHandler"],
  [/^(?:sns|cloudwatch-alarm)/, "defineTopicHandler"],
  [/^sqs/, "defineQueueHandler"],
  [/^s3-object-lambda/, "S3ObjectLambdaEvent"],
  [/^s3/, "defineStorageHandler"],
  [/^dynamodb/, "defineTableStreamHandler"],
  [/^kinesis-(?:event|time)/, "defineStreamHandler"],
  [/^kafka/, "defineKafkaHandler"],
  [/^activemq/, "ActiveMqEvent"],
  [/^rabbitmq/, "RabbitMqEvent"],
  [/^appsync-lambda-auth/, "AppSyncAuthorizerEvent"],
  [/^cloudwatch-logs/, "CloudWatchLogsEvent"],
  [/^kinesis-firehose/, "FirehoseTransformationEvent"],
  [/^ses/, "SesReceiptEvent"],
  [/create-auth-challenge/, "CognitoCreateAuthChallengeEvent"],
  [/define-auth-challenge/, "CognitoDefineAuthChallengeEvent"],
  [/verify-auth-challenge/, "CognitoVerifyAuthChallengeEvent"],
  [/inbound-federation/, "CognitoInboundFederationEvent"],
  [/migrateuser/, "CognitoUserMigrationEvent"],
  [/postauthentication/, "CognitoPostAuthenticationEvent"],
  [/postconfirmation/, "CognitoPostConfirmationEvent"],
  [/preauthentication/, "CognitoPreAuthenticationEvent"],
  [/presignup/, "CognitoPreSignUpEvent"],
  [/pretokengen-v2/, "CognitoPreTokenGenerationEvent"],
];

/** Samples that are no events of today's services, or have no valid content. */
const LEFT_OUT: readonly RegExp[] = [
  /response|malformed|appsync-identity/,
  // placeholders where Cognito sends texts
  /custommessage|userpools-pretokengen\.json/,
];

/** Events of services whose events take a schema of the application. */
const OWN_SCHEMA =
  /^(?:clientvpn|code-commit|codepipeline-job|cognito-event\.json|config|connect|iot|kinesis-analytics|lex|s3-batch|secretsmanager)/;

type Taker = (event: object, context: ReturnType<typeof createLambdaContext>) => Promise<unknown>;

let isTaken = false;
function take<T>(result?: T): T | undefined {
  isTaken = true;
  return result;
}

const options = { logging: { level: "SILENT" }, metrics: false } as const;
const SCHEMAS = Object.entries(events).flatMap(([name, schema]): [string, Taker][] =>
  name.endsWith("Event") && "_zod" in schema
    ? [[
      name,
      triggers.defineEventHandler({ ...options, event: schema as z.ZodType })(() =>
        take()
      ) as Taker,
    ]]
    : []
);
const HANDLERS: Readonly<Record<string, Taker>> = {
  defineApiHandler: defineApiHandler(options)(() =>
    take({ statusCode: 200, body: "" })!
  ) as unknown as Taker,
  defineAuthorizerHandler: triggers.defineAuthorizerHandler(options)(() => {
    take();
    throw new Error("no decision");
  }) as unknown as Taker,
  defineWebSocketHandler: triggers.defineWebSocketHandler({ ...options, auth: "none" })(() =>
    take()
  ) as unknown as Taker,
  ...Object.fromEntries(
    [
      "defineEventHandler",
      "defineKafkaHandler",
      "defineQueueHandler",
      "defineScheduleHandler",
      "defineStorageHandler",
      "defineStreamHandler",
      "defineTableStreamHandler",
      "defineTopicHandler",
    ].map((name) => {
      const define = triggers[name as keyof typeof triggers] as unknown as (
        given: typeof options,
      ) => (handler: () => unknown) => Taker;
      return [name, define(options)(() => take())];
    }),
  ),
  ...Object.fromEntries(SCHEMAS),
};

Deno.test("AWS's sample events are taken by the handler for them, and by no other", async () => {
  await withTempFolder({}, async (cwd) => {
    await runOrThrow("go", ["mod", "init", "samples"], { cwd });
    const { stdout } = await runOrThrow("go", ["mod", "download", "-json", MODULE], { cwd });
    const folder = join(JSON.parse(stdout).Dir, "events/testdata");
    const counts = { taken: 0, own: 0 };
    for (const { name } of Deno.readDirSync(folder)) {
      if (LEFT_OUT.some((pattern) => pattern.test(name))) continue;
      const event = JSON.parse(await Deno.readTextFile(join(folder, name)));
      const takers: string[] = [];
      for (const [taker, handler] of Object.entries(HANDLERS)) {
        isTaken = false;
        await handler(structuredClone(event), createLambdaContext()).catch(() => undefined);
        if (isTaken) takers.push(taker);
      }
      if (OWN_SCHEMA.test(name)) {
        counts.own++;
        assertEquals(takers, [], name);
        continue;
      }
      counts.taken++;
      assertEquals(takers, [TAKERS.find(([pattern]) => pattern.test(name))?.[1]], name);
    }
    assertEquals(counts, { taken: 73, own: 15 });
  });
});
