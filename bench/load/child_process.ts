import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { freePort } from "../../tests/support/free_port.ts";

const PROGRAM = fileURLToPath(new URL("./notes_child.ts", import.meta.url));

/** What the application uses at a moment, in bytes. */
export interface MemorySample {
  readonly heapUsed: number;
  readonly external: number;
  /** Unhandled rejections so far. */
  readonly rejections: number;
}

/** Open descriptors: sockets and the rest, such as the files that an embedded database keeps open for its tables. */
export interface Descriptors {
  readonly sockets: number;
  readonly others: number;
}

/** The application under load. */
export interface NotesChild {
  readonly pid: number;
  readonly port: number;
  readonly secrets: Readonly<Record<string, string>>;
  /** Lines of its log by level. */
  readonly logLevels: ReadonlyMap<string, number>;
  /** Messages of its log at level ERROR, and what it wrote to standard error after its start. */
  readonly complaints: ReadonlyMap<string, number>;
  /** Collects garbage and returns the memory that remains. */
  sample(): Promise<MemorySample>;
  /** Resident memory in bytes, from `/proc`. */
  rss(): Promise<number>;
  /** Open descriptors, from `/proc`. */
  descriptors(): Descriptors;
  /** Resolves to the exit code when it has ended, for any reason. */
  readonly ended: Promise<number>;
  /** Ctrl-C; resolves to the exit code. */
  stop(): Promise<number>;
}

/**
 * Starts the example in a separate process and waits until it listens.
 *
 * @param dataFolder Where it keeps its data.
 * @param env Where its database is, unless in that folder.
 */
export async function startNotesChild(
  dataFolder: string,
  env: Record<string, string>,
): Promise<NotesChild> {
  const port = freePort();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--v8-flags=--expose-gc", PROGRAM],
    env: { PORT: String(port), NOTES_DATA: dataFolder, NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const logLevels = new Map<string, number>(), complaints = new Map<string, number>();
  const waiting: ((sample: MemorySample) => void)[] = [];
  let printed = "", isReady = false;
  let started = (_: boolean) => {};
  const ready = new Promise<boolean>((resolve) => started = resolve);
  const count = (of: Map<string, number>, key: string) => of.set(key, (of.get(key) ?? 0) + 1);

  const reading = eachLine(child.stdout, (line) => {
    const { level, message } = readLogLine(line);
    count(logLevels, level);
    if (level === "ERROR") count(complaints, message);
  });
  const telling = eachLine(child.stderr, (line) => {
    if (line.startsWith("@sample ")) return waiting.shift()?.(JSON.parse(line.slice(8)));
    if (isReady && line.trim() !== "" && line !== "Stopping …") count(complaints, line);
    if (!isReady) printed += `${line}\n`;
    if (line.startsWith("Ctrl-C stops it")) started(isReady = true);
  }).then(() => started(false));
  if (!await ready) {
    const { code } = await child.status;
    await Promise.all([reading, telling]);
    throw new Error(`The example ended with exit code ${code}: ${printed}`);
  }
  const input = child.stdin.getWriter();
  return {
    pid: child.pid,
    port,
    secrets: JSON.parse(await Deno.readTextFile(`${dataFolder}/secrets.json`)),
    logLevels,
    complaints,
    async sample(): Promise<MemorySample> {
      const answer = new Promise<MemorySample>((resolve) => waiting.push(resolve));
      await input.write(new TextEncoder().encode("\n"));
      return await answer;
    },
    async rss(): Promise<number> {
      const status = await Deno.readTextFile(`/proc/${child.pid}/status`);
      return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
    },
    descriptors: () => readDescriptors(`/proc/${child.pid}/fd`),
    ended: child.status.then(({ code }) => code),
    async stop(): Promise<number> {
      try {
        child.kill("SIGINT");
      } catch {
        // it ended by itself
      }
      const { code } = await child.status;
      await Promise.all([reading, telling, input.close().catch(() => {})]);
      return code;
    },
  };
}

function readDescriptors(folder: string): Descriptors {
  let sockets = 0, others = 0;
  for (const { name } of Deno.readDirSync(folder)) {
    try {
      if (Deno.readLinkSync(`${folder}/${name}`).startsWith("socket:")) sockets++;
      else others++;
    } catch {
      // closed since the folder was read
    }
  }
  return { sockets, others };
}

function readLogLine(line: string): { level: string; message: string } {
  try {
    const { level = "metrics", message = "" } = JSON.parse(line);
    return { level, message };
  } catch {
    return { level: "no JSON", message: line };
  }
}

async function eachLine(
  stream: ReadableStream<Uint8Array>,
  take: (line: string) => void,
): Promise<void> {
  for await (const line of createInterface({ input: Readable.fromWeb(stream as never) })) {
    take(line);
  }
}
