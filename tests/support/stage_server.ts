import { createHash } from "node:crypto";

/** A deployed function of the server. */
export interface ServedFunction {
  code: Uint8Array;
  /** Versions by alias. */
  readonly aliases: Record<string, string>;
  /** Subnets, if it runs in a VPC. */
  readonly subnets?: readonly string[];
}

/** Server that speaks the parts of Lambda and Amazon SQS with which calls of functions run on another machine. */
export interface StageServer {
  /** For `AWS_ENDPOINT_URL_LAMBDA` and `AWS_ENDPOINT_URL_SQS`. */
  readonly url: string;
  /** Functions by name. */
  readonly functions: Map<string, ServedFunction>;
  /** The names of the queues. */
  listQueues(): string[];
  /** The bodies of all messages so far. */
  readonly bodies: string[];
  stop(): Promise<void>;
}

const hash = (kind: string, data: string | Uint8Array, encoding: "hex" | "base64") =>
  createHash(kind).update(data).digest(encoding);

/** Starts the server. Its version `1` of a function has the code with which the function was set. */
export function startStageServer(): StageServer {
  const functions = new Map<string, ServedFunction>();
  const published = new WeakMap<ServedFunction, string>();
  const queues = new Map<string, string[]>();
  const bodies: string[] = [];

  function describe(name: string, fn: ServedFunction, qualifier: string | null) {
    const latest = hash("sha256", fn.code, "base64");
    if (!published.has(fn)) published.set(fn, latest);
    return {
      FunctionName: name,
      FunctionArn: `arn:aws:lambda:eu-central-1:123456789012:function:${name}`,
      Role: `arn:aws:iam::123456789012:role/${name}`,
      Handler: "index.handler",
      PackageType: "Zip",
      RevisionId: latest,
      CodeSha256: qualifier === null || qualifier === "$LATEST" ? latest : published.get(fn),
      VpcConfig: { SubnetIds: fn.subnets ?? [] },
      State: "Active",
      LastUpdateStatus: "Successful",
    };
  }

  const fail = (status: number, code: string) =>
    Response.json({ __type: code, message: code }, {
      status,
      headers: { "x-amzn-errortype": code },
    });

  async function answerLambda(request: Request, url: URL): Promise<Response> {
    const [, , name, part, alias] = decodeURIComponent(url.pathname).split("/").slice(1);
    const fn = functions.get(name);
    if (fn === undefined) return fail(404, "ResourceNotFoundException");
    const present = describe(name, fn, url.searchParams.get("Qualifier"));
    const toAlias = (Name: string) => ({ Name, FunctionVersion: fn.aliases[Name] });
    if (part === "configuration") return Response.json(present);
    if (part === undefined) {
      const code = { Location: `${url.origin}/code/${name}` };
      return Response.json({ Configuration: present, Code: code });
    }
    if (alias === undefined && part === "aliases") {
      return Response.json({ Aliases: Object.keys(fn.aliases).map(toAlias) });
    }
    const given = await request.json();
    if (part === "aliases") {
      fn.aliases[alias] = given.FunctionVersion;
      return Response.json(toAlias(alias));
    }
    if (given.RevisionId !== present.RevisionId) return fail(412, "PreconditionFailedException");
    fn.code = Uint8Array.from(atob(given.ZipFile), (char) => char.charCodeAt(0));
    return Response.json(describe(name, fn, null));
  }

  async function answerSqs(request: Request, origin: string): Promise<Response> {
    const given = await request.json();
    const getUrl = (name: string) => `${origin}/123456789012/${name}`;
    const action = request.headers.get("x-amz-target")!.split(".")[1];
    if (action === "CreateQueue") {
      queues.set(given.QueueName, queues.get(given.QueueName) ?? []);
      return Response.json({ QueueUrl: getUrl(given.QueueName) });
    }
    if (action === "ListQueues") {
      const found = [...queues.keys()].filter((name) => name.startsWith(given.QueueNamePrefix));
      return Response.json({ QueueUrls: found.map(getUrl) });
    }
    const name = given.QueueUrl.split("/").at(-1);
    const queue = queues.get(name);
    if (queue === undefined) return fail(400, "QueueDoesNotExist");
    if (action === "DeleteQueue") queues.delete(name);
    if (action === "SendMessage") {
      queue.push(given.MessageBody);
      bodies.push(given.MessageBody);
      const MD5OfMessageBody = hash("md5", given.MessageBody, "hex");
      return Response.json({ MessageId: crypto.randomUUID(), MD5OfMessageBody });
    }
    if (action !== "ReceiveMessage") return Response.json({});
    const dueMs = Date.now() + given.WaitTimeSeconds * 1000;
    while (queue.length === 0 && Date.now() < dueMs && queues.get(name) === queue) {
      if (request.signal.aborted) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const Messages = queue.splice(0, 10).map((Body) => ({
      Body,
      MessageId: crypto.randomUUID(),
      MD5OfBody: hash("md5", Body, "hex"),
    }));
    return Response.json({ Messages });
  }

  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const url = new URL(request.url);
    const [, code] = /^\/code\/(.+)$/.exec(url.pathname) ?? [];
    if (code !== undefined) return new Response(new Uint8Array(functions.get(code)!.code));
    const isLambda = url.pathname.startsWith("/2015-03-31/");
    return isLambda ? answerLambda(request, url) : answerSqs(request, url.origin);
  });
  return {
    url: `http://127.0.0.1:${http.addr.port}`,
    functions,
    listQueues: () => [...queues.keys()],
    bodies,
    stop: () => http.shutdown(),
  };
}
