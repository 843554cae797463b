import { SQSClient } from "@aws-sdk/client-sqs";
import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import { answerAwsClient, AWS_PATH, type SentMessage } from "../../cli/dev/aws/aws_sink.ts";

/** Runs a test with Amazon's client and the local server that answers it. */
export async function withQueue(
  test: (client: SQSClient, sent: SentMessage[]) => Promise<void>,
): Promise<void> {
  const sent: SentMessage[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { port } = server.address() as { port: number };
    answerAwsClient(
      request,
      response,
      Buffer.concat(chunks),
      `http://127.0.0.1:${port}`,
      (message) => sent.push(message),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const client = new SQSClient({
    endpoint: `http://127.0.0.1:${port}${AWS_PATH}`,
    region: "eu-central-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
  try {
    await test(client, sent);
  } finally {
    client.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}
