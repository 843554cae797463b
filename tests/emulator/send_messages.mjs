// Sends one message to each trigger: node send_messages.mjs <folder with the AWS clients>
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";

const load = createRequire(join(process.argv[2], "package.json"));
const { EventBridgeClient, PutEventsCommand } = load("@aws-sdk/client-eventbridge");
const { PutObjectCommand, S3Client } = load("@aws-sdk/client-s3");
const { ListTopicsCommand, PublishCommand, SNSClient } = load("@aws-sdk/client-sns");
const { GetQueueUrlCommand, SendMessageBatchCommand, SQSClient } = load("@aws-sdk/client-sqs");

const queues = new SQSClient();
const { QueueUrl } = await queues.send(new GetQueueUrlCommand({ QueueName: "app-dev-queued" }));
const bodies = [{ title: "queued" }, { wrong: true }];
await queues.send(
  new SendMessageBatchCommand({
    QueueUrl,
    Entries: bodies.map((body, index) => ({ Id: `${index}`, MessageBody: JSON.stringify(body) })),
  }),
);
const topics = new SNSClient();
const { Topics } = await topics.send(new ListTopicsCommand());
const { TopicArn } = Topics.find((topic) => topic.TopicArn.endsWith(":app-dev-told"));
await topics.send(new PublishCommand({ TopicArn, Message: JSON.stringify({ title: "told" }) }));
const event = {
  Source: "suite",
  DetailType: "note.wanted",
  Detail: JSON.stringify({ title: "happened" }),
};
await new EventBridgeClient().send(
  new PutEventsCommand({ Entries: [{ ...event, EventBusName: "app-dev-domain" }] }),
);
await new S3Client().send(
  new PutObjectCommand({ Bucket: "app-dev-files", Key: "summer 2026/a+b ü.txt", Body: "x" }),
);
