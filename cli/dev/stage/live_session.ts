import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../core/async/clock.ts";
import type { FunctionFile } from "../../discovery/function_files.ts";
import {
  type CallOutcome,
  createReader,
  type ForwarderMessage,
  isMissingQueue,
  type KeyPair,
  type Label,
  type LocalMessage,
  type Queue,
  seal,
  type Sealed,
  unseal,
} from "../../live/channel.ts";
import { BuildError } from "../../sources/build_error.ts";
import { type Inputs, isChanged } from "../../sources/file_stamps.ts";
import { bundleFunction } from "../../sources/local_bundle.ts";
import { getFailures } from "../functions/invoker.ts";
import { type LogLine, parseLine, type Recorder } from "../functions/recorder.ts";
import type { DevServerOptions } from "../dev_server_options.ts";
import { type LocalInstance, startInstance } from "./local_instance.ts";

/** Options of {@link startLiveSession}. */
export interface LiveSessionOptions extends Pick<DevServerOptions, "root" | "terminal"> {
  /** Absolute path of an existing folder in the project for bundles. */
  readonly folder: string;
  /** The functions of the project by their names in AWS. */
  readonly functions: ReadonlyMap<string, FunctionFile>;
  readonly keys: KeyPair;
  /** The random text of the session's address. */
  readonly token: string;
  /** The queue of offers. */
  readonly offers: Queue;
  /** Opens the queue with the answers to an instance of a function. */
  readonly openAnswers: (instance: string, functionName: string) => Promise<Queue>;
  readonly recorder: Recorder;
  /** Called with each line that a function prints. */
  readonly onLogText?: (text: string) => void;
}

/** A running session. */
export interface LiveSession {
  /** Settles when the queue of offers is gone: a deployment or another session has taken the stage over. */
  readonly ended: Promise<void>;
  /** Takes no more offers, and stops the functions' processes. */
  stop(): void;
}

type Offer = Extract<ForwarderMessage, { kind: "offer" }>;

/** Interval of the messages that a call is running. */
const ALIVE_MS = 3_000;
const PAUSE_MS = 1_000;
/** Time for a queue that was just created. */
const NEW_QUEUE_MS = 5_000;
/** Time after which Lambda has probably ended an instance. */
const UNUSED_MS = 20 * 60_000;
/** Maximum number of offers that wait for their `go`. */
const MAX_OFFERS = 200;

/** The bundle of a function, built again after a change. */
interface Built {
  readonly inputs: Inputs;
  readonly file: Promise<string>;
}

/** The process of an instance of a function. */
interface Instance {
  readonly file: string;
  readonly process: LocalInstance;
  usedAtMs: number;
}

