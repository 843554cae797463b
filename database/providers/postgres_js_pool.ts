import { connect, isIP, type Socket } from "node:net";
import { Duplex } from "node:stream";
import type { Options, Sql } from "postgres";
import type postgres from "postgres";
import { runOutsideInvocation } from "../../observability/invocation_context.ts";
import { NO_DEADLINE, onDeadline } from "../session/deadline.ts";
import { endsConnection } from "./postgres_js_transaction.ts";
import { IdleConnectionGuard, isAnswered } from "./idle_connection_guard.ts";

/** Options of postgres.js that a provider sets. */
export type PostgresOptions = Options<Record<string, never>>;

/** Connections that postgres.js opened since the last one was lost. */
interface Generation {
  sql: Sql;
  /** Open sockets. */
  sockets: Set<Socket>;
  /** Number of running statements and transactions that are awaited. */
  active: number;
  isSpent: boolean;
}

/** A statement or a transaction that is awaited. */
interface Usage {
  readonly generation: Generation;
  isOver: boolean;
}

const REPLACED = "CONNECTION_REPLACED";

/** Errors of sockets that could not be opened. */
const connectFailures: WeakSet<object> = new WeakSet();

/** Checks whether an error was raised while a socket was opened, before anything was sent on it. */
export function isConnectFailure(error: unknown): boolean {
  return connectFailures.has(error as object);
}

/** Checks whether a statement was rejected unsent because its connection had ended. */
export function isReplaced(error: unknown): boolean {
  return (error as { code?: unknown }).code === REPLACED;
}

/**
 * Pool of postgres.js that is recreated when a connection ends. postgres.js 3.4.9 reconnects with
 * the same object, which keeps state of the lost connection: the next result begins with as many
 * holes as the lost one had rows, and the next statement is rejected with the old error.
 */
export class PostgresPool {
  readonly #postgres: typeof postgres;
  #options: PostgresOptions;
  readonly #onEnd: () => void;
  #current: Generation | undefined;
  readonly #rest = new IdleConnectionGuard(() => this.#probe());
  #isClosing = false;

  /**
   * @param driver postgres.js.
   * @param options Its options, with one `host` and `port`.
   * @param onEnd Called when a connection ends while the pool is open.
   */
  constructor(driver: typeof postgres, options: PostgresOptions, onEnd: () => void) {
    this.#postgres = driver;
    this.#options = options;
    this.#onEnd = onEnd;
  }

  /**
   * Runs work on the current connections. Work that is still running at its invocation's deadline
   * would hold a connection while the network or server is silent. Therefore the pool is replaced,
   * and the old connections are closed once no other work uses them.
   *
   * @param work A statement or a transaction; gets true if an invocation's deadline applies.
   * @returns The result of the work.
   */
  async use<T>(work: (sql: Sql, hasDeadline: boolean) => PromiseLike<T>): Promise<T> {
    const waking = this.#current?.active === 0 ? this.#rest.wake() : undefined;
    if (waking !== undefined) await waking;
    const generation = this.#current ??= this.#open();
    generation.active++;
    const usage: Usage = { generation, isOver: false };
    const forget = onDeadline(() => {
      this.#spend(generation);
      this.#leave(usage);
    });
    try {
      return await work(generation.sql, forget !== NO_DEADLINE);
    } catch (error) {
      // a statement between a socket's error and its close would never be answered
      if (endsConnection(error)) this.#spend(generation);
      throw error;
    } finally {
      this.#rest.used();
      forget();
      this.#leave(usage);
    }
  }

