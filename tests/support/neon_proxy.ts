/** A proxy as Neon runs it: PostgreSQL's protocol in WebSocket messages. */
export interface NeonProxy {
  /** The port on the loopback interface. */
  readonly port: number;
  /** Cuts every connection. */
  cut(): void;
  /** Ends the proxy. */
  stop(): Promise<void>;
}

/**
 * Starts a WebSocket proxy on the loopback interface.
 *
 * @param postgresPort The port of a PostgreSQL on the loopback interface.
 * @returns The running proxy.
 */
export function startNeonProxy(postgresPort: number): NeonProxy {
  const open = new Set<WebSocket>();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.binaryType = "arraybuffer";
    const early: Uint8Array[] = [];
    let postgres: Deno.TcpConn | undefined;
    // writes one after the other, since a connection may take a part of a message only
    let written: Promise<unknown> = Promise.resolve();
    function write(bytes: Uint8Array): void {
      written = written.then(async () => {
        for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await postgres!.write(rest));
      }).catch(() => socket.close());
    }
    socket.onmessage = ({ data }) => {
      const bytes = new Uint8Array(data as ArrayBuffer);
      if (postgres === undefined) early.push(bytes);
      else write(bytes);
    };
    socket.onopen = async () => {
      open.add(socket);
      postgres = await Deno.connect({ hostname: "127.0.0.1", port: postgresPort });
      early.forEach(write);
      const buffer = new Uint8Array(65536);
      try {
        for (;;) {
          const read = await postgres.read(buffer);
          if (read === null) break;
          socket.send(buffer.slice(0, read));
        }
      } catch {
        // the socket was closed from the other side
      }
      socket.close();
    };
    socket.onclose = () => {
      open.delete(socket);
      try {
        postgres?.close();
      } catch {
        // closed already
      }
    };
    return response;
  });
  return {
    port: server.addr.port,
    cut: () => open.forEach((socket) => socket.close()),
    stop: () => server.shutdown(),
  };
}
