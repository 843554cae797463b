import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadEmbeddedSnapshot } from "../../database/providers/embedded_snapshot.ts";
import { loadPglite } from "../../database/providers/load_pglite.ts";
import { loadEmptySnapshot } from "../../testing/embedded_snapshot.ts";
import type { Backend, BackendOwner, BackendSession } from "./backend.ts";
import { frame, readMessages, type WireMessage } from "./wire.ts";
import { queryMessage } from "./wire_extended.ts";

/** Part of PGlite that the server uses. */
export interface EmbeddedDatabase {
  /** Exchanges messages of PostgreSQL's protocol. */
  execProtocolRaw(message: Uint8Array): Promise<Uint8Array>;
  /** Closes the database. */
  close(): Promise<void>;
}

interface Waiting {
  readonly session: EmbeddedSession;
  admit(): void;
}

/** Backend on PGlite, which has one connection: sessions take turns, one transaction at a time. */
class EmbeddedBackend implements Backend {
  readonly isConcurrent = false;
  readonly superuser = "postgres";
  readonly database: EmbeddedDatabase;
  readonly #ownsDatabase: boolean;
  readonly #surrenderAfterMs: number;
  readonly #queue: Waiting[] = [];
  #holder: EmbeddedSession | undefined;
  #loaded: EmbeddedSession | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(database: EmbeddedDatabase, ownsDatabase: boolean, surrenderAfterMs: number) {
    this.database = database;
    this.#ownsDatabase = ownsDatabase;
    this.#surrenderAfterMs = surrenderAfterMs;
  }

  openSession(owner?: BackendOwner): Promise<BackendSession> {
    return Promise.resolve(new EmbeddedSession(this, owner));
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#ownsDatabase) await this.database.close();
  }

  async enter(session: EmbeddedSession): Promise<void> {
    if (this.#holder === session) return;
    if (this.#holder) {
      await new Promise<void>((admit) => {
        this.#queue.push({ session, admit });
        this.#watchHolder(this.#surrenderAfterMs);
      });
    } else {
      this.#holder = session;
    }
    if (this.#loaded !== session) await this.#load(session);
  }

  leave(session: EmbeddedSession): void {
    if (this.#holder !== session) return;
    const next = this.#queue.shift();
    this.#holder = next?.session;
    if (this.#queue.length === 0) this.#stopWatching();
    next?.admit();
  }

  /** Removes a session that ended, with its state in the database. */
  forget(session: EmbeddedSession): void {
    const index = this.#queue.findIndex((waiting) => waiting.session === session);
    if (index >= 0) this.#queue.splice(index, 1);
    if (this.#loaded === session) this.#loaded = undefined;
    this.leave(session);
  }

  async #load(session: EmbeddedSession): Promise<void> {
    this.#loaded = session;
    const reset = `SET SESSION AUTHORIZATION ${this.superuser}; RESET ALL; DEALLOCATE ALL`;
    // Sync ends an extended-protocol exchange that the previous session may have left unfinished.
    for (const message of [frame("S"), queryMessage(reset), ...session.restoreMessages()]) {
      await this.database.execProtocolRaw(message);
    }
  }

  /**
   * Watches the session that holds the database. It loses its open transaction while others wait:
   * two sessions of one process could wait forever.
   */
  #watchHolder(delayMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(async () => {
      this.#timer = undefined;
      const idleMs = this.#holder?.idleInTransactionMs() ?? 0;
      if (idleMs >= this.#surrenderAfterMs) await this.#holder?.surrender();
      if (this.#queue.length > 0) this.#watchHolder(Math.max(10, this.#surrenderAfterMs - idleMs));
    }, delayMs);
  }

  #stopWatching(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

class EmbeddedSession implements BackendSession {
  readonly processId = 0;
  readonly #backend: EmbeddedBackend;
  readonly #owner: BackendOwner | undefined;

  constructor(backend: EmbeddedBackend, owner: BackendOwner | undefined) {
    this.#backend = backend;
    this.#owner = owner;
  }

  enter(): Promise<void> {
    return this.#backend.enter(this);
  }

  leave(): void {
    this.#backend.leave(this);
  }

  restoreMessages(): Uint8Array[] {
    return this.#owner?.restoreMessages() ?? [];
  }

  idleInTransactionMs(): number {
    return this.#owner?.idleInTransactionMs() ?? 0;
  }

  async surrender(): Promise<void> {
    await this.#owner?.surrender();
  }

  async exchange(message: Uint8Array): Promise<WireMessage[]> {
    return readMessages(await this.#backend.database.execProtocolRaw(message));
  }

  cancel(): Promise<void> {
    // PGlite runs a statement within one call, so there is nothing to interrupt.
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#backend.forget(this);
    return Promise.resolve();
  }
}

/** Options of the embedded database. */
export interface EmbeddedBackendOptions {
  /** Open PGlite of the caller, who also closes it. */
  readonly database?: EmbeddedDatabase;
  /** Folder for PGlite's files; in memory if omitted. */
  readonly dataDir?: string;
  /** Milliseconds after which a transaction that blocks others is rolled back. */
  readonly surrenderAfterMs: number;
}

const CALLER = "startDistSqlServer()";

/** Opens PGlite as the database behind the server. */
export async function openEmbeddedBackend(options: EmbeddedBackendOptions): Promise<Backend> {
  if (options.database) {
    return new EmbeddedBackend(options.database, false, options.surrenderAfterMs);
  }
  const { dataDir } = options;
  const { PGlite } = await loadPglite(CALLER);
  const loadDataDir = dataDir === undefined
    ? await loadEmptySnapshot(CALLER)
    : await loadNewFolder(dataDir);
  const database = await PGlite.create(dataDir ?? "memory://", { loadDataDir });
  return new EmbeddedBackend(database, true, options.surrenderAfterMs);
}

/** Returns the files for a folder without a database, if a snapshot was set. */
async function loadNewFolder(dataDir: string): Promise<Blob | undefined> {
  return existsSync(join(dataDir, "PG_VERSION")) ? undefined : await loadEmbeddedSnapshot();
}
