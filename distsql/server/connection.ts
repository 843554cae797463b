import type { Socket } from "node:net";
import type { Backend } from "./backend.ts";
import type { DistSqlFault } from "./faults.ts";
import type { ServerContext } from "./server_context.ts";
import { Session, type SessionChannel } from "./session.ts";
import { ConnectionCut } from "./sql_error.ts";
import {
  cString,
  errorResponse,
  frame,
  int32,
  MessageReader,
  PayloadReader,
  readyForQuery,
  type WireError,
  type WireMessage,
} from "./wire.ts";

/** Protocol 3.0, and the request codes that may replace it. */
const PROTOCOL_VERSION = 196_608;
export const SSL_REQUEST = 80_877_103;
export const GSS_REQUEST = 80_877_104;
export const CANCEL_REQUEST = 80_877_102;

/** A longer message closes the connection without an answer (LIM 2026-10). */
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** Parameters reported at the start of a session, as by the provider (EMU 2026-09-15). */
const PARAMETERS: readonly [string, string][] = [
  ["server_version", "16.15"],
  ["server_encoding", "UTF8"],
  ["client_encoding", "UTF8"],
  ["DateStyle", "ISO, MDY"],
  ["IntervalStyle", "postgres"],
  ["TimeZone", "UTC"],
  ["integer_datetimes", "on"],
  ["standard_conforming_strings", "on"],
];

const CONNECT_FAULTS: Partial<Record<DistSqlFault, WireError>> = {
  "waking": { sqlstate: "57P03", message: "waking up cluster, please retry later" },
  "access-denied": { sqlstate: "28000", message: "unable to accept connection, access denied" },
  "too-many-connections": {
    sqlstate: "53300",
    message: "unable to accept connection, too many connections",
  },
  "connection-rate": { sqlstate: "53400", message: "unable to accept connection, rate exceeded" },
};

const REFUSALS = Object.keys(CONNECT_FAULTS) as DistSqlFault[];

/** Creates the refusal of a connection; `hint` is only set for an expired signature. */
export function accessDenied(hint?: string): WireError {
  return {
    severity: "FATAL",
    sqlstate: "28000",
    message: "unable to accept connection, access denied",
    hint,
  };
}

/** Server of a connection. */
export interface ConnectionHost extends ServerContext {
  readonly backend: Backend;
  /**
   * @returns Undefined if the user is accepted, else the refusal.
   */
  authenticate(user: string, token: string): Promise<WireError | undefined>;
  cancel(processId: number, secretKey: number): Promise<void>;
}

