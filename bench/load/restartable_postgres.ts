import { startPostgres } from "../../tests/support/postgres.ts";

/** How a server goes down: sessions are ended, or everything stops as in a crash and is recovered at the next start. */
export type Shutdown = "fast" | "immediate";

/** A PostgreSQL server that can go down and come back with its data. */
export interface RestartablePostgres {
  /** Of an empty database. */
  readonly url: string;
  /** Goes down and stays down for a while; resolves when it takes connections again. */
  restart(how: Shutdown, downMs: number): Promise<void>;
  stop(): Promise<void>;
}

const SIGNALS = { fast: "SIGINT", immediate: "SIGQUIT" } as const;

/**
 * Starts a PostgreSQL of which a commit that was acknowledged outlives the server's process.
 *
 * @returns The running server, with an empty database `load`.
 */
export async function startRestartablePostgres(): Promise<RestartablePostgres> {
  const server = await startPostgres({
    settings: ["synchronous_commit=on", "full_page_writes=on"],
  });
  const url = await server.createDatabase("load");
  const { default: postgres } = await import("postgres");
  const sql = postgres(url, { max: 1 });
  const [{ data_directory: folder }] = await sql`show data_directory`;
  await sql.end();
  // the server's process is in the first line of the one, the command that started it in the other
  const pid = Number((await Deno.readTextFile(`${folder}/postmaster.pid`)).split("\n", 1)[0]);
  const words = (await Deno.readTextFile(`${folder}/postmaster.opts`)).trim();
  const command = words.slice(0, words.indexOf(" "));
  const args = [...words.matchAll(/"([^"]*)"/g)].map(([, word]) => word);
  const { uid, gid } = await Deno.stat(folder);
  const owner = Deno.uid() === 0 ? { uid: uid ?? undefined, gid: gid ?? undefined } : {};
  let own: Deno.ChildProcess | undefined;
  let drained: Promise<void> = Promise.resolve();

  async function start(): Promise<void> {
    own = new Deno.Command(command, {
      args,
      cwd: folder,
      ...owner,
      clearEnv: true,
      env: { PATH: Deno.env.get("PATH") ?? "", LC_ALL: "C", HOME: folder },
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const reader = own.stderr.pipeThrough(new TextDecoderStream()).getReader();
    let log = "";
    while (!log.includes("ready to accept connections")) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`postgres ended before it was ready again: ${log}`);
      log += value;
    }
    drained = (async () => {
      while (!(await reader.read()).done);
    })();
  }

  async function down(how: Shutdown): Promise<void> {
    if (own !== undefined) {
      own.kill(SIGNALS[how]);
      await own.status;
      await drained;
      return;
    }
    Deno.kill(pid, SIGNALS[how]);
    // the first process is waited for by the one who started it
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  return {
    url,
    async restart(how, downMs): Promise<void> {
      await down(how);
      await new Promise((resolve) => setTimeout(resolve, downMs));
      await start();
    },
    async stop(): Promise<void> {
      if (own === undefined) return await server.stop();
      await down("fast");
      await Deno.remove(folder.replace(/\/data$/, ""), { recursive: true });
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s*Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}
