import { Buffer } from "node:buffer";
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { type Backend, type BackendSession, queryRows, throwBackendError } from "./backend.ts";
import {
  concatBytes,
  cString,
  frame,
  int32,
  MessageReader,
  PayloadReader,
  type WireMessage,
} from "./wire.ts";

interface Address {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Last messages of the answer to a frontend message. */
const LAST_OF_ANSWER: Record<string, string> = {
  Q: "ZG",
  S: "Z",
  c: "Z",
  f: "Z",
  P: "1E",
  B: "2E",
  D: "TnE",
  E: "CIsEG",
  C: "3E",
};

/** Messages of the extended protocol whose answers PostgreSQL buffers until a flush. */
const FLUSHED = "PBDEC";

const decoder = new TextDecoder();

function parseUrl(url: string): Address {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    const shown = JSON.stringify(url.replace(/:[^:@/]*@/, ":…@"));
    throw new TypeError(`backend.url must be a postgres:// URL, got ${shown}`);
  }
  const user = decodeURIComponent(parsed.username) || "postgres";
  return {
    host: parsed.hostname || "127.0.0.1",
    port: Number(parsed.port || 5432),
    user,
    password: decodeURIComponent(parsed.password),
    database: decodeURIComponent(parsed.pathname.slice(1)) || user,
  };
}

function untyped(...payload: Uint8Array[]): Uint8Array {
  const body = concatBytes(payload);
  return concatBytes([int32(body.length + 4), body]);
}

function openSocket(address: Address): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address.host, port: address.port, noDelay: true });
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
    socket.once("error", reject);
  });
}

/** Client side of a SCRAM-SHA-256 exchange (RFC 5802, RFC 7677), without channel binding. */
interface ScramClient {
  readonly firstMessage: string;
  /** Answers the server's first message; throws if its nonce does not extend the client's. */
  finalMessage(serverFirst: string): string;
}

function hmac(key: Uint8Array, text: string): Uint8Array {
  return createHmac("sha256", key).update(text).digest();
}

/** Starts an exchange for a password. */
function createScramClient(password: string): ScramClient {
  const nonce = randomBytes(18).toString("base64");
  const bare = `n=,r=${nonce}`;
  return {
    firstMessage: `n,,${bare}`,
    finalMessage(serverFirst) {
      const fields = new Map(serverFirst.split(",").map((field) => [field[0], field.slice(2)]));
      const joined = fields.get("r") ?? "";
      if (!joined.startsWith(nonce)) {
        throw new Error("the database answered SCRAM with a nonce that is not ours");
      }
      const salted = pbkdf2Sync(
        password,
        Buffer.from(fields.get("s") ?? "", "base64"),
        Number(fields.get("i")),
        32,
        "sha256",
      );
      const clientKey = hmac(salted, "Client Key");
      const withoutProof = `c=biws,r=${joined}`;
      const signature = hmac(
        createHash("sha256").update(clientKey).digest(),
        `${bare},${serverFirst},${withoutProof}`,
      );
      const proof = Buffer.from(clientKey.map((byte, index) => byte ^ signature[index])).toString(
        "base64",
      );
      return `${withoutProof},p=${proof}`;
    },
  };
}

class PostgresSession implements BackendSession {
  processId = 0;
  onClose: () => void = () => {};
  #secretKey = 0;
  #scram: ScramClient | undefined;
  #collected: WireMessage[] = [];
  #pending:
    | { last: string; resolve(messages: WireMessage[]): void; reject(error: Error): void }
    | undefined;
  #closed: Error | undefined;
  readonly #socket: Socket;
  readonly #address: Address;

