import { connect, createServer, type Socket } from "node:net";

/**
 * What the network does to a connection.
 *
 * - `pass`: everything goes through.
 * - `black-hole`: nothing goes through any more, in either direction, and nobody is told: no FIN, no RST.
 * - `deaf`: new connections are accepted and nobody is behind them; open ones pass.
 * - `half-open`: what the client sends arrives, the answers do not, and the client is not told that the server has closed.
 * - `refuse`: new connections are reset, open ones pass.
 */
export type NetworkState = "pass" | "black-hole" | "deaf" | "half-open" | "refuse";

/** A proxy between a client and a server, to be made worse. */
export interface FaultyProxy {
  /** The port on the loopback interface. */
  readonly port: number;
  /** Connections that clients have made so far. */
  readonly accepted: number;
  /** Connections that are open now. */
  readonly open: number;
  /** What happens now. */
  readonly state: NetworkState;
  /** Changes what happens from now on, to the connections that are open as well. */
  set(state: NetworkState): void;
  /** Holds back every message for so many milliseconds, in both directions. */
  delay(ms: number): void;
  /** Resets every open connection. */
  cut(): void;
  /** Drops every open connection as a gateway does that has forgotten it: nothing goes through, and nobody is told. */
  forget(): void;
  /** Calls back once, when a client sends bytes that contain the text, before they go on. */
  onceSent(text: string, callback: () => void): void;
  /** Calls back once, when the server answers with bytes that contain the text, before they go on. */
  onceAnswered(text: string, callback: () => void): void;
  /** Ends the proxy and its connections. */
  stop(): Promise<void>;
}

interface Watch {
  text: string;
  callback: () => void;
}

/**
 * Starts a proxy on the loopback interface.
 *
 * @param port The server's port on the loopback interface.
 * @returns The proxy, which passes everything until told otherwise.
 */
export async function startFaultyProxy(port: number): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  const sent: Watch[] = [];
  const answered: Watch[] = [];
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let state: NetworkState = "pass";
  let delayMs = 0;
  let accepted = 0;
  let forgotten = 0;

  /** A latin1 text has the bytes of whatever went by. */
  function look(watches: Watch[], data: Uint8Array): void {
    if (watches.length === 0) return;
    const text = new TextDecoder("latin1").decode(data);
    for (const watch of watches.filter((one) => text.includes(one.text))) {
      watches.splice(watches.indexOf(watch), 1);
      watch.callback();
    }
  }
  function later(fn: () => void): void {
    if (delayMs === 0) return fn();
    const timer = setTimeout(() => {
      timers.delete(timer);
      fn();
    }, delayMs);
    timers.add(timer);
  }
  function add(socket: Socket): void {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  }

  const server = createServer((client) => {
    const number = ++accepted;
    const isSilent = () => state === "black-hole" || number <= forgotten;
    add(client);
    if (state === "refuse") return void client.resetAndDestroy();
    if (state === "deaf" || state === "black-hole") return;
    const upstream = connect(port, "127.0.0.1");
    add(upstream);
    client.on("data", (data: Uint8Array) => {
      look(sent, data);
      if (isSilent()) return;
      later(() => upstream.writable && upstream.write(data));
    });
    upstream.on("data", (data: Uint8Array) => {
      look(answered, data);
      if (isSilent() || state === "half-open") return;
      later(() => client.writable && client.write(data));
    });
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => {
      if (!isSilent() && state !== "half-open") later(() => client.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size / 2;
    },
    get state() {
      return state;
    },
    set: (next) => void (state = next),
    delay: (ms) => void (delayMs = ms),
    cut(): void {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    forget: () => void (forgotten = accepted),
    onceSent: (text, callback) => void sent.push({ text, callback }),
    onceAnswered: (text, callback) => void answered.push({ text, callback }),
    async stop(): Promise<void> {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