/** Runs the calls of deployed functions in processes on this machine. */
export function startLiveSession(options: LiveSessionOptions): LiveSession {
  const { root, folder, functions, keys, token, offers, openAnswers } = options;
  const { recorder, terminal, onLogText } = options;
  const read = createReader();
  const secrets = new Map<string, Uint8Array>();
  const answers = new Map<string, Promise<Queue>>();
  const waiting = new Map<string, Offer>();
  const built = new Map<string, Built>();
  const instances = new Map<string, Instance>();
  const stopping = new AbortController();
  let bundles = 0;

  /** Builds a function, unless its sources are those of the last build. */
  function prepare(fn: FunctionFile): Promise<string> {
    const last = built.get(fn.name);
    if (last !== undefined && !isChanged(last.inputs)) return last.file;
    const inputs: Inputs = new Map();
    const outfile = join(folder, `${fn.name}-${++bundles}.mjs`);
    const file = bundleFunction({ name: fn.name, file: fn.file, root, outfile }, inputs)
      .then(({ code }) => {
        writeFileSync(outfile, code);
        if (last !== undefined) terminal.reloaded(fn);
        return outfile;
      });
    file.catch((error) => error instanceof BuildError && terminal.failed(fn, error));
    built.set(fn.name, { inputs, file });
    return file;
  }

  /** Returns the process of an instance; a new one after a change of the function. */
  function getProcess(
    { instance }: Label,
    file: string,
    environment: Offer["environment"],
  ): LocalInstance {
    const usedAtMs = performance.now();
    const present = instances.get(instance);
    const isFree = present?.process.isAlive && !present.process.isBusy;
    if (isFree && present.file === file) {
      present.usedAtMs = usedAtMs;
      return present.process;
    }
    for (const [id, each] of instances) {
      const isUnused = id === instance || usedAtMs - each.usedAtMs > UNUSED_MS;
      // a call that Lambda has ended continues here, for example at a breakpoint
      if (!isUnused || each.process.isBusy) continue;
      each.process.stop();
      instances.delete(id);
    }
    const process = startInstance({ root, file, environment });
    instances.set(instance, { file, process, usedAtMs });
    return process;
  }

  async function answer(label: Label, name: string, message: LocalMessage): Promise<void> {
    const { instance } = label;
    let opening = answers.get(instance);
    if (opening === undefined) {
      answers.set(instance, opening = openAnswers(instance, name));
      opening.catch(() => answers.delete(instance));
    }
    const queue = await opening;
    for (const body of seal(getSecret(label)!, label, message)) {
      await sendToNewQueue(queue, body);
    }
  }

  function getSecret({ key }: Label): Uint8Array | undefined {
    let secret = secrets.get(key);
    try {
      if (secret === undefined) secrets.set(key, secret = keys.derive(key, token));
    } catch {
      // not a key: the message is not from a forwarder
    }
    return secret;
  }

  async function execute(label: Label, fn: FunctionFile, offer: Offer): Promise<void> {
    const { functionName, event, context, remainingMs, environment } = offer;
    const call = recorder.begin({
      kind: fn.kind,
      functionName: fn.name,
      title: getTitle(fn, event),
    });
    const keepLine = (line: string) => {
      onLogText?.(`${line}\n`);
      if (line.startsWith("Debugger listening on ")) terminal.note(`${fn.name}: ${line}`);
      const fields = parseLine(line);
      if (fields !== undefined && !("_aws" in fields)) call.logs.push(fields as LogLine);
    };
    const timer = setInterval(() => {
      answer(label, functionName, { kind: "alive" }).catch(() => {});
    }, ALIVE_MS);
    let outcome: CallOutcome;
    try {
      const file = await prepare(fn);
      const process = getProcess(label, file, environment);
      outcome = await process.run({ event, context, remainingMs }, keepLine);
    } catch (error) {
      const { name, message } = error as Error;
      outcome = { kind: "error", name, message };
    } finally {
      clearInterval(timer);
    }
    recorder.end(call, describeOutcome(outcome));
    await answer(label, functionName, outcome);
  }

  async function take({ label, data }: Sealed): Promise<void> {
    const secret = getSecret(label);
    const message = secret && unseal<ForwarderMessage>(secret, { label, data });
    if (message === undefined) return;
    const { call } = label;
    if (message.kind === "offer") {
      const fn = functions.get(message.functionName);
      if (fn === undefined || waiting.has(call)) return;
      waiting.set(call, message);
      const [oldest] = waiting.keys();
      if (waiting.size > MAX_OFFERS) waiting.delete(oldest);
      // the build takes its time while the answer is on its way
      prepare(fn).catch(() => {});
      await answer(label, message.functionName, { kind: "ready" });
      return;
    }
    const offer = waiting.get(call);
    // a queue may deliver a message twice
    if (offer === undefined) return;
    waiting.delete(call);
    await execute(label, functions.get(offer.functionName)!, offer);
  }

  async function listen(): Promise<void> {
    let isLost = false;
    while (!stopping.signal.aborted) {
      try {
        const bodies = await offers.receive(20, stopping.signal);
        if (isLost) terminal.note("The queue of the stage answers again");
        isLost = false;
        for (const body of bodies) {
          const sealed = read(body);
          if (sealed !== undefined) take(sealed).catch(warn);
        }
      } catch (error) {
        if (isMissingQueue(error) || stopping.signal.aborted) return;
        if (!isLost) warn(error);
        isLost = true;
        await systemClock.sleep(PAUSE_MS);
      }
    }
  }

  function warn(error: unknown): void {
    const { name, message } = error as Error;
    if (!stopping.signal.aborted) terminal.warn(`${name}: ${message}`);
  }

  return {
    ended: listen(),
    stop(): void {
      stopping.abort();
      for (const { process } of instances.values()) process.stop();
    },
  };
}

/** Sends to a queue that may have been created a moment ago. */
async function sendToNewQueue(queue: Queue, body: string): Promise<void> {
  for (const dueMs = performance.now() + NEW_QUEUE_MS;;) {
    try {
      return await queue.send(body);
    } catch (error) {
      if (!isMissingQueue(error) || performance.now() > dueMs) throw error;
      await systemClock.sleep(100);
    }
  }
}

function getTitle({ kind }: FunctionFile, event: unknown): string {
  const { httpMethod, path } = (event ?? {}) as { httpMethod?: unknown; path?: unknown };
  return typeof httpMethod === "string" ? `${httpMethod} ${path}` : `${kind} event`;
}

function describeOutcome(outcome: CallOutcome): Parameters<Recorder["end"]>[1] {
  if (outcome.kind === "error") {
    return { isFailed: true, note: `${outcome.name}: ${outcome.message}`, output: undefined };
  }
  const { statusCode: status } = (outcome.value ?? {}) as { statusCode?: unknown };
  const failures = getFailures(outcome.value).length;
  return {
    ...typeof status === "number" && { status },
    isFailed: failures > 0 || Number(status) >= 500,
    note: failures > 0 ? `${failures} failed` : "done",
    output: undefined,
  };
}
