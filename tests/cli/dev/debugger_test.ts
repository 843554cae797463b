import { assertEquals } from "@std/assert";
import { SourceMap } from "node:module";
import { createTestProject } from "./fixtures/project.ts";

const FILE = "src/functions/api/plain.get.ts";
const SOURCE = `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
export const handler = defineApiHandler()(function plain({ context }) {
  const answer = 42;
  return buildValidatedResponse(context, 200, { answer });
});
`;
/** Line of `return`, from 0. */
const LINE = 4;
const MAIN = new URL("../../../cli/main.ts", import.meta.url).pathname;

// deno-lint-ignore no-explicit-any
type Json = any;

/** Reads the error output of a process until a line matches. */
async function findInOutput(stream: ReadableStream<Uint8Array>, wanted: RegExp): Promise<string> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    text += decoder.decode(value, { stream: true });
    const found = wanted.exec(text);
    if (found === null && !done) continue;
    if (found === null) throw new Error(`not found in: ${text}`);
    reader.releaseLock();
    // a full pipe would stop the process
    void stream.pipeTo(new WritableStream()).catch(() => {});
    return found[1];
  }
}

/** Connection to the inspector of a process. */
class Inspector {
  readonly #socket: WebSocket;
  readonly #listeners: ((message: Json) => void)[] = [];
  #id = 0;

  constructor(url: string) {
    this.#socket = new WebSocket(url);
    this.#socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      for (const listener of this.#listeners) listener(message);
    };
  }

  async open(): Promise<void> {
    await new Promise((resolve) => this.#socket.onopen = resolve);
  }

  waitFor(matches: (message: Json) => boolean): Promise<Json> {
    return new Promise((resolve) =>
      this.#listeners.push((message) => matches(message) && resolve(message))
    );
  }

  async send(method: string, params: object = {}): Promise<Json> {
    const id = ++this.#id;
    const answer = this.waitFor((message) => message.id === id);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return (await answer).result;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#socket.onclose = resolve);
    this.#socket.close();
    await closed;
  }
}

/** Returns the first place of a bundle that its source map assigns to a line of a source. */
function findPlace(sourceMapUrl: string, file: string, line: number): Json {
  const [, base64] = sourceMapUrl.split(",");
  const map = new SourceMap(JSON.parse(atob(base64)));
  for (let generated = 0; generated < 10_000; generated++) {
    for (let column = 0; column < 80; column++) {
      const entry = map.findEntry(generated, column) as Json;
      const isHere = entry.generatedLine === generated && entry.originalLine === line &&
        String(entry.originalSource).endsWith(file);
      if (isHere) return { lineNumber: generated, columnNumber: entry.generatedColumn };
    }
  }
  throw new Error(`no place for line ${line} of ${file}`);
}

Deno.test("trellis dev stops at a breakpoint in a handler's source, set through the inspector", async () => {
  const project = await createTestProject({ [FILE]: SOURCE });
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--inspect=127.0.0.1:0", MAIN, "dev"].concat(
      ["--project", project.root, "--port", "0", "--db", "env"],
    ),
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  try {
    const inspector = new Inspector(await findInOutput(child.stderr, /(ws:\/\/\S+)/));
    await inspector.open();
    const url = await findInOutput(child.stdout, /runs at .*?(http:\/\/[\w.:]+)/);
    const parsed = inspector.waitFor(({ method, params }) =>
      method === "Debugger.scriptParsed" && params.url.includes("/.trellis/dev/functions/")
    );
    await inspector.send("Debugger.enable");
    const script = (await parsed).params;
    const { breakpointId } = await inspector.send("Debugger.setBreakpointByUrl", {
      url: script.url,
      ...findPlace(script.sourceMapURL, FILE, LINE),
    });
    const paused = inspector.waitFor(({ method }) => method === "Debugger.paused");
    const response = fetch(`${url}/plain`);
    const { hitBreakpoints, callFrames } = (await paused).params;
    assertEquals(hitBreakpoints, [breakpointId]);
    const { result } = await inspector.send("Debugger.evaluateOnCallFrame", {
      callFrameId: callFrames[0].callFrameId,
      expression: "answer",
    });
    assertEquals([callFrames[0].functionName, result.value], ["plain", 42]);
    await inspector.send("Debugger.resume");
    assertEquals(await (await response).json(), { answer: 42 });
    await inspector.close();
  } finally {
    child.kill("SIGTERM");
    await child.status;
    await project.clean();
  }
});
