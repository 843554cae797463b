import type { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { pick, type Run } from "./traffic.ts";

/** The result of a separate connection: the status of its first answer, or how it ended. */
type BrokenConnection = (port: number, token: string) => Promise<number | string>;

const HOST = "Host: 127.0.0.1\r\n";
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Opens a connection, passes it to a function, and returns all that it received until it ended. */
async function talk(
  port: number,
  use: (socket: Socket, received: () => string) => Promise<void> | void,
  timeoutMs = 15_000,
): Promise<string> {
  let text = "";
  const socket = connect({ host: "127.0.0.1", port });
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("data", (chunk: Buffer) => text += chunk.toString("latin1"));
  // a server that breaks a bad connection off is right
  socket.on("error", () => {});
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  await use(socket, () => text);
  await ended;
  clearTimeout(timer);
  return text;
}

/** The status of the first answer, `closed` without one. */
function firstStatus(text: string): number | string {
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  return status === undefined ? "closed" : Number(status);
}

const sendRaw = (request: string): BrokenConnection => async (port) =>
  firstStatus(await talk(port, (socket) => void socket.write(request, "latin1"), 3000));

const KINDS: readonly (readonly [
  weight: number,
  kind: string,
  expected: readonly (number | string)[],
  BrokenConnection,
])[] = [
  [
    3,
    "aborted at once",
    ["closed"],
    async (port) => firstStatus(await talk(port, (socket) => void socket.destroy())),
  ],
  [3, "aborted while it is answered", ["aborted"], async (port, token) => {
    await talk(port, async (socket) => {
      socket.write(`GET /notes HTTP/1.1\r\n${HOST}Authorization: Bearer ${token}\r\n\r\n`);
      await wait(1);
      socket.destroy();
    });
    return "aborted";
  }],
  [3, "aborted in its body", ["closed"], async (port, token) =>
    firstStatus(
      await talk(port, async (socket) => {
        socket.write(
          `POST /notes HTTP/1.1\r\n${HOST}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
            'Content-Length: 5000\r\n\r\n{"title":"hal',
        );
        await wait(20);
        socket.destroy();
      }),
    )],
  [1, "half-sent, then closed for writing", ["closed", 400, 408], async (port) =>
    firstStatus(
      await talk(port, (socket) =>
        void socket.end(`POST /notes HTTP/1.1\r\n${HOST}Content-Length: 50\r\n\r\n{"ti`), 5000),
    )],
  [1, "one byte every 100 ms", ["closed", 408], async (port) =>
    firstStatus(
      await talk(port, async (socket) => {
        for (const byte of `GET /health HTTP/1.1\r\nX-Slow: ${"x".repeat(20)}`) {
          if (socket.destroyed) return;
          socket.write(byte);
          await wait(100);
        }
        socket.destroy();
      }),
    )],
  [3, "10 requests pipelined", ["10 answers in order"], async (port) => {
    const ids = Array.from({ length: 10 }, (_, i) => `pipelined-${i}`);
    const requests = ids.map((id) =>
      `GET /health HTTP/1.1\r\n${HOST}X-Correlation-Id: ${id}\r\n\r\n`
    ).join("");
    const text = await talk(port, async (socket, received) => {
      socket.write(requests);
      for (let i = 0; i < 500 && (received().match(/HTTP\/1\.1 200/g)?.length ?? 0) < 10; i++) {
        await wait(20);
      }
      socket.destroy();
    });
    const answered = [...text.matchAll(/^x-correlation-id: (\S+)\r$/gim)].map(([, id]) => id);
    return String(answered) === String(ids)
      ? "10 answers in order"
      : `answers ${answered.join(" ")}`;
  }],
  [1, "no HTTP", ["closed", 400], sendRaw("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")],
  [
    1,
    "two lengths",
    ["closed", 400],
    sendRaw(
      `POST /hooks/payments HTTP/1.1\r\n${HOST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}`,
    ),
  ],
  [
    1,
    "length beside chunks",
    ["closed", 400],
    sendRaw(
      `POST /hooks/payments HTTP/1.1\r\n${HOST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n`,
    ),
  ],
  [
    1,
    "chunk of a bad length",
    ["closed", 400],
    sendRaw(
      `POST /notes HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n`,
    ),
  ],
  [
    1,
    "header with a line break",
    ["closed", 400],
    sendRaw(`GET /health HTTP/1.1\r\n${HOST}X-Bad: a\rb: c\r\n\r\n`),
  ],
];

/** Opens bad connections, one after the other, until the run ends. */
export async function breakConnections(run: Run, token: () => string | undefined): Promise<void> {
  const choices = KINDS.map((entry) => [entry[0], entry] as const);
  while (run.isOn()) {
    await run.pace();
    const [, kind, expected, open] = pick(choices, run.random);
    const startedAt = performance.now();
    const result = await open(run.port, token() ?? "none");
    run.outcomes.add({
      kind,
      result,
      expected,
      startedAt,
      endedAt: performance.now(),
      usesDatabase: false,
    });
  }
}
