import { connect, createServer, type Socket } from "node:net";

/** A proxy in front of a server that answers when it is asked. */
export interface RoundTrips {
  /** The URL with the proxy's port. */
  readonly url: string;
  /** How often a client spoke after the server had spoken: what a network's delay is paid for. */
  count: () => number;
  /** Ends the proxy and its connections. */
  stop: () => Promise<void>;
}

/**
 * Counts round trips to a server.
 *
 * @param target The server's URL.
 * @returns The proxy.
 */
export async function countRoundTrips(target: string): Promise<RoundTrips> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let trips = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let answered = true;
    client.on("data", (data) => {
      if (answered) trips++;
      answered = false;
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      answered = true;
      client.write(data);
    });
    for (const [one, other] of [[client, upstream], [upstream, client]]) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.on("error", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    count: () => trips,
    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
