// deno-lint-ignore-file no-console
/**
 * The code that replaces a function's while `trellis dev --stage` runs. It is built into the function's
 * package, so it imports only Node's modules and the channel.
 *
 * @module
 */
import { randomBytes, randomUUID } from "node:crypto";
import process from "node:process";
import {
  createKeyPair,
  createReader,
  type ForwarderMessage,
  isMissingQueue,
  type Label,
  type LiveAddress,
  type LocalMessage,
  openQueue,
  type Queue,
  seal,
  type SqsLibrary,
  unseal,
} from "./channel.ts";

/** A handler of Lambda. */
type Handler = (event: unknown, context: ForwardedContext) => unknown;

/** The part of Lambda's context that the forwarder uses. */
interface ForwardedContext {
  readonly functionName: string;
  getRemainingTimeInMillis(): number;
}

/** The queues of a forwarder. */
export interface ForwarderQueues {
  /** Takes offers. */
  readonly offers: Queue;
  /** Opens the queue with the answers to an instance. */
  openAnswers(instance: string): Queue;
}

/** Time for an answer to an offer. A new instance needs a queue first, which takes Amazon SQS a second. */
const READY_MS = 4_000;
/** Time without an answer after which the process on the developer's machine has ended. */
const SILENCE_MS = 15_000;
/** Time without offers after an unanswered one, so that only the first request is slow. */
const REST_MS = 30_000;
const PAUSE_MS = 150;

/** Returns true if a queue is not there yet: without its policy, a role may not even know this. */
function isAbsent(error: unknown): boolean {
  return isMissingQueue(error) || (error as Error).name.startsWith("AccessDenied");
}

/** Variables of the machine that runs the function, which mean nothing on another one. */
const OF_MACHINE =
  /^(?:PATH|HOME|PWD|SHLVL|TMPDIR|LANG|TZ|LD_LIBRARY_PATH|NODE_PATH|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|_HANDLER|LAMBDA_.*|AWS_LAMBDA_RUNTIME_API|_?AWS_XRAY_.*)$/;

/** Opens the queues with the clients of the Lambda runtime. */
export function openForwarderQueues(
  library: SqsLibrary,
  { queueUrl }: LiveAddress,
): ForwarderQueues {
  const client = new library.SQSClient({ maxAttempts: 2 });
  return {
    offers: openQueue(library, client, queueUrl),
    openAnswers: (instance) => openQueue(library, client, `${queueUrl}-${instance}`),
  };
}

/**
 * Creates the handler that lets the developer's machine answer, or else calls the deployed code. A call
 * runs at one of both: the deployed code is not called after the machine got `go`.
 *
 * @param loadDeployed Loads the function's deployed code.
 * @returns The handler. It throws what the function throws, and if the machine stops answering.
 */
export function createForwarder(
  { publicKey, token }: LiveAddress,
  { offers, openAnswers }: ForwarderQueues,
  loadDeployed: () => Promise<{ readonly handler: Handler }>,
): Handler {
  const pair = createKeyPair();
  const instance = randomBytes(4).toString("hex");
  const key = pair.derive(publicKey, token);
  const answers = openAnswers(instance);
  const read = createReader();
  let restsUntilMs = 0;

  async function send(label: Label, message: ForwarderMessage): Promise<void> {
    await Promise.all(seal(key, label, message).map((body) => offers.send(body)));
  }

  /** Receives the answers to a call. Returns none after `limitMs`. */
  async function receive(label: Label, limitMs: number): Promise<LocalMessage[]> {
    const dueMs = Date.now() + limitMs;
    for (let leftMs = limitMs; leftMs > 0; leftMs = dueMs - Date.now()) {
      const bodies = await answers.receive(Math.min(5, Math.ceil(leftMs / 1000)))
        .catch(async (error) => {
          if (!isAbsent(error) || dueMs - Date.now() < PAUSE_MS) throw error;
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
          return [];
        });
      const messages = bodies.flatMap((body) => {
        const sealed = read(body);
        // answers to a call that Lambda has ended
        if (sealed === undefined || sealed.label.call !== label.call) return [];
        return unseal<LocalMessage>(key, sealed) ?? [];
      });
      if (messages.length > 0) return messages;
    }
    return [];
  }

  async function isReady(
    label: Label,
    event: unknown,
    context: ForwardedContext,
  ): Promise<boolean> {
    try {
      const remainingMs = context.getRemainingTimeInMillis();
      const { functionName } = context;
      const environment = Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !OF_MACHINE.test(name)),
      ) as Record<string, string>;
      const facts = JSON.parse(JSON.stringify(context));
      await send(label, {
        kind: "offer",
        functionName,
        event,
        context: facts,
        remainingMs,
        environment,
      });
      const found = await receive(label, Math.min(READY_MS, remainingMs / 2));
      return found.some(({ kind }) => kind === "ready");
    } catch (error) {
      // without its queue the session has ended
      if (!isMissingQueue(error)) {
        const { name, message } = error as Error;
        console.warn(`trellis dev cannot be asked, the deployed code answers: ${name}: ${message}`);
      }
      return false;
    }
  }

  async function run(label: Label): Promise<unknown> {
    await send(label, { kind: "go" });
    for (;;) {
      const messages = await receive(label, SILENCE_MS);
      if (messages.length === 0) {
        throw new Error("trellis dev has ended while it ran this call");
      }
      for (const message of messages) {
        if (message.kind === "result") return message.value;
        if (message.kind === "error") throw Object.assign(new Error(message.message), message);
      }
    }
  }

  return async function forward(event, context): Promise<unknown> {
    if (Date.now() >= restsUntilMs) {
      const label = { instance, key: pair.publicKey, call: randomUUID() };
      if (await isReady(label, event, context)) return await run(label);
      restsUntilMs = Date.now() + REST_MS;
    }
    const { handler } = await loadDeployed();
    return await handler(event, context);
  };
}
