import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a function posted for one event. */
export interface Outcome {
  readonly kind: "response" | "error" | "init error";
  readonly body: unknown;
  readonly errorType: string | undefined;
}

/** The runtime API of one function. */
export interface RuntimeApi {
  /** For `AWS_LAMBDA_RUNTIME_API`. */
  readonly host: string;
  /** Hands an event to the function and gives what it posted. */
  invoke(event: unknown): Promise<Outcome>;
  /** Ends the function: the next request for an event is answered with 410. */
  stop(): Promise<void>;
}

/** The time that each invocation has, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** Starts a server that speaks Lambda's runtime API (AWS Lambda developer guide, "Using the Lambda runtime API", 2026-10). */
export async function startRuntimeApi(): Promise<RuntimeApi> {
  const events: { id: string; event: unknown }[] = [];
  const settle = new Map<string, (outcome: Outcome) => void>();
  let waiting: ServerResponse | undefined;
  let initError: Outcome | undefined;
  let isStopped = false;

  function handOut(): void {
    if (waiting === undefined) return;
    const next = events.shift();
    if (next === undefined && !isStopped) return;
    const response = waiting;
    waiting = undefined;
    if (next === undefined) return void response.writeHead(410).end();
    response.writeHead(200, {
      "Content-Type": "application/json",
      "Lambda-Runtime-Aws-Request-Id": next.id,
      "Lambda-Runtime-Deadline-Ms": String(Date.now() + TIMEOUT_MS),
      "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-west-1:123456789012:function:notes",
      "Lambda-Runtime-Trace-Id":
        "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
    }).end(JSON.stringify(next.event));
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.replace("/2018-06-01/runtime", "");
    if (request.method === "GET" && path === "/invocation/next") {
      waiting = response;
      return handOut();
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const outcome = {
      body: JSON.parse(await new Blob(chunks as BlobPart[]).text()),
      errorType: request.headers["lambda-runtime-function-error-type"]?.toString(),
    };
    response.writeHead(202).end();
    if (path === "/init/error") {
      initError = { kind: "init error", ...outcome };
      for (const done of settle.values()) done(initError);
      return;
    }
    const [, id, kind] = /^\/invocation\/([^/]+)\/(response|error)$/.exec(path ?? "") ?? [];
    settle.get(id)?.({ kind: kind as "response" | "error", ...outcome });
    settle.delete(id);
  }

  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    async invoke(event): Promise<Outcome> {
      if (initError !== undefined) return initError;
      const id = crypto.randomUUID();
      return await new Promise((resolve) => {
        settle.set(id, resolve);
        events.push({ id, event });
        handOut();
      });
    },
    async stop(): Promise<void> {
      isStopped = true;
      handOut();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
