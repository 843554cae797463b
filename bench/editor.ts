// deno-lint-ignore-file no-console
/**
 * Measures how long an editor waits for completions of a client: ours (the types of `trellis
 * generate client`) beside Hono's `hc`, in one run, by the TypeScript server that editors use: `tsserver`, and from TypeScript 7
 * on `tsc --lsp`.
 *
 *   deno run -A bench/editor.ts [--routes 500] [--rounds 15] [--typescript 5.9.3]
 *
 * `no client` is the cost of any completion. `first` is the first completion after the project is opened, `edit` the median after a character
 * was typed. The packages are installed into a temporary folder.
 */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import * as z from "zod";
import { renderClientTypes } from "../cli/client/client_types.ts";
import { type ApiRoute, buildOpenApiDocument, defineApiHandler } from "../validation/mod.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    routes: { type: "string", default: "500" },
    rounds: { type: "string", default: "15" },
    typescript: { type: "string", default: "5.9.3" },
  },
});
const count = Number(values.routes);
const rounds = Number(values.rounds);

/** A file, and the position of a completion: the mark `|` in its text. */
interface Case {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  /** A completion that must be offered. */
  readonly expected: string;
}

const CASES: readonly Case[] = [
  {
    name: "no client: a field",
    file: "none.ts",
    text: `const note = { title: "" };\nnote.|;\n`,
    expected: "title",
  },
  {
    name: "ours: the path of a call",
    file: "ours_path.ts",
    text: `import { client } from "./ours.ts";\nconst result = client.GET("|");\n`,
    expected: "/resource0/{id}",
  },
  {
    name: "ours: a field of the body",
    file: "ours_body.ts",
    text:
      `import { client } from "./ours.ts";\nconst result = client.POST("/resource0/{id}", { params: { path: { id: "" } }, body: { | } });\n`,
    expected: "title",
  },
  {
    name: "ours: a field of the answer",
    file: "ours_answer.ts",
    text:
      `import { client } from "./ours.ts";\nconst { data } = await client.GET("/resource0/{id}", { params: { path: { id: "" } } });\ndata?.|;\n`,
    expected: "title",
  },
  {
    name: "hc: the path of a call",
    file: "hc_path.ts",
    text: `import { client } from "./hc.ts";\nconst result = client.|;\n`,
    expected: "resource0",
  },
  {
    name: "hc: a field of the body",
    file: "hc_body.ts",
    text:
      `import { client } from "./hc.ts";\nconst result = client.resource0[":id"].$post({ param: { id: "" }, json: { | } });\n`,
    expected: "title",
  },
  {
    name: "hc: a field of the answer",
    file: "hc_answer.ts",
    text:
      `import { client } from "./hc.ts";\nconst data = await (await client.resource0[":id"].$get({ param: { id: "" } })).json();\ndata.|;\n`,
    expected: "title",
  },
];

const fields = { title: z.string(), size: z.number(), tags: z.array(z.string()).optional() };

/** Half of the routes read, the other half write. */
function renderOurTypes(): string {
  const routes = Array.from({ length: count / 2 }, (_, index): ApiRoute[] => {
    const options = {
      pathSchema: z.object({ id: z.string() }),
      responseSchema: z.object({ ...fields, [`own${index}`]: z.string() }),
    };
    const path = `/resource${index}/{id}`;
    const answer = () => ({ statusCode: 200, body: "" });
    const get = defineApiHandler({ ...options, operationName: `get${index}` })(answer);
    const post = defineApiHandler({
      ...options,
      schema: z.object(fields),
      operationName: `post${index}`,
    })(answer);
    return [
      { method: "GET", path, operation: get.operation },
      { method: "POST", path, operation: post.operation },
    ];
  });
  return renderClientTypes(
    buildOpenApiDocument({ title: "A", version: "1" }, routes.flat()),
  );
}

function renderHonoApp(): string {
  const routes = Array.from(
    { length: count / 2 },
    (_, index) =>
      `  .get("/resource${index}/:id", (c) => c.json({ title: "", size: 1, tags: [""], own${index}: "" }))
  .post("/resource${index}/:id", zValidator("json", schema), (c) => c.json({ ...c.req.valid("json"), own${index}: "" }))`,
  );
  return `import { Hono } from "hono";
import { zValidator } from "@hono/zod-validator";
import * as z from "zod";
const schema = z.object({ title: z.string(), size: z.number(), tags: z.array(z.string()).optional() });
const app = new Hono()
${routes.join("\n")};
export type App = typeof app;
`;
}

