import type { Client, Pool, PoolClient } from "@neondatabase/serverless";
import { explainMissing } from "../../core/mod.ts";
import { runtimeProcess } from "../../env/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import type { DatabaseConfig } from "../config.ts";
import { whenAbandoned } from "./abandoned.ts";
import type { Connection, DedicatedSession, DrizzleClient, Invalidate, Row, SqlSession } from "./provider.ts";
import { isAnswered, RestWatch } from "./rest_watch.ts";

/**
 * Opens Neon: its own driver, PostgreSQL's protocol in a WebSocket, a pool of connections and transactions over several
 * statements.
 *
 * @param config `connectionString` is `postgres://…`.
 * @param invalidate Told of connections that end.
 * @returns The connection; nothing is connected yet.
 * @throws {ConfigurationError} When the runtime has no WebSocket.
 */
export async function openBranchingPg(config: DatabaseConfig, invalidate: Invalidate): Promise<Connection> {
  const explain = explainMissing("@neondatabase/serverless", "Provider branching-pg");
  const [neon, { drizzle }] = await Promise.all([
    import("@neondatabase/serverless").catch(explain),
    import("drizzle-orm/neon-serverless").catch(explain),
  ]);
  if (neon.neonConfig.webSocketConstructor === undefined && typeof globalThis.WebSocket === "undefined") {
    throw new ConfigurationError(
      `Provider branching-pg needs WebSocket, which ${
        runtimeProcess?.release?.name ?? "this runtime"
      } ${runtimeProcess?.version} lacks: ` +
        "take a runtime that has it (Node 22 or later, Deno, Bun), or give neonConfig.webSocketConstructor of " +
        "@neondatabase/serverless the one of the package ws",
    );
  }
  const connectMs = (config.connectTimeout ?? 10) * 1000;
  const settings = { connectionString: config.connectionString, connectionTimeoutMillis: connectMs };
  const pool = new neon.Pool({
    ...settings,
    max: config.maxConnections ?? 1,
    // 0 keeps a connection as long as the server does
    idleTimeoutMillis: (config.idleTimeout ?? 0) * 1000,
  });
  takeBackLost(pool);
  rejectWithErrors(pool);
  let isClosing = false;
  // without a listener a connection that ends while it is idle would end the process
  pool.on("error", (error: unknown) => {
    if (!isClosing) invalidate("ended", error);
  });
  // the same for one that is in use: its statement fails by itself
  pool.on("connect", (client: Client) => {
    client.on("error", () => {});
    rejectWithErrors(client);
  });
  return {
    async check(): Promise<void> {
      try {
        await pool.query("select 1");
      } catch (error) {
        isClosing = true;
        await pool.end();
        invalidate("refused", error);
        throw error;
      }
    },
    createClient: (schema) => Promise.resolve(drizzle({ client: pool, schema }) as unknown as DrizzleClient),
    openSession: () => openSession(new neon.Client(settings), isPooled(config.connectionString)),
    async close(): Promise<void> {
      isClosing = true;
      await pool.end();
    },
  };
}

/** A WebSocket that cannot be opened, or ends, gives an event, which has neither stack nor class. */
function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  const { message, error } = thrown as { message?: unknown; error?: unknown };
  const text = typeof message === "string" && message !== "" ? message : "The WebSocket ended or could not be opened";
  return new Error(text, error instanceof Error ? { cause: error } : {});
}

/** Has statements rejected with errors, never with events: a log could say nothing of those. */
function rejectWithErrors(target: Pool | Client): void {
  const query = target.query.bind(target) as (...args: unknown[]) => unknown;
  target.query = function queryWithErrors(...args: unknown[]): unknown {
    const result = query(...args);
    return result instanceof Promise ? result.catch((thrown) => Promise.reject(toError(thrown))) : result;
  } as Pool["query"];
}

type Taken = (error: Error | undefined, client: PoolClient | undefined, release: (error?: unknown) => void) => void;

/**
 * Takes a connection out of the pool when its invocation is given up at the deadline (a silent network or a slow statement
 * would hold it, and every later invocation would wait for it), and when it ends: drizzle 0.45.4 does not give back a
 * connection whose BEGIN failed. After a pause it looks whether the connections are alive: Neon ends them when the
 * database goes to sleep.
 */
function takeBackLost(pool: Pool): void {
  const connect = pool.connect.bind(pool) as unknown as (taken: Taken) => void;
  const rest = new RestWatch(dropSilent);

  async function dropSilent(): Promise<void> {
    let isSilent = false;
    while (pool.idleCount > 0) {
      const client = await (connect as unknown as () => Promise<PoolClient>)();
      isSilent ||= !await isAnswered(client.query("select 1"));
      client.release(isSilent);
      if (!isSilent) return;
    }
  }
  function connectWatched(taken: Taken): void {
    let cut = (): void => {};
    const forget = whenAbandoned(() => cut());
    connect(function watch(error, client, release) {
      if (client === undefined) {
        forget();
        return taken(error, client, release);
      }
      let isHeld = true;
      // whoever comes second finds it given back: the pool would throw
      function releaseOnce(error?: unknown): void {
        if (!isHeld) return;
        isHeld = false;
        forget();
        rest.used();
        client?.removeListener("end", cut);
        release(error);
      }
      cut = () => releaseOnce(true);
      client.once("end", cut);
      client.release = releaseOnce;
      taken(error, client, releaseOnce);
    });
  }
  function connectAwake(taken: Taken): void {
    const waking = pool.idleCount === pool.totalCount ? rest.wake() : undefined;
    if (waking === undefined) connectWatched(taken);
    else waking.then(() => connectWatched(taken), (error) => taken(error, undefined, () => {}));
  }
  pool.connect = function connectEither(taken?: Taken): Promise<PoolClient> | void {
    if (taken !== undefined) return connectAwake(taken);
    return new Promise((resolve, reject) =>
      connectAwake((error, client) => client === undefined ? reject(error) : resolve(client))
    );
  } as Pool["connect"];
}

/** Neon's pooler hands a server session to another client after each transaction. */
function isPooled(connectionString: string | undefined): boolean {
  return /@[^/?@]*-pooler\./.test(connectionString ?? "");
}

function toSession(client: Client | Pool | PoolClient): SqlSession {
  return {
    async query(text, params = []): Promise<Row[]> {
      // the extended protocol, also without parameters: a stray second statement is refused instead of run
      const run = client.query.bind(client) as unknown as (query: object) => Promise<{ rows: Row[] }>;
      return (await run({ text, values: [...params], queryMode: "extended" })).rows;
    },
    async script(statements): Promise<void> {
      await client.query(statements.join("\n;\n"));
    },
  };
}

async function openSession(client: Client, isPooled: boolean): Promise<DedicatedSession> {
  // an ended connection shows at the next statement
  client.on("error", () => {});
  rejectWithErrors(client);
  await client.connect().catch((thrown: unknown) => Promise.reject(toError(thrown)));
  const session = toSession(client);
  return {
    ...session,
    keepsSession: !isPooled,
    async transaction(fn): Promise<never> {
      await session.query("begin");
      let result: unknown;
      try {
        result = await fn(session);
      } catch (error) {
        await session.query("rollback").catch(() => {});
        throw error;
      }
      await session.query("commit");
      return result as never;
    },
    close: () => client.end(),
  };
}