/** Queue of a socket's messages. */
class MessageQueue implements SessionChannel {
  readonly #socket: Socket;
  readonly #reader = new MessageReader(false, MAX_MESSAGE_BYTES);
  #wake: (() => void) | undefined;
  #isEnded = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Uint8Array) => {
      this.#reader.push(chunk);
      this.#wake?.();
    });
    const end = (): void => {
      this.#isEnded = true;
      this.#wake?.();
    };
    socket.on("close", end);
    socket.on("end", end);
    socket.on("error", end);
  }

  expectTyped(): void {
    this.#reader.expectTyped();
  }

  async next(): Promise<WireMessage | undefined> {
    for (;;) {
      let message: WireMessage | undefined;
      try {
        message = this.#reader.next();
      } catch {
        this.#socket.destroy();
        return undefined;
      }
      if (message || this.#isEnded) return message;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  write(bytes: Uint8Array): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes);
  }
}

/** Connection of a client, from its first packet over TLS to its end. */
export class ClientConnection {
  readonly processId: number;
  readonly secretKey: number;
  readonly done: Promise<void>;
  readonly #host: ConnectionHost;
  readonly #socket: Socket;
  readonly #queue: MessageQueue;
  #session: Session | undefined;
  #isExpired = false;
  #waiting: AbortController | undefined;

  /**
   * @param processId Process id in BackendKeyData; a CancelRequest repeats it with the key.
   */
  constructor(host: ConnectionHost, socket: Socket, processId: number, secretKey: number) {
    this.#host = host;
    this.#socket = socket;
    this.#queue = new MessageQueue(socket);
    socket.once("close", () => this.#waiting?.abort());
    this.processId = processId;
    this.secretKey = secretKey;
    this.done = this.#run().catch((error) => this.#reportFailure(error)).finally(() =>
      socket.end()
    );
  }

  /** Session, once the client has signed in. */
  get session(): Session | undefined {
    return this.#session;
  }

  /** Closes the connection and cancels its work. */
  destroy(): void {
    this.#waiting?.abort();
    this.#socket.destroy();
    if (this.#session?.isBusy) this.#session.cancel().catch(() => {});
  }

  /** Closes the connection once it is not in a transaction. */
  expire(): void {
    this.#isExpired = true;
    if (this.#session?.isIdle ?? true) this.destroy();
  }

  /**
   * Returns a signal for waiting operations; it is aborted by the end of the connection and by a
   * CancelRequest.
   */
  waitSignal(): AbortSignal {
    this.#waiting = new AbortController();
    if (this.#socket.destroyed) this.#waiting.abort();
    return this.#waiting.signal;
  }

  /** Cancels the session's waiting operation. */
  cancelWait(): void {
    this.#waiting?.abort();
  }

  async #run(): Promise<void> {
    const first = await this.#queue.next();
    if (!first) return;
    const reader = new PayloadReader(first.payload);
    const code = reader.int32();
    if (code === CANCEL_REQUEST) return await this.#host.cancel(reader.int32(), reader.int32());
    if (code !== PROTOCOL_VERSION) {
      return this.#refuse({ sqlstate: "0A000", message: "unsupported frontend protocol" });
    }
    const user = readParameters(reader).get("user") ?? "";
    this.#queue.expectTyped();
    this.#queue.write(frame("R", int32(3)));
    const password = await this.#queue.next();
    if (password?.type !== "p") return;
    const fault = this.#host.faults.take(REFUSALS, { user });
    const refused = fault
      ? CONNECT_FAULTS[fault]
      : await this.#host.authenticate(user, new PayloadReader(password.payload).string());
    if (refused) return this.#refuse(refused);
    await this.#serve(user);
  }

  async #serve(user: string): Promise<void> {
    const opened = await this.#host.backend.openSession({
      restoreMessages: () => this.#session?.restoreMessages() ?? [],
      idleInTransactionMs: () => this.#session?.idleInTransactionMs() ?? 0,
      surrender: () => this.#session?.surrender() ?? Promise.resolve(),
    });
    const session = new Session(this.#host, opened, this.#channel(), user);
    this.#session = session;
    try {
      await session.start();
      this.#host.statistics.connections++;
      this.#queue.write(frame("R", int32(0)));
      for (const [name, value] of PARAMETERS) {
        this.#queue.write(frame("S", cString(name), cString(value)));
      }
      this.#queue.write(frame("K", int32(this.processId), int32(this.secretKey)));
      this.#queue.write(readyForQuery("I"));
      await session.serve();
    } catch (error) {
      if (!(error instanceof ConnectionCut)) throw error;
      this.#socket.destroy();
    } finally {
      await session.end();
    }
  }

  /** Creates the session's channel. An expired session ends when it becomes idle. */
  #channel(): SessionChannel {
    const queue = this.#queue;
    return {
      next: () => {
        // the connection must not be closed before the answer to the last COMMIT is sent
        if (this.#isExpired && this.#session?.runner.status === "I") {
          setTimeout(() => this.expire(), 20);
        }
        return queue.next();
      },
      write: (bytes) => queue.write(bytes),
    };
  }

  /** Reports a failure behind the server to the client, whose user is testing. */
  #reportFailure(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#refuse({ sqlstate: "XX000", message: `the stand-in's own database failed: ${message}` });
  }

  #refuse(error: WireError): void {
    this.#socket.end(errorResponse({ ...error, severity: "FATAL" }));
  }
}

/** Parses the parameters of a StartupMessage. */
function readParameters(reader: PayloadReader): Map<string, string> {
  const parameters = new Map<string, string>();
  for (let name = reader.string(); name !== ""; name = reader.string()) {
    parameters.set(name, reader.string());
  }
  return parameters;
}