async function writeProject(folder: string): Promise<void> {
  const client = fileURLToPath(new URL("../client", import.meta.url));
  const files: Record<string, string> = {
    "package.json": '{ "private": true, "type": "module" }',
    "tsconfig.json": JSON.stringify({
      compilerOptions: {
        strict: true,
        target: "es2022",
        module: "preserve",
        noEmit: true,
        allowImportingTsExtensions: true,
        skipLibCheck: true,
        lib: ["es2022", "dom"],
      },
    }),
    "api_types.ts": renderOurTypes(),
    "ours.ts":
      `import { createClient } from "./client/mod.ts";\nimport type { routes } from "./api_types.ts";\nexport const client = createClient<routes>({ baseUrl: "" });\n`,
    "app.ts": renderHonoApp(),
    "hc.ts":
      `import { hc } from "hono/client";\nimport type { App } from "./app.ts";\nexport const client = hc<App>("");\n`,
    ...Object.fromEntries(CASES.map(({ file, text }) => [file, text.replace("|", "")])),
  };
  // the sources of the client find openapi-fetch beside them
  await Deno.mkdir(join(folder, "client"));
  for (const { name } of Deno.readDirSync(client)) {
    await Deno.copyFile(join(client, name), join(folder, "client", name));
  }
  await Deno.mkdir(join(folder, "errors"));
  const errors = fileURLToPath(new URL("../errors", import.meta.url));
  await Deno.copyFile(join(errors, "error_code.ts"), join(folder, "errors", "error_code.ts"));
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(join(folder, name), text);
  }
  const packages = [
    `typescript@${values.typescript}`,
    "openapi-fetch@0.17.0",
    "hono@4",
    "@hono/zod-validator",
    "zod",
  ];
  const { success, stderr } = await new Deno.Command("npm", {
    args: ["install", "--silent", "--no-audit", "--no-fund", ...packages],
    cwd: folder,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** A running TypeScript server. */
interface Server {
  open(file: string, text: string): void | Promise<void>;
  /** Inserts a blank at the start of the opened file. */
  edit(file: string): void;
  /** Returns the names that are offered. `line` and `offset` start at 1. */
  complete(file: string, line: number, offset: number): Promise<string[]>;
  stop(): void;
}

interface Completions {
  entries?: { name: string }[];
}

/** `tsserver`: a message is a line of JSON. */
function startTsserver(folder: string): Server {
  const child = spawn("node", [
    "--max-old-space-size=3072",
    join(folder, "node_modules/typescript/lib/tsserver.js"),
    "--disableAutomaticTypingAcquisition",
  ], { cwd: folder, stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map<number, (body: Completions | undefined) => void>();
  let text = "";
  let sequence = 0;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      if (!line.startsWith("{")) continue;
      const message = JSON.parse(line);
      if (message.type !== "response") continue;
      waiting.get(message.request_seq)?.(message.body);
      waiting.delete(message.request_seq);
    }
  });
  const send = (command: string, args: object) =>
    void child.stdin.write(
      `${JSON.stringify({ seq: ++sequence, type: "request", command, arguments: args })}\n`,
    );
  return {
    open: (file, fileContent) => send("open", { file, fileContent }),
    edit(file) {
      const end = { line: 1, offset: 1, endLine: 1, endOffset: 1 };
      send("change", { file, ...end, insertString: " " });
    },
    async complete(file, line, offset) {
      send("completionInfo", { file, line, offset });
      const body = await new Promise<Completions | undefined>((resolve) =>
        waiting.set(sequence, resolve)
      );
      return body?.entries?.map(({ name }) => name) ?? [];
    },
    stop: () => void child.kill(),
  };
}

/** `tsc --lsp`: the Language Server Protocol, a message has a header with its length. */
function startLanguageServer(folder: string): Server {
  const program = join(folder, "node_modules/.bin/tsc");
  const child = spawn(program, ["--lsp", "--stdio"], {
    cwd: folder,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const waiting = new Map<number, (result: unknown) => void>();
  let received = Buffer.alloc(0);
  let sequence = 0;
  let version = 1;
  const write = (message: object) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  child.stdout.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (true) {
      const start = received.indexOf("\r\n\r\n") + 4;
      const length = Number(
        /content-length: (\d+)/i.exec(received.toString("latin1", 0, start))?.[1],
      );
      if (start < 4 || received.length < start + length) return;
      const message = JSON.parse(received.toString("utf8", start, start + length));
      received = received.subarray(start + length);
      // a request of the server is answered with nothing
      if (message.method !== undefined && message.id !== undefined) {
        write({ id: message.id, result: null });
      } else if (message.method === undefined) {
        waiting.get(message.id)?.(message.result);
        waiting.delete(message.id);
      }
    }
  });
  function request(method: string, params: object): Promise<unknown> {
    write({ id: ++sequence, method, params });
    return new Promise((resolve) => waiting.set(sequence, resolve));
  }
  const toUri = (file: string) => pathToFileURL(file).href;
  const ready = request("initialize", {
    processId: null,
    rootUri: toUri(folder),
    capabilities: {},
  }).then(() => write({ method: "initialized", params: {} }));
  return {
    async open(file, text) {
      await ready;
      const textDocument = { uri: toUri(file), languageId: "typescript", version, text };
      write({ method: "textDocument/didOpen", params: { textDocument } });
    },
    edit(file) {
      const start = { line: 0, character: 0 };
      const contentChanges = [{ range: { start, end: start }, text: " " }];
      const textDocument = { uri: toUri(file), version: ++version };
      write({ method: "textDocument/didChange", params: { textDocument, contentChanges } });
    },
    async complete(file, line, offset) {
      await ready;
      const result = await request("textDocument/completion", {
        textDocument: { uri: toUri(file) },
        position: { line: line - 1, character: offset - 1 },
      }) as { label: string }[] | { items: { label: string }[] } | null;
      const items = Array.isArray(result) ? result : result?.items ?? [];
      return items.map(({ label }) => label);
    },
    stop: () => void child.kill(),
  };
}

const startServer = Number.parseInt(values.typescript) >= 7 ? startLanguageServer : startTsserver;

/** Measures one case in a server of its own. */
async function measure(folder: string, { file, text, expected, name }: Case) {
  const server = startServer(folder);
  const path = join(folder, file);
  const before = text.slice(0, text.indexOf("|"));
  const line = before.split("\n").length;
  const offset = before.length - before.lastIndexOf("\n");
  try {
    await server.open(path, text.replace("|", ""));
    const complete = async (): Promise<number> => {
      const startedMs = performance.now();
      const names = await server.complete(path, line, offset);
      const tookMs = performance.now() - startedMs;
      if (!names.includes(expected)) throw new Error(`${name}: ${expected} is not offered`);
      return tookMs;
    };
    const first = await complete();
    const edits: number[] = [];
    for (let round = 0; round < rounds; round++) {
      // an edit invalidates what the checker knows of the program
      server.edit(path);
      edits.push(await complete());
    }
    edits.sort((a, b) => a - b);
    return { first, edit: edits[Math.floor(edits.length / 2)] };
  } finally {
    server.stop();
  }
}

const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "trellis-editor-" }));
try {
  await writeProject(folder);
  const figures = new Map<string, { first: number; edit: number }>();
  for (const each of CASES) {
    const figure = await measure(folder, each);
    figures.set(each.name, figure);
    console.log(
      `${each.name.padEnd(28)} first ${figure.first.toFixed(0).padStart(6)} ms, edit ${
        figure.edit.toFixed(1).padStart(8)
      } ms`,
    );
  }
  for (const what of ["the path of a call", "a field of the body", "a field of the answer"]) {
    const ours = figures.get(`ours: ${what}`)!;
    const hc = figures.get(`hc: ${what}`)!;
    console.log(
      `${what}: hc takes ${(hc.first / ours.first).toFixed(1)} times as long first, ${
        (hc.edit / ours.edit).toFixed(1)
      } times after an edit, at ${count} routes`,
    );
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
