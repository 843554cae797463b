import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import type { Options, Sql } from "postgres";
import type postgres from "postgres";
import { runOutsideInvocation } from "../../observability/invocation_context.ts";
import { NO_DEADLINE, onDeadline } from "./deadline.ts";
import { endsConnection } from "./postgres_js_transaction.ts";
import { IdleConnectionGuard, isAnswered } from "./idle_connection_guard.ts";

/** Settings of postgres.js that a provider decides. */
export type PostgresOptions = Options<Record<string, never>>;

/** The connections that postgres.js made since the last one was lost. */
interface Generation {
  sql: Sql;
  /** Its sockets that are open. */
  sockets: Set<Socket>;
  /** Statements and transactions under way that somebody waits for. */
  active: number;
  isSpent: boolean;
}

const REPLACED = "CONNECTION_REPLACED";

/** Whether a statement was turned away because its connection had ended; it was not sent. */
export function isReplaced(error: unknown): boolean {
  return (error as { code?: unknown }).code === REPLACED;
}

/**
 * A pool of postgres.js that is made anew when a connection ends. postgres.js 3.4.9 connects again with the same object,
 * and that keeps what the lost connection left in it: the next result begins with as many holes as the lost one had rows,
 * and the next statement is rejected with the error that ended the connection.
 */
export class PostgresPool {
  readonly #postgres: typeof postgres;
  readonly #options: PostgresOptions;
  readonly #onEnd: () => void;
  #current: Generation | undefined;
  readonly #rest = new IdleConnectionGuard(() => this.#probe());
  #isClosing = false;

  /**
   * @param driver postgres.js.
   * @param options Its settings, with one `host` and `port`.
   * @param onEnd Told when a connection ends while the pool is open.
   */
  constructor(driver: typeof postgres, options: PostgresOptions, onEnd: () => void) {
    this.#postgres = driver;
    this.#options = options;
    this.#onEnd = onEnd;
  }

  /**
   * Runs work on the connections of today. Work that its invocation gave up at the deadline would keep a connection for
   * as long as the network or the server is silent, and with it every later invocation: the connections are left to it,
   * and cut once nobody else waits for them.
   *
   * @param work A statement or a transaction; told whether the deadline of an invocation ends it.
   * @returns What it resolves to.
   */
  async use<T>(work: (sql: Sql, hasDeadline: boolean) => PromiseLike<T>): Promise<T> {
    const waking = this.#current?.active === 0 ? this.#rest.wake() : undefined;
    if (waking !== undefined) await waking;
    const generation = this.#current ??= this.#open();
    let isWaitedFor = true;
    const leave = (): void => {
      if (!isWaitedFor) return;
      isWaitedFor = false;
      generation.active--;
      if (generation.isSpent) this.#retire(generation);
    };
    generation.active++;
    const forget = onDeadline(() => {
      this.#spend(generation);
      leave();
    });
    try {
      return await work(generation.sql, forget !== NO_DEADLINE);
    } catch (error) {
      // a statement that comes between a socket's error and its close would never be answered
      if (endsConnection(error)) this.#spend(generation);
      throw error;
    } finally {
      this.#rest.used();
      forget();
      leave();
    }
  }

  /** When a statement or a transaction ended last, on the clock of `performance.now()`. */
  get lastEndMs(): number {
    return performance.now() - this.#rest.restedMs;
  }

  /** Ends all connections, after what is under way. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#current?.sql.end({ timeout: 5 });
  }

  #open(): Generation {
    const sockets: Set<Socket> = new Set();
    const options: PostgresOptions = {
      ...this.#options,
      // called for each connection: one that ended must not connect again
      socket: () =>
        generation.isSpent
          ? deadSocket(replaced())
          : runOutsideInvocation(() => openSocket(this.#options, sockets)).catch(deadSocket),
      onclose: () => this.#spend(generation),
      // what still waits for a generation that is spent is turned away one by one, and need not wait for that
      backoff: () => 0,
    } as PostgresOptions;
    const generation: Generation = {
      sql: this.#postgres(options) as Sql,
      sockets,
      active: 0,
      isSpent: false,
    };
    return generation;
  }

  #spend(generation: Generation): void {
    if (generation.isSpent || this.#isClosing) return;
    generation.isSpent = true;
    this.#current = undefined;
    this.#onEnd();
    this.#retire(generation);
  }

  async #probe(): Promise<void> {
    const generation = this.#current;
    if (generation !== undefined && !await isAnswered(generation.sql.unsafe("select 1"))) {
      this.#spend(generation);
    }
  }

  #retire(generation: Generation): void {
    if (generation.active > 0) return;
    void generation.sql.end({ timeout: 0 }).then(() => {
      // a socket whose other side is silent would stay open after its end
      for (const socket of generation.sockets) socket.destroy();
    });
  }
}

/**
 * A socket that closes with an error at once. One that cannot be had would make postgres.js 3.4.9 forget every statement
 * but the one that asked for it: only when a socket closes does it turn to the next one.
 */
function deadSocket(error: Error): Duplex {
  const socket = new Duplex({ read(): void {}, write: (_chunk, _encoding, done) => done() });
  // postgres.js listens when it has the socket
  setTimeout(() => socket.destroy(error), 0);
  return socket;
}

function replaced(): Error {
  return Object.assign(new Error("The connection had ended"), { code: REPLACED });
}

/** postgres.js takes a socket that is connected, and its host for the name in TLS. */
function openSocket(options: PostgresOptions, open: Set<Socket>): Promise<Socket> {
  const host = String(options.host);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(options.port) });
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    const timer = setTimeout(() => {
      socket.destroy(
        Object.assign(new Error(`No connection to ${host} in time`), { code: "CONNECT_TIMEOUT" }),
      );
    }, Number(options.connect_timeout) * 1000);
    socket.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.removeAllListeners("error");
      resolve(Object.assign(socket, { host }));
    });
  });
}
