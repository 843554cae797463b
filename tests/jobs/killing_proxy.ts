import { startTcpProxy } from "../support/tcp_proxy.ts";

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
  let messages = 0;
  let plan: Parameters<KillingProxy["arm"]>[0];
  const isAt = (phase: KillPhase) => plan?.message === messages && plan.phase === phase;
  const proxy = await startTcpProxy(port, () => ({
    onSent(pass): void {
      messages++;
      if (isAt("before it is sent")) return plan!.kill();
      pass();
    },
    onAnswered(pass): void {
      if (isAt("before its answer")) return plan!.kill();
      pass();
      // the client has had the answer for a moment
      if (isAt("after its answer")) setTimeout(plan!.kill, 1);
    },
  }));
  return {
    ...proxy,
    count: () => messages,
    arm(next): void {
      messages = 0;
      plan = next;
    },
  };
}