  #leave(usage: Usage): void {
    if (usage.isOver) return;
    usage.isOver = true;
    usage.generation.active--;
    if (usage.generation.isSpent) this.#retire(usage.generation);
  }

  /** End of the last statement or transaction, on the clock of `performance.now()`. */
  get lastEndMs(): number {
    return performance.now() - this.#rest.restedMs;
  }

  /**
   * Never prepares a statement again. postgres.js prepares COMMIT itself. Behind a pooler in
   * transaction mode, the prepared COMMIT fails in another server session, the transaction is rolled
   * back, and postgres.js 3.4.9 then reports success. Call it before the first transaction. Running
   * statements end on the former connections.
   */
  stopPreparing(): void {
    if (this.#options.prepare === false) return;
    this.#options = { ...this.#options, prepare: false };
    const generation = this.#current;
    this.#current = undefined;
    if (generation === undefined) return;
    generation.isSpent = true;
    this.#retire(generation);
  }

  /**
   * Receives notifications (`LISTEN`) on a separate connection, which is not replaced when it ends.
   *
   * @param channel Name of the channel.
   * @param onNotify Called with the payload of each notification.
   * @returns Closes the connection. Its promise `ended` resolves when the connection has ended.
   */
  async listen(
    channel: string,
    onNotify: (payload: string) => void,
  ): Promise<(() => Promise<void>) & { readonly ended: Promise<void> }> {
    let onEnd = () => {};
    const ended = new Promise<void>((resolve) => onEnd = resolve);
    const options = {
      ...this.#options,
      max: 1,
      idle_timeout: undefined,
      onnotify: (_channel: string, payload: string) => onNotify(payload),
    };
    const pool = new PostgresPool(this.#postgres, options, onEnd);
    try {
      await pool.use((sql) => sql.unsafe(`listen "${channel}"`));
    } catch (error) {
      await pool.close();
      throw error;
    }
    return Object.assign(() => pool.close(), { ended });
  }

  /** Closes all connections, after the running statements. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#current?.sql.end({ timeout: 5 });
  }

  #open(): Generation {
    const sockets: Set<Socket> = new Set();
    const options: PostgresOptions = {
      ...this.#options,
      ssl: withServerName(this.#options),
      // called per connection: a connection that ended must not reconnect
      socket: () =>
        generation.isSpent
          ? deadSocket(replaced())
          : runOutsideInvocation(() => openSocket(this.#options, sockets)).catch(deadSocket),
      onclose: () => {
        this.#spend(generation);
        this.#rejectForgotten(generation);
      },
      // statements that wait for a discarded generation are rejected one by one, without delay
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

  /**
   * Rejects statements that came between a socket's error and its close. postgres.js 3.4.9 forgets
   * them, unsent. One more statement for each connection makes it connect again, to a socket that
   * is dead, and its error reaches them.
   */
  #rejectForgotten(generation: Generation): void {
    if (!generation.isSpent || generation.active === 0) return;
    for (let place = 0; place < Number(this.#options.max); place++) {
      generation.sql.unsafe("select 1").catch(() => {});
    }
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
      // a socket whose other side is silent would stay open
      for (const socket of generation.sockets) socket.destroy();
    });
  }
}

/**
 * Creates a socket that closes with an error at once. postgres.js 3.4.9 continues with its waiting
 * statements only when a socket closes; without one it would drop all but the first.
 */
function deadSocket(error: Error): Duplex {
  const socket = new Duplex({ read(): void {}, write: (_chunk, _encoding, done) => done() });
  // postgres.js adds its listeners after it gets the socket
  setTimeout(() => socket.destroy(error), 0);
  return socket;
}

function replaced(): Error {
  return Object.assign(new Error("The connection had ended"), { code: REPLACED });
}

/**
 * Returns the TLS options with the name of the server, which postgres.js does not know of a socket that
 * it did not open. An IP address is no server name.
 */
function withServerName({ ssl, host }: PostgresOptions): PostgresOptions["ssl"] {
  if (ssl === undefined || ssl === false || typeof ssl === "string") return ssl;
  const name = String(host);
  return { ...(isIP(name) === 0 ? { servername: name } : {}), ...(ssl === true ? {} : ssl) };
}

/** Opens a socket: postgres.js takes a connected one. */
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
      connectFailures.add(error);
      reject(error);
    });
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.removeAllListeners("error");
      resolve(socket);
    });
  });
}
