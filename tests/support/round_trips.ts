import { startTcpProxy } from "./tcp_proxy.ts";

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
  const url = new URL(target);
  let trips = 0;
  const { port, stop } = await startTcpProxy(Number(url.port), () => {
    let answered = true;
    return {
      onSent(pass): void {
        if (answered) trips++;
        answered = false;
        pass();
      },
      onAnswered(pass): void {
        answered = true;
        pass();
      },
    };
  });
  url.hostname = "127.0.0.1";
  url.port = String(port);
  return { url: url.href, count: () => trips, stop };
}
