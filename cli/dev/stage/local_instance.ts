import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import inspector from "node:inspector";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { findDenoConfig } from "../../build/deno_graph.ts";
import type { CallOutcome } from "../../live/channel.ts";
import { KEPT } from "../../project/load_process.ts";
import { getModuleUrl } from "../../project/module_url.ts";
import type { ChildCall, ChildStart } from "./instance_child.ts";

/** Options of {@link startInstance}. */
export interface InstanceOptions {
  /** Absolute path of the project. */
  readonly root: string;
  /** Absolute path of the function's bundle. */
  readonly file: string;
  /** The variables of the function, with the credentials of its role. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A process that runs the calls of one instance, one after another as Lambda does. */
export interface LocalInstance {
  /** True while a call is running. */
  readonly isBusy: boolean;
  /** True until the process has ended. */
  readonly isAlive: boolean;
  /**
   * Runs a call. Never rejects.
   *
   * @param onLine Called with each line that the function prints, until the next call.
   */
  run(call: ChildCall, onLine: (line: string) => void): Promise<CallOutcome>;
  stop(): void;
}

/**
 * Variables of this machine that a debugger and the clients of AWS need, besides those of any process. The
 * function sees no other ones, neither credentials nor settings of the shell: what works here works in AWS.
 */
const OF_MACHINE = /^(?:NODE_OPTIONS|SSL_CERT_FILE|https?_proxy|no_proxy)$/i;

/**
 * Imports the program of the process, which would wait for calls. It is never called: packages of npm and JSR
 * contain the modules that others import.
 */
export const importChild = (): Promise<unknown> => import("./instance_child.ts");

/**
 * Starts the process of an instance. If this process is being debugged, so is the new one, at another port.
 *
 * @returns The instance. The caller stops it.
 */
export function startInstance({ root, file, environment }: InstanceOptions): LocalInstance {
  const program = new URL(getModuleUrl(import.meta.url, "./instance_child"));
  const script = program.protocol === "file:" ? fileURLToPath(program) : program.href;
  const config = process.versions.deno === undefined ? undefined : findDenoConfig(root);
  const child = spawn(process.execPath, [
    ...process.versions.deno === undefined ? [] : ["run", "-A", "--no-prompt", "--no-check"],
    ...config === undefined ? [] : ["--config", config],
    ...inspector.url?.() === undefined ? [] : ["--inspect=127.0.0.1:0"],
    script,
  ], {
    cwd: root,
    env: {
      ...Object.fromEntries(
        Object.entries(process.env).filter(([name]) => KEPT.test(name) || OF_MACHINE.test(name)),
      ),
      TZ: "UTC",
      ...environment,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const mark = `\u0000${randomUUID()}`;
  let finish: ((outcome: CallOutcome) => void) | undefined;
  let print: (line: string) => void = () => {};
  let isAlive = true;

  function end(message: string): void {
    isAlive = false;
    finish?.({ kind: "error", name: "Runtime.ExitError", message });
  }
  createInterface({ input: child.stdout }).on("line", (line) => {
    const at = line.indexOf(mark);
    if (at !== 0) print(at < 0 ? line : line.slice(0, at));
    if (at >= 0) finish?.(JSON.parse(line.slice(at + mark.length)));
  });
  createInterface({ input: child.stderr }).on("line", (line) => print(line));
  child.on("error", ({ message }) => end(message));
  child.on("close", (code, signal) => end(`the function's process ended (${signal ?? code})`));
  // a process that has ended reads nothing
  child.stdin.on("error", () => {});
  const send = (value: ChildStart | ChildCall) => child.stdin.write(`${JSON.stringify(value)}\n`);
  send({ file, mark });

  return {
    get isBusy() {
      return finish !== undefined;
    },
    get isAlive() {
      return isAlive;
    },
    async run(call, onLine): Promise<CallOutcome> {
      print = onLine;
      const ended = new Promise<CallOutcome>((resolve) => finish = resolve);
      if (isAlive) send(call);
      else end("the function's process has ended");
      return await ended.finally(() => finish = undefined);
    },
    stop(): void {
      child.kill("SIGKILL");
    },
  };
}
