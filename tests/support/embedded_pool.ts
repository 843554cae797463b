/**
 * Imported by tests that open many embedded databases: one in memory that was closed is emptied and
 * opened again, because a new one takes ten times as much CPU time. `tests/support/one_isolate.ts`
 * imports it where files that share an isolate may open one.
 */
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { loadEmptySnapshot } from "../../testing/embedded_snapshot.ts";
import { emptyDatabase } from "./empty_database.ts";

/** Times that a database is opened: what was dropped stays in its catalogs and makes them slower. */
const MAX_OPENED = 25;

/** Members whose effects emptying a database does not end. */
const NOT_REVERSED = /^(?:listen|onNotification|execProtocol)/;

/** Closed databases, and how often they were opened. */
const closed: Map<PGlite, number> = new Map();
const create = PGlite.create;

Object.assign(PGlite, { create: open });

async function open(...args: [folder?: string | PGliteOptions, options?: PGliteOptions]) {
  const options = typeof args[0] === "object" ? args[0] : { dataDir: args[0], ...args[1] };
  if (!await isEmptyInMemory(options)) return await create(options);
  for (const [pglite, opened] of closed) {
    closed.delete(pglite);
    const query = async (text: string) => (await pglite.query(text)).rows;
    if (await emptyDatabase(query).catch(() => false)) return lend(pglite, opened + 1);
    await pglite.close();
  }
  return lend(await create(options), 1);
}

async function isEmptyInMemory({ dataDir, loadDataDir, ...rest }: PGliteOptions): Promise<boolean> {
  return (dataDir ?? "memory://").startsWith("memory://") && Object.keys(rest).length === 0 &&
    loadDataDir !== undefined && loadDataDir === await loadEmptySnapshot("a test");
}

/** Returns a database that can be used until it is closed. */
function lend(pglite: PGlite, opened: number): PGlite {
  const own: Partial<Record<string | symbol, unknown>> = {};
  let isClosed = false;
  let isReusable = opened < MAX_OPENED;
  let running = 0;

  async function close(): Promise<void> {
    if (isClosed) throw new Error("PGlite is closed");
    isClosed = true;
    if (isReusable && running === 0) closed.set(pglite, opened);
    else await pglite.close();
  }

  function call(method: (...args: unknown[]) => unknown, args: unknown[]): unknown {
    if (isClosed) throw new Error("PGlite is closed");
    const result = Reflect.apply(method, pglite, args);
    if (!(result instanceof Promise)) return result;
    running++;
    return result.finally(() => running--);
  }

  return new Proxy(pglite, {
    get(target, name) {
      if (name in own) return own[name];
      if (name === "close" || name === Symbol.asyncDispose) return close;
      if (name === "closed") return isClosed;
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function" || name === "constructor") return value;
      if (NOT_REVERSED.test(String(name))) isReusable = false;
      return (...args: unknown[]) => call(value, args);
    },
    set(_target, name, value) {
      own[name] = value;
      return true;
    },
  });
}
