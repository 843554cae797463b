/**
 * The time until the first byte of a streamed response, beside the same handler written by hand: through
 * the stream of Lambda's runtime, which a server on the loopback address stands in for. Both are asked in
 * turns, in random order.
 *
 *   deno run -A bench/first_byte.ts
 *   deno run -A bench/first_byte.ts --requests=20000
 */
// deno-lint-ignore-file no-console
import process from "node:process";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { setLogOutput } from "../observability/mod.ts";
import { responseStreaming, streamResponse } from "../streaming/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../testing/mod.ts";
import { defineApiHandler } from "../validation/mod.ts";
import * as z from "zod";

type OnLambda = (event: unknown, stream: ServerResponse, context: unknown) => Promise<unknown>;

const requests = Number(process.argv[2]?.split("=")[1] ?? 4000);
const WARM_UP = 500;
const Query = z.object({ rows: z.coerce.number().int().max(100) });

async function* listRows(count: number): AsyncGenerator<string> {
  for (let id = 0; id < count; id++) {
    yield `${JSON.stringify({ id })}\n`;
    await Promise.resolve();
  }
}

// the global object of Lambda's Node.js runtime
const runtime = {
  streamifyResponse: (handler: unknown) => handler,
  HttpResponseStream: {
    from(
      stream: ServerResponse,
      metadata: { statusCode: number; headers: Record<string, string> },
    ) {
      stream.writeHead(metadata.statusCode, metadata.headers);
      return stream;
    },
  },
};
Object.assign(globalThis, { awslambda: runtime });
setLogOutput(() => {});

const ours = defineApiHandler({ streaming: responseStreaming(), querySchema: Query })(
  function exportRows({ query }) {
    return streamResponse(() => listRows(query.rows), {
      headers: { "Content-Type": "application/x-ndjson" },
    });
  },
) as unknown as OnLambda;

const byHand: OnLambda = async function exportRows(event, stream) {
  const { queryStringParameters } = event as { queryStringParameters: unknown };
  const { rows } = Query.parse(queryStringParameters);
  const headers = { "Content-Type": "application/x-ndjson" };
  const writer = runtime.HttpResponseStream.from(stream, { statusCode: 200, headers });
  for await (const part of listRows(rows)) writer.write(part);
  writer.end();
};

const handlers: Readonly<Record<string, OnLambda>> = { ours, "by hand": byHand };

async function serve({ url }: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(url!, "http://localhost");
  const event = createRestApiEvent({ path: "/rows", query: Object.fromEntries(searchParams) });
  await handlers[decodeURIComponent(pathname.slice(1))](event, response, createLambdaContext());
}

const server = createServer((incoming, response) => void serve(incoming, response));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as { port: number };
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Returns the milliseconds until the first byte of the body. */
function ask(name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    const path = `/${encodeURIComponent(name)}?rows=20`;
    request({ port, host: "127.0.0.1", path, agent }, (response) => {
      let first: number | undefined;
      response.on("data", () => first ??= performance.now() - begin);
      response.on("end", () => resolve(first!));
    }).on("error", reject).end();
  });
}

const times: Record<string, number[]> = Object.fromEntries(
  Object.keys(handlers).map((name) => [name, []]),
);
for (let round = 0; round < WARM_UP + requests; round++) {
  const names = Object.keys(handlers);
  if (Math.random() < 0.5) names.reverse();
  for (const name of names) {
    const ms = await ask(name);
    if (round >= WARM_UP) times[name].push(ms);
  }
}
agent.destroy();
server.close();

function at(name: string, share: number): number {
  const sorted = times[name].toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

for (const share of [0.5, 0.9, 0.99]) {
  const [mine, hand] = [at("ours", share), at("by hand", share)];
  const added = (mine - hand).toFixed(3);
  console.log(
    `p${share * 100}: ours ${mine.toFixed(3)} ms, by hand ${hand.toFixed(3)} ms: ` +
      `${added} ms more, ratio ${(mine / hand).toFixed(2)}`,
  );
}

// on a busy machine a request waits for the processor the more often, the longer it runs
for (const name of Object.keys(handlers)) {
  const limit = at(name, 0.5) + 1;
  const share = times[name].filter((ms) => ms > limit).length / times[name].length;
  console.log(`${name}: ${(share * 100).toFixed(1)} % took 1 ms longer than the median or more`);
}
