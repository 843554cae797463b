/**
 * A built function that answers in parts, in Node with Lambda's own runtime interface client. A server stands in for Lambda's
 * runtime API: it hands out events and receives the answers. What lies between it and a client is not tested: the buffers of a
 * function URL or a REST API, and that Lambda does not tell a function when its client has left.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { createFunctionUrlEvent } from "../../testing/mod.ts";
import { denoProjectFiles, writeTestProject } from "../cli/build/project.ts";
import { prepare, run } from "../emulator/emulator.ts";

/** The last version for Node 20. */
const CLIENT = "aws-lambda-ric@3.3.0";
const KILOBYTE = 1024;
/** Zero bytes between status and headers, and the body (Lambda developer guide, "Response streaming", read in 2026-11). */
const DELIMITER = "\0".repeat(8);

const PARTS = `import { responseStreaming, streamResponse } from "@trellis/fn/streaming";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";

const querySchema = z.object({ gate: z.string(), count: z.coerce.number(), bytes: z.coerce.number() });

export const handler = defineApiHandler({ streaming: responseStreaming(), querySchema })(({ query }) =>
  streamResponse(async function* () {
    for (let part = 0; part < query.count; part++) {
      await (await fetch(query.gate)).text();
      yield String(part).padEnd(query.bytes, ".");
    }
  }, { headers: { "Content-Type": "text/plain" } })
);
`;

/** Installs the client. Its native part, which asks for events and sends errors, is left out: a part in JavaScript can do it. */
function installClient(): Promise<string> {
  return prepare(`trellis-${CLIENT.replace("@", "-")}`, async (folder) => {
    await Deno.writeTextFile(join(folder, "package.json"), "{}");
    const options = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"];
    await run("npm", ["install", ...options, CLIENT], folder);
    await Deno.writeTextFile(
      join(folder, "node_modules/aws-lambda-ric/dist/rapid-client.node"),
      "",
    );
    await Deno.writeTextFile(
      join(folder, "without_native.cjs"),
      `require("node:module")._extensions[".node"] = () => {};\n`,
    );
  });
}

/** The answer of an invocation while it arrives. */
interface Answer {
  readonly headers: Headers;
  /** Reads the next bytes as text; `undefined` at the end. */
  read(): Promise<string | undefined>;
}

interface Runtime {
  /** Number of parts that the function has asked for. */
  readonly asked: () => number;
  /** Lets the function produce this many parts from now on. */
  allow(count: number): void;
  /** Sends an event with this query, and returns the answer when it begins. */
  invoke(query: Readonly<Record<string, number>>): Promise<Answer>;
  /** What the function has printed. */
  readonly logged: () => string;
}

