/** Starts a function: prints its log, and `RESPONSE` with the response of each event. */
const PROGRAM = `
const { handler } = await import(process.argv[1]);
const context = { awsRequestId: "a", functionName: "f", getRemainingTimeInMillis: () => 900_000 };
const { createInterface } = await import("node:readline");
for await (const line of createInterface({ input: process.stdin })) {
  const response = await handler(JSON.parse(line), context);
  process.stdout.write("RESPONSE" + JSON.stringify(response) + "\\n");
}
`;

/** A deployed function. */
export interface DeployedFunction {
  /** Absolute path of its bundle. */
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Server that invokes built functions in Node as Lambda does, with one sandbox for each function. */
export interface LambdaServer {
  /** For `AWS_ENDPOINT_URL_LAMBDA`. */
  readonly url: string;
  /** The events so far. */
  readonly events: unknown[];
  /** The lines that the functions have logged. */
  readonly logged: string[];
  /** Ends the sandbox with the timeout error as soon as a logged line contains this text, once. */
  killAt?: string;
  stop(): Promise<void>;
}

interface Sandbox {
  readonly child: Deno.ChildProcess;
  readonly input: WritableStreamDefaultWriter<Uint8Array>;
  readonly lines: AsyncIterator<string>;
  /** Time of the code. */
  readonly modified: number | undefined;
  isBusy: boolean;
}

/**
 * Starts the server.
 *
 * @param find Finds a deployed function by its name.
 */
export function startLambdaServer(
  find: (name: string) => Promise<DeployedFunction | undefined>,
): LambdaServer {
  const sandboxes = new Map<string, Sandbox>();
  const server: { -readonly [Key in keyof LambdaServer]: LambdaServer[Key] } = {
    url: "",
    events: [],
    logged: [],
    stop: async () => {
      await http.shutdown();
      for (const name of sandboxes.keys()) await remove(name, "SIGTERM");
    },
  };

  async function remove(name: string, signal: Deno.Signal): Promise<void> {
    const { child, input } = sandboxes.get(name)!;
    sandboxes.delete(name);
    child.kill(signal);
    await child.status;
    await input.abort().catch(() => {});
    await child.stdout.cancel().catch(() => {});
  }

  function start({ file, env }: DeployedFunction, modified: number | undefined): Sandbox {
    const child = new Deno.Command("node", {
      args: ["--input-type=module", "-e", PROGRAM, "--", `file://${file}`],
      env: { ...env },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const lines = readLines(child.stdout);
    return { child, input: child.stdin.getWriter(), lines, modified, isBusy: false };
  }

  async function invoke(name: string, event: string): Promise<Response> {
    const deployed = await find(name);
    if (deployed === undefined) return refuse("ResourceNotFoundException", 404);
    // new code gets new sandboxes
    const modified = (await Deno.stat(deployed.file)).mtime?.getTime();
    const former = sandboxes.get(name);
    if (former !== undefined && !former.isBusy && former.modified !== modified) {
      await remove(name, "SIGTERM");
    }
    const sandbox = sandboxes.get(name) ?? start(deployed, modified);
    sandboxes.set(name, sandbox);
    if (sandbox.isBusy) return refuse("TooManyRequestsException", 429);
    sandbox.isBusy = true;
    server.events.push(JSON.parse(event));
    await sandbox.input.write(new TextEncoder().encode(`${event}\n`));
    for (;;) {
      const { value = "", done } = await sandbox.lines.next();
      if (value.startsWith("RESPONSE")) {
        sandbox.isBusy = false;
        return new Response(value.slice("RESPONSE".length));
      }
      server.logged.push(value);
      const isKilled = server.killAt !== undefined && value.includes(server.killAt);
      if (!isKilled && !done) continue;
      if (isKilled) server.killAt = undefined;
      await remove(name, "SIGKILL");
      return Response.json(
        {
          errorType: "Sandbox.Timedout",
          errorMessage: "RequestId: a Error: Task timed out after 900.00 seconds",
        },
        { headers: { "x-amz-function-error": "Unhandled" } },
      );
    }
  }

  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const [, name] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(pathname) ?? [];
    if (name === undefined) return refuse("ResourceNotFoundException", 404);
    return await invoke(name, await request.text());
  });
  server.url = `http://127.0.0.1:${http.addr.port}`;
  return server;
}

function refuse(type: string, status: number): Response {
  return Response.json({ Message: type }, { status, headers: { "x-amzn-errortype": type } });
}

async function* readLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
