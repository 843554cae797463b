import { randomInt } from "node:crypto";
import type { Socket } from "node:net";
import { ClientConnection, type ConnectionHost } from "./connection.ts";
import type { Session } from "./session.ts";

/** Milliseconds that a transaction which began in the session's last minute may still run (Q). */
const EXPIRY_GRACE_MS = 300_000;

/** Connections of the server, by their process ids. */
export class ConnectionTable {
  readonly #byProcessId = new Map<number, ClientConnection>();
  readonly #lifetimeMs: number;
  #lastProcessId = 0;

  constructor(lifetimeMs: number) {
    this.#lifetimeMs = lifetimeMs;
  }

  get size(): number {
    return this.#byProcessId.size;
  }

  all(): ClientConnection[] {
    return [...this.#byProcessId.values()];
  }

  sessions(): Session[] {
    return this.all().flatMap(({ session }) => session ? [session] : []);
  }

  open(host: ConnectionHost, socket: Socket): void {
    const connection = new ClientConnection(
      host,
      socket,
      ++this.#lastProcessId,
      randomInt(2 ** 31),
    );
    this.#byProcessId.set(connection.processId, connection);
    const timers = [
      setTimeout(() => connection.expire(), this.#lifetimeMs),
      setTimeout(() => connection.destroy(), this.#lifetimeMs + EXPIRY_GRACE_MS),
    ];
    connection.done.finally(() => {
      timers.forEach((timer) => clearTimeout(timer));
      this.#byProcessId.delete(connection.processId);
    });
  }

  async cancel(processId: number, secretKey: number): Promise<void> {
    const connection = this.#byProcessId.get(processId);
    if (!connection || connection.secretKey !== secretKey) return;
    connection.cancelWait();
    await connection.session?.cancel();
  }

  async close(): Promise<void> {
    const open = this.all();
    for (const connection of open) connection.destroy();
    await Promise.all(open.map((connection) => connection.done));
  }
}
