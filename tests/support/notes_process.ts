import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url);
const { tasks } = JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT)));
/** The command of `deno task start`, which has its own import map and lock file. */
const [, ...START] = tasks.start.command.split(" ");

/** The example application as a user runs it: its own process, a folder for its data. */
export interface NotesProcess {
  readonly url: string;
  /** The `curl` lines that it printed. */
  readonly curlLines: string[];
  /** What it made up for this machine. */
  readonly secrets: Record<string, string>;
  /** Everything that it wrote to standard output so far: its log. */
  log(): string;
  /** Ctrl-C; resolves to the exit code. */
  interrupt(): Promise<number>;
}

/** Starts the example on a port and waits until it answers; what it printed is the error when it ends instead. */
export async function startNotes(dataFolder: string, port: number): Promise<NotesProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: START,
    cwd: fileURLToPath(ROOT),
    env: { PORT: String(port), NOTES_DATA: dataFolder, LOG_LEVEL: "DEBUG", NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let log = "", printed = "";
  const reading = collect(child.stdout, (text) => log += text);
  let started = (_: boolean) => {};
  const ready = new Promise<boolean>((resolve) => started = resolve);
  const telling = collect(child.stderr, (text) => {
    printed += text;
    if (printed.includes("Ctrl-C stops it")) started(true);
  }).then(() => started(false));
  if (!await ready) {
    const { code } = await child.status;
    await Promise.all([reading, telling]);
    throw new Error(`exit code ${code}: ${printed}`);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    curlLines: printed.split("\n").map((line) => line.trim()).filter((line) =>
      /^(?:curl|TOKEN=)/.test(line)
    ),
    secrets: JSON.parse(await Deno.readTextFile(`${dataFolder}/secrets.json`)),
    log: () => log,
    async interrupt(): Promise<number> {
      child.kill("SIGINT");
      const { code } = await child.status;
      await Promise.all([reading, telling]);
      return code;
    },
  };
}

async function collect(
  stream: ReadableStream<Uint8Array>,
  take: (text: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) take(decoder.decode(chunk, { stream: true }));
}
