import { connect, createServer, type Server, type Socket } from "node:net";

/** A running pooler. */
export interface TransactionPooler {
  readonly port: number;
  /** Ends all connections. */
  stop(): Promise<void>;
}

interface Backend {
  readonly socket: Socket;
  client: Client | undefined;
  isReady: boolean;
}

interface Client {
  readonly socket: Socket;
  waiting: Buffer[];
  backend: Backend | undefined;
  /** Number of ReadyForQuery messages that the server still has to send. */
  expected: number;
}

const HEADER_BYTES = 5;
const BACKENDS = 2;

/**
 * Starts a connection pooler in transaction mode before a PostgreSQL that trusts everybody. A
 * client gets the server session that was free for longest, and gives it back at the end of its
 * transaction. So two transactions in a row never share a session, and what the first left in its
 * session is missing in the second. Like PgBouncer, it invents the process ids of clients.
 *
 * @param serverPort The port of the server.
 */
export async function startTransactionPooler(serverPort: number): Promise<TransactionPooler> {
  const free: Backend[] = [];
  const waiting: Client[] = [];
  const sockets = new Set<Socket>();

  function release(backend: Backend): void {
    const next = waiting.shift();
    backend.client = undefined;
    if (next === undefined) free.push(backend);
    else assign(next, backend);
  }
  function assign(client: Client, backend: Backend): void {
    client.backend = backend;
    backend.client = client;
    for (const message of client.waiting.splice(0)) send(client, message);
  }
  function send(client: Client, message: Buffer): void {
    // Query and Sync
    if (message[0] === 0x51 || message[0] === 0x53) client.expected++;
    client.backend!.socket.write(message);
  }
  function openBackend(startup: Buffer, onGreeting: (bytes: Buffer) => void): void {
    const socket = connect(serverPort, "127.0.0.1").setNoDelay(true);
    const backend: Backend = { socket, client: undefined, isReady: false };
    const greeting: Buffer[] = [];
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("connect", () => socket.write(startup));
    socket.on(
      "data",
      createReader((message) => {
        const isIdle = message[0] === 0x5a && message[HEADER_BYTES] === 0x49;
        if (!backend.isReady) {
          greeting.push(message[0] === 0x4b ? withOwnId(message) : message);
          if (!isIdle) return;
          backend.isReady = true;
          onGreeting(Buffer.concat(greeting));
          return release(backend);
        }
        const { client } = backend;
        if (client === undefined) return;
        client.socket.write(message);
        if (message[0] === 0x5a) client.expected--;
        if (!isIdle || client.expected > 0) return;
        client.backend = undefined;
        release(backend);
      }),
    );
  }
  function serve(socket: Socket): void {
    const client: Client = { socket, waiting: [], backend: undefined, expected: 0 };
    const read = createReader((message) => {
      // Terminate ends the client only
      if (message[0] === 0x58) return void socket.end();
      if (client.backend !== undefined) return send(client, message);
      client.waiting.push(message);
      if (client.waiting.length > 1) return;
      const backend = free.shift();
      if (backend === undefined) waiting.push(client);
      else assign(client, backend);
    });
    sockets.add(socket.setNoDelay(true));
    socket.on("error", () => {});
    socket.on("close", () => client.backend?.socket.destroy());
    // the startup message has no type
    socket.once("data", (startup: Buffer) => {
      socket.on("data", read);
      for (let n = 1; n < BACKENDS; n++) openBackend(startup, () => {});
      openBackend(startup, (greeting) => socket.write(greeting));
    });
  }
  const server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: getPort(server), stop: () => stopAll(server, sockets) };
}

/** Returns a listener that calls a function with each message. */
function createReader(onMessage: (message: Buffer) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  return function readMessages(bytes: Buffer): void {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= HEADER_BYTES) {
      const length = 1 + rest.readUInt32BE(1);
      if (rest.length < length) return;
      onMessage(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}

let lastId = 0x40_0000_00;

/** Replaces the process id in BackendKeyData. */
function withOwnId(message: Buffer): Buffer {
  const copy = Buffer.from(message);
  copy.writeUInt32BE(++lastId, HEADER_BYTES);
  return copy;
}

function getPort(server: Server): number {
  return (server.address() as { port: number }).port;
}

async function stopAll(server: Server, sockets: Set<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
}
