import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { BEGIN, END } from "./load_protocol.ts";
import { getModuleUrl } from "./module_url.ts";

/** Functions to load. */
export interface ProcessRequest {
  /** Absolute path of the project. */
  readonly root: string;
  /** Absolute path of a file with a `LoadRequest`. */
  readonly requestFile: string;
  /** Number of functions. */
  readonly size: number;
  /** Time for the modules of one function. */
  readonly limitMs: number;
  /** Called when a function begins to load. */
  readonly onBegin: () => void;
}

/** Time for the start of a process. */
const START_MS = 60_000;
/** Number of functions that a process loads at most: their modules stay in its memory. */
const MAX_SIZE = 500;

/** Variables that a process needs to run the code of a project; others are the shell's. */
export const KEPT =
  /^(?:PATH|HOME|USERPROFILE|TMPDIR|TEMP|TMP|LANG|LC_\w+|TZ|SystemRoot|windir|APPDATA|LOCALAPPDATA|XDG_CACHE_HOME|DENO_DIR|DENO_NO_UPDATE_CHECK|NO_COLOR|NODE_PATH|BUN_INSTALL|npm_config_cache|NODE_EXTRA_CA_CERTS|DENO_CERT|DENO_TLS_CA_STORE)$/;

/** Processes that wait for their next request. They do not keep this process, and end with it. */
const waiting: LoadProcess[] = [];

/**
 * Loads functions in another process, which is kept for the next call to save its start.
 *
 * @throws {ConfigurationError} If a function blocks or ends the process.
 */
export async function runInLoadProcess(request: ProcessRequest): Promise<void> {
  const settings = getSettings(request.root);
  const at = waiting.findIndex(({ key }) => key === settings.key);
  if (at >= 0) {
    const [kept] = waiting.splice(at, 1);
    // functions of an earlier request may have left behind what ends it
    if (await kept.run(request).then(() => true, () => false)) return;
  }
  await new LoadProcess(settings).run(request);
}

interface Settings {
  readonly cwd: string;
  readonly env: Record<string, string | undefined>;
  readonly args: readonly string[];
  /** Requests with the same key may share a process. */
  readonly key: string;
}

function getSettings(root: string): Settings {
  const program = new URL(getModuleUrl(import.meta.url, "./load_child"));
  const isFile = program.protocol === "file:";
  const script = isFile ? fileURLToPath(program) : program.href;
  const isDeno = process.versions.deno !== undefined;
  const args = isDeno ? ["run", "-A", "--deny-net", "--no-prompt", script] : [script];
  const names = Object.keys(process.env).filter((name) => KEPT.test(name)).sort();
  const env = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  // these options load Yarn's Plug'n'Play, without which Node finds no package of such a project
  if (process.versions.pnp !== undefined) env.NODE_OPTIONS = process.env.NODE_OPTIONS;
  // Deno reads the configuration beside a script, or in the working directory for one with another URL
  return { cwd: root, env, args, key: JSON.stringify([isFile ? "" : root, env]) };
}

/**
 * Imports the program of the process, which would run in this one. It is never called: packages of npm
 * and JSR contain the modules that others import.
 */
export const importChild = (): Promise<unknown> => import("./load_child.ts");

/** A process that loads functions of one request after the other. */
class LoadProcess {
  readonly key: string;
  readonly #child: ChildProcess & { readonly stdin: Writable };
  #size = 0;
  #errors = "";
  #onLine: (line: string) => void = () => {};
  #onEnd: (error?: Error) => void = () => this.#stopWaiting();

  constructor({ cwd, env, args, key }: Settings) {
    this.key = key;
    const child = spawn(process.execPath, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => this.#onLine(line));
    child.stderr.on("data", (chunk) => this.#errors += chunk);
    child.stdin.on("error", () => {}); // the process has ended, which is reported below
    child.on("error", (error) => this.#onEnd(error));
    child.on("close", () => this.#onEnd());
  }

  /** Runs one request to its end, and lets the process wait for the next one. */
  async run({ requestFile, size, limitMs, onBegin }: ProcessRequest): Promise<void> {
    this.#size += size;
    this.#keepsProgram(true);
    let current: string | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stopAfter = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#child.kill("SIGKILL"), ms);
    };
    try {
      await new Promise<void>((resolve, reject) => {
        this.#onEnd = (error) => reject(error ?? describeEnd(current, this.#errors));
        this.#onLine = (line) => {
          if (line === END) return resolve();
          current = line.slice(BEGIN.length);
          onBegin();
          // a module that blocks the process cannot be stopped in it; each may be loaded a few times
          stopAfter(3 * limitMs);
        };
        stopAfter(START_MS);
        this.#child.stdin.write(`${requestFile}\n`);
      });
    } finally {
      clearTimeout(timer);
    }
    this.#errors = "";
    this.#onEnd = () => this.#stopWaiting();
    this.#keepsProgram(false);
    if (this.#size < MAX_SIZE) waiting.push(this);
    else this.#child.stdin.end();
  }

  #stopWaiting(): void {
    const at = waiting.indexOf(this);
    if (at >= 0) waiting.splice(at, 1);
  }

  /** Sets whether this program waits for the process before it ends. */
  #keepsProgram(isKept: boolean): void {
    const method = isKept ? "ref" : "unref";
    const { stdin, stdout, stderr } = this.#child;
    this.#child[method]();
    // they are sockets, which have these methods
    for (const stream of [stdin, stdout, stderr] as (Readable & Partial<ChildProcess>)[]) {
      stream[method]?.();
    }
  }
}

function describeEnd(current: string | undefined, errors: string): ConfigurationError {
  return new ConfigurationError(
    current === undefined
      ? `The process that loads the functions failed: ${errors.trim()}`
      : `${current} cannot be loaded: its module blocks or ends the process. ${errors.trim()}`,
  );
}
