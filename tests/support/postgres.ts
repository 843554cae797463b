import { join } from "node:path";
import {
  copyPreparedCluster,
  findPostgresBin,
  makeServerFolder,
  SERVER_USER,
} from "./postgres_files.ts";
import { freePort } from "./free_port.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";

/** A PostgreSQL server that belongs to a test. */
export interface TestPostgres extends AsyncDisposable {
  /** `postgres://postgres@127.0.0.1:<port>/postgres`, no password. */
  readonly url: string;
  /** The port on the loopback interface. */
  readonly port: number;
  /** Makes an empty database of this server, or a copy of a template without connections; gives its URL. */
  createDatabase(name: string, template?: string): Promise<string>;
  /** Ends the server by its own process id and removes its files. */
  stop(): Promise<void>;
}

/** Returns how a client connects to a database directly, without metrics. */
export function getDirectConfig(
  connectionString: string,
): Extract<DatabaseConfig, { provider: "serverless-pg" }> {
  return { provider: "serverless-pg", connectionString, instrument: false };
}

/** Options of {@link startPostgres}. */
export interface StartPostgresOptions {
  /** Further settings, each as for `postgres -c`, such as `default_transaction_isolation=repeatable read`. */
  settings?: readonly string[];
}

async function untilReady(child: Deno.ChildProcess): Promise<void> {
  const decoder = new TextDecoder();
  const reader = child.stderr.getReader();
  let log = "";
  while (!log.includes("ready to accept connections")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`postgres ended before it was ready: ${log}`);
    log += decoder.decode(value, { stream: true });
  }
  reader.releaseLock();
}

/**
 * Starts a real PostgreSQL on the loopback interface: the one in the folder `$PGBIN`, else the system's newest, else (or
 * when `$PGBIN` is `npm`) the binaries of an npm package. Its data is a copy of a prepared cluster in a temporary folder,
 * and is not synced to disk.
 *
 * @param options Further settings.
 * @returns The running server, to be stopped by the test.
 */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<TestPostgres> {
  const bin = await findPostgresBin();
  const folder = await makeServerFolder();
  const data = join(folder, "data");
  await copyPreparedCluster(bin, folder);
  const port = freePort();
  const settings = [
    "listen_addresses=127.0.0.1",
    `unix_socket_directories=${data}`,
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=200",
    ...options.settings ?? [],
  ];
  const child = new Deno.Command(join(bin, "postgres"), {
    cwd: data,
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH") ?? "", LC_ALL: "C", HOME: data },
    ...SERVER_USER,
    args: ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
    stdout: "null",
    stderr: "piped",
  }).spawn();
  try {
    await untilReady(child);
  } catch (error) {
    await child.status;
    await Deno.remove(folder, { recursive: true });
    throw error;
  }
  // what the server logs from now on is read and thrown away: a full pipe would stop it
  const drained = child.stderr.pipeTo(new WritableStream());
  const base = `postgres://postgres@127.0.0.1:${port}`;
  async function stop(): Promise<void> {
    // SIGQUIT is PostgreSQL's immediate shutdown: sessions are ended, and nothing is written any more
    child.kill("SIGQUIT");
    await child.status;
    await drained.catch(() => {});
    await Deno.remove(folder, { recursive: true });
  }
  return {
    url: `${base}/postgres`,
    port,
    async createDatabase(name: string, template = "template1"): Promise<string> {
      const { default: postgres } = await import("postgres");
      const sql = postgres(`${base}/postgres`, { max: 1, onnotice: () => {} });
      try {
        await sql.unsafe(`CREATE DATABASE "${name}" TEMPLATE "${template}"`);
      } finally {
        await sql.end();
      }
      return `${base}/${name}`;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