  constructor(socket: Socket, address: Address) {
    this.#socket = socket;
    this.#address = address;
    const reader = new MessageReader(true);
    socket.on("data", (chunk: Uint8Array) => {
      reader.push(chunk);
      for (let message = reader.next(); message; message = reader.next()) this.#receive(message);
    });
    socket.on("error", (error: Error) => this.#end(error));
    socket.on(
      "close",
      () => this.#end(new Error("the database behind the server closed the connection")),
    );
  }

  async start(): Promise<void> {
    const { user, database } = this.#address;
    const parameters = [
      "user",
      user,
      "database",
      database,
      "application_name",
      "distsql stand-in",
      "client_encoding",
      "UTF8",
    ];
    const startup = untyped(int32(196_608), ...parameters.map(cString), new Uint8Array(1));
    throwBackendError(await this.#send(startup, "ZE"));
  }

  enter(): Promise<void> {
    return Promise.resolve();
  }

  leave(): void {}

  exchange(message: Uint8Array): Promise<WireMessage[]> {
    const type = String.fromCharCode(message[0]);
    const last = LAST_OF_ANSWER[type];
    if (last === undefined) {
      this.#socket.write(message);
      return Promise.resolve([]);
    }
    return this.#send(FLUSHED.includes(type) ? concatBytes([message, frame("H")]) : message, last);
  }

  async cancel(): Promise<void> {
    const socket = await openSocket(this.#address);
    socket.on("error", () => {});
    socket.end(untyped(int32(80_877_102), int32(this.processId), int32(this.#secretKey)));
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#socket.once("close", () => resolve());
      this.#socket.end(frame("X"));
    });
  }

  #send(bytes: Uint8Array, last: string): Promise<WireMessage[]> {
    if (this.#closed) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => {
      this.#pending = { last, resolve, reject };
      this.#socket.write(bytes);
    });
  }

  #receive(message: WireMessage): void {
    if (message.type === "R") return this.#authenticate(new PayloadReader(message.payload));
    if (message.type === "K") {
      const reader = new PayloadReader(message.payload);
      this.processId = reader.int32();
      this.#secretKey = reader.int32();
      return;
    }
    if (message.type === "S") return;
    this.#collected.push(message);
    if (!this.#pending?.last.includes(message.type)) return;
    const { resolve } = this.#pending;
    const messages = this.#collected;
    this.#pending = undefined;
    this.#collected = [];
    resolve(messages);
  }

  #authenticate(reader: PayloadReader): void {
    const encoder = new TextEncoder();
    switch (reader.int32()) {
      case 0:
      case 12:
        return;
      case 10: {
        this.#scram = createScramClient(this.#address.password);
        const first = encoder.encode(this.#scram.firstMessage);
        this.#socket.write(frame("p", cString("SCRAM-SHA-256"), int32(first.length), first));
        return;
      }
      case 11: {
        const answer = this.#scram?.finalMessage(decoder.decode(reader.bytes(reader.remaining))) ??
          "";
        this.#socket.write(frame("p", encoder.encode(answer)));
        return;
      }
      default:
        this.#end(
          new Error(
            "the database requests an unsupported authentication method: use trust or SCRAM",
          ),
        );
        this.#socket.destroy();
    }
  }

  #end(error: Error): void {
    this.#closed ??= error;
    this.onClose();
    this.#pending?.reject(this.#closed);
    this.#pending = undefined;
  }
}

async function openPostgresSession(address: Address): Promise<PostgresSession> {
  const session = new PostgresSession(await openSocket(address), address);
  await session.start();
  return session;
}

/**
 * Opens a real PostgreSQL behind the server: every client gets its own connection.
 *
 * @param url `postgres://user:password@host:port/database`; the user must be a superuser, because
 * clients act as other roles.
 * @returns The backend, after a successful test connection.
 */
export async function openPostgresBackend(url: string): Promise<Backend> {
  const address = parseUrl(url);
  const probe = await openPostgresSession(address);
  const [[isSuperuser, version]] = await queryRows(
    probe,
    "SELECT current_setting('is_superuser'), current_setting('server_version_num')",
  );
  await probe.close();
  if (Number(version) < 150_000) {
    throw new TypeError(`backend.url must name PostgreSQL 15 or later, got ${version}`);
  }
  if (isSuperuser !== "on") {
    throw new TypeError(`backend.url must name a superuser, ${address.user} is not one`);
  }
  const open = new Set<PostgresSession>();
  return {
    isConcurrent: true,
    superuser: address.user,
    async openSession() {
      const session = await openPostgresSession(address);
      open.add(session);
      session.onClose = () => open.delete(session);
      return session;
    },
    async close() {
      await Promise.all([...open].map((session) => session.close()));
    },
  };
}
