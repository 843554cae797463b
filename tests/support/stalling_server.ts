import { createServer, type Socket } from "node:net";

/** Where the answer of a {@link StallingServer} stops. */
export const STALLS = [
  "before the header",
  "within the header",
  "after the header",
  "byte by byte",
] as const;

/** One of {@link STALLS}. */
export type Stall = (typeof STALLS)[number];

/** The beginning of an answer. */
export interface StartedAnswer {
  /** For HTTP with the empty line, for other protocols the first whole line. */
  readonly header: string;
  /** Sent after the header. */
  readonly body: string;
}

/** A JSON answer that is not complete. */
export const STARTED_JSON: StartedAnswer = {
  header: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n",
  body: `{"a":"`,
};

/** The greeting of a mail server. */
export const STARTED_SMTP: StartedAnswer = { header: "220 mail.test ESMTP\r\n", body: "" };

/** Server whose answers begin and never end. */
export interface StallingServer {
  /** Where the next answers stop. */
  stall: Stall;
  readonly port: number;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** Resolves when the clients have closed all their connections. */
  closed(): Promise<void>;
  stop(): Promise<void>;
}

/** Time between two bytes, which is shorter than any idle timeout. */
const DRIP_MS = 5;

/**
 * Starts a server that takes requests and never completes an answer.
 *
 * @param answer The beginning of each answer.
 */
export async function startStallingServer(
  { header, body }: StartedAnswer = STARTED_JSON,
): Promise<StallingServer> {
  const sockets = new Set<Socket>();
  let onClosed: () => void = () => {};
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      if (sockets.size === 0) onClosed();
    });
    const waitsForRequest = header.startsWith("HTTP");
    if (waitsForRequest) socket.once("data", begin);
    else begin();
    socket.resume();

    function begin(): void {
      const { stall } = started;
      if (stall === "within the header") socket.write(header.slice(0, header.length / 2));
      if (stall === "after the header") socket.write(header + body);
      if (stall !== "byte by byte") return;
      if (waitsForRequest) socket.write(header);
      const timer = setInterval(() => socket.write("a"), DRIP_MS);
      socket.on("close", () => clearInterval(timer));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const started: StallingServer = {
    stall: "before the header",
    port,
    url: `http://127.0.0.1:${port}`,
    closed: () =>
      new Promise<void>((resolve) => {
        onClosed = resolve;
        if (sockets.size === 0) resolve();
      }),
    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return started;
}
