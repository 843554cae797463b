import { Buffer } from "node:buffer";
import { Agent, request } from "node:http";

/** What is sent. */
export interface Call {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** What came back. */
export interface Reply {
  readonly status: number | string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Longer than any handler of the example may take. */
const TIMEOUT_MS = 40_000;

/** One connection that is kept, as a browser or a gateway keeps it. */
export class HttpClient {
  readonly #port: number;
  readonly #agent: Agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends a request; a connection that fails is a reply too, with the error's code as status. */
  send({ method = "GET", path, headers = {}, body }: Call): Promise<Reply> {
    const startedAt = performance.now();
    return new Promise((resolve) => {
      const end = (status: number | string, replyHeaders: Reply["headers"] = {}, text = "") =>
        resolve({ status, headers: replyHeaders, text, startedAt, endedAt: performance.now() });
      const fail = (error: Error & { code?: string }) => end(error.code ?? error.message);
      const sent = request({
        host: "127.0.0.1",
        port: this.#port,
        agent: this.#agent,
        method,
        path,
        headers: body === undefined
          ? headers
          : { "Content-Length": String(Buffer.byteLength(body)), ...headers },
      }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", fail);
        response.on(
          "end",
          () => end(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString()),
        );
      });
      sent.setTimeout(
        TIMEOUT_MS,
        () => sent.destroy(Object.assign(new Error("no answer"), { code: "no answer" })),
      );
      sent.on("error", fail);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The JSON of a reply; an empty object when it is none. */
export function getJson(reply: Reply): Record<string, unknown> {
  try {
    return JSON.parse(reply.text) ?? {};
  } catch {
    return {};
  }
}
