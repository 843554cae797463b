import { connect, createServer, type Socket } from "node:net";

/** Moment of a message at which a client is killed. */
export type KillPhase = "before it is sent" | "before its answer" | "after its answer";

/** A proxy that tells when a client has sent so many messages. */
export interface KillingProxy {
  readonly port: number;
  /** Number of messages since `arm`. */
  count(): number;
  /** Calls `kill` at a message; `undefined` only counts. */
  arm(at: { message: number; phase: KillPhase; kill: () => void } | undefined): void;
  stop(): Promise<void>;
}

/**
 * Starts a proxy in front of a server. A message is a chunk that a client sends.
 *
 * @param port The server's port on the loopback interface.
 */
export async function startKillingProxy(port: number): Promise<KillingProxy> {
  const sockets = new Set<Socket>();
  let messages = 0;
  let plan: Parameters<KillingProxy["arm"]>[0];
  const isAt = (phase: KillPhase) => plan?.message === messages && plan.phase === phase;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    client.on("data", (data) => {
      messages++;
      if (isAt("before it is sent")) return plan!.kill();
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (isAt("before its answer")) return plan!.kill();
      client.write(data);
      // the client has had the answer for a moment
      if (isAt("after its answer")) setTimeout(plan!.kill, 1);
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
  return {
    port: (server.address() as { port: number }).port,
    count: () => messages,
    arm(next): void {
      messages = 0;
      plan = next;
    },
    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