/** Serves Lambda's runtime API (developer guide, "Using the Lambda runtime API") to a built function. */
async function withRuntime(use: (runtime: Runtime) => Promise<void>): Promise<void> {
  const client = await installClient();
  await using project = await writeTestProject({
    ...await denoProjectFiles(),
    "src/functions/api/parts.get.ts": PARTS,
  });
  const { exitCode, stderr } = await project.build();
  assertEquals(exitCode, 0, stderr);

  let asked = 0;
  let allowed = 0;
  let onAllowed = Promise.withResolvers<void>();
  let next = Promise.withResolvers<unknown>();
  let answered = Promise.withResolvers<Answer>();
  const stopped = Promise.withResolvers<void>();
  let id = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/gate") {
      for (asked++; allowed === 0;) await onAllowed.promise;
      allowed--;
      return new Response();
    }
    if (pathname.endsWith("/invocation/next")) {
      const event = await next.promise;
      next = Promise.withResolvers();
      return Response.json(event, {
        headers: {
          "Lambda-Runtime-Aws-Request-Id": `request-${++id}`,
          "Lambda-Runtime-Deadline-Ms": String(Date.now() + 60_000),
          "Lambda-Runtime-Invoked-Function-Arn":
            "arn:aws:lambda:eu-central-1:123456789012:function:app-dev-Parts",
        },
      });
    }
    assertMatch(pathname, /\/invocation\/request-\d+\/response$/);
    const reader = request.body!.pipeThrough(new TextDecoderStream()).getReader();
    const ended = Promise.withResolvers<void>();
    answered.resolve({
      headers: request.headers,
      async read(): Promise<string | undefined> {
        const { value, done } = await reader.read();
        if (done) ended.resolve();
        return value;
      },
    });
    await Promise.race([ended.promise, stopped.promise]);
    return new Response(null, { status: 202 });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const child = new Deno.Command("node", {
    args: [
      "--require",
      join(client, "without_native.cjs"),
      join(client, "node_modules/aws-lambda-ric/bin/index.mjs"),
      "index.handler",
    ],
    cwd: join(project.root, "dist/Parts"),
    env: {
      AWS_LAMBDA_RUNTIME_API: url.slice("http://".length),
      AWS_LAMBDA_FUNCTION_NAME: "app-dev-Parts",
      AWS_LAMBDA_NODEJS_USE_ALTERNATIVE_CLIENT_1: "true",
    },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let logged = "";
  const reading = [child.stdout, child.stderr].map(async (stream) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) logged += text;
  });
  child.status.then(({ code }) => answered.reject(new Error(`ended with ${code}: ${logged}`)));
  try {
    await use({
      asked: () => asked,
      allow(count): void {
        allowed = count;
        onAllowed.resolve();
        onAllowed = Promise.withResolvers();
      },
      async invoke(query): Promise<Answer> {
        asked = 0;
        answered = Promise.withResolvers();
        const texts = Object.entries(query).map(([name, value]) => [name, String(value)]);
        next.resolve(createFunctionUrlEvent({
          path: "/parts",
          query: { gate: `${url}/gate`, ...Object.fromEntries(texts) },
        }));
        return await answered.promise;
      },
      logged: () => logged,
    });
  } finally {
    child.kill("SIGKILL");
    stopped.resolve();
    await Promise.all([child.status, ...reading]);
    await server.shutdown();
  }
}

/** Reads until the text ends with another one. Returns all of it. */
async function readUntil({ read }: Answer, end: string): Promise<string> {
  let text = "";
  while (!text.endsWith(end)) {
    const more = await read();
    if (more === undefined) throw new Error(`the answer has ended: ${text}`);
    text += more;
  }
  return text;
}

Deno.test("a built function sends each part through Lambda's runtime client before the next one exists", async () => {
  await withRuntime(async ({ allow, asked, invoke, logged }) => {
    for (const _ of ["first request", "second request"]) {
      const answering = invoke({ count: 3, bytes: 1 });
      allow(1);
      const answer = await answering;
      assertEquals(answer.headers.get("lambda-runtime-function-response-mode"), "streaming");
      const [head, body] = (await readUntil(answer, `${DELIMITER}0`)).split(DELIMITER);
      const { statusCode, headers } = JSON.parse(head);
      assertEquals([statusCode, headers["Content-Type"], body], [200, "text/plain", "0"]);
      allow(1);
      assertEquals(await readUntil(answer, "1"), "1");
      assert(asked() <= 3, `${asked()} parts`);
      allow(1);
      assertEquals(await readUntil(answer, "2"), "2");
      assertEquals(await answer.read(), undefined);
    }
    assertEquals(logged().includes("WARN"), false, logged());
  });
});

Deno.test("a built function waits for a slow client, and then sends the rest", async () => {
  await withRuntime(async ({ allow, asked, invoke }) => {
    const [count, bytes] = [512, 256 * KILOBYTE];
    allow(count);
    const answer = await invoke({ count, bytes });
    // until no part was produced for a second
    for (let before = -1; asked() !== before;) {
      before = asked();
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    // the buffers of both sockets have some megabytes
    assert(asked() > 0 && asked() < count / 4, `${asked()} of ${count} parts`);
    let begin = "";
    while (!begin.includes(DELIMITER)) begin += await answer.read();
    let size = begin.split(DELIMITER)[1].length;
    for (let text; (text = await answer.read()) !== undefined;) size += text.length;
    assertEquals([asked(), size], [count, count * bytes]);
  });
});
