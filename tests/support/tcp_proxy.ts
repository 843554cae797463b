import { connect, createServer, type Socket } from "node:net";

/** What a proxy does with data on one connection. */
export interface ProxiedConnection {
  /** Called with what the client sends; `pass` sends it on. */
  onSent(pass: () => void, data: Uint8Array): void;
  /** Called with what the server answers; `pass` sends it on. */
  onAnswered(pass: () => void): void;
}

/** A proxy on the loopback interface. */
export interface TcpProxy {
  readonly port: number;
  /** Ends the proxy and its connections. */
  stop(): Promise<void>;
}

/**
 * Starts a proxy in front of a server.
 *
 * @param port The server's port on the loopback interface.
 * @param onConnection Called for each connection of a client.
 */
export async function startTcpProxy(
  port: number,
  onConnection: () => ProxiedConnection,
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    const { onSent, onAnswered } = onConnection();
    client.on("data", (data) => onSent(() => void upstream.write(data), data));
    upstream.on("data", (data) => onAnswered(() => void client.write(data)));
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
  return {
    port: (server.address() as { port: number }).port,
    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
