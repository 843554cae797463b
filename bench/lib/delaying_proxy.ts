/// <reference lib="deno.worker" />
/**
 * A worker thread that forwards connections to a port and delays each answer, as a network does.
 * Post `{ port, delayMs }`; it posts the port on which it listens. Timers are too coarse for half a
 * millisecond, so it looks at the clock without a pause while an answer waits.
 */
import { connect, createServer, type Socket } from "node:net";

interface Waiting {
  readonly atMs: number;
  readonly bytes: Uint8Array;
  readonly client: Socket;
}

self.onmessage = ({ data: { port, delayMs } }: MessageEvent<{ port: number; delayMs: number }>) => {
  const waiting: Waiting[] = [];
  function deliver(): void {
    while (waiting.length > 0 && performance.now() >= waiting[0].atMs) {
      const { client, bytes } = waiting.shift()!;
      client.write(bytes);
    }
    if (waiting.length > 0) setImmediate(deliver);
  }
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) socket.setNoDelay(true).on("error", () => {});
    client.on("data", (bytes) => upstream.write(bytes)).on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy()).on("data", (bytes: Uint8Array) => {
      waiting.push({ atMs: performance.now() + delayMs, bytes, client });
      if (waiting.length === 1) setImmediate(deliver);
    });
  });
  server.listen(0, "127.0.0.1", () => {
    self.postMessage((server.address() as { port: number }).port);
  });
};
