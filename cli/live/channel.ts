import type { SQSClient } from "@aws-sdk/client-sqs";
import { createCipheriv, createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";

/** The part of the library `@aws-sdk/client-sqs` that both ends use; Lambda's runtimes have it. */
export type SqsLibrary = Pick<
  typeof import("@aws-sdk/client-sqs"),
  "ReceiveMessageCommand" | "SendMessageCommand" | "SQSClient"
>;

/** A queue of texts. */
export interface Queue {
  send(body: string): Promise<void>;
  /** Waits for texts up to a number of seconds, 1 to 20. Each text is delivered once, as a rule. */
  receive(waitSeconds: number, signal?: AbortSignal): Promise<readonly string[]>;
}

/**
 * What the forwarder of a function sends. An offer starts nothing: only `go` does, so that a call that the
 * forwarder has given to the deployed code never runs on the developer's machine, too.
 */
export type ForwarderMessage =
  | {
    readonly kind: "offer";
    /** The function's name in AWS: `notes-dev-CreateNote`. */
    readonly functionName: string;
    readonly event: unknown;
    /** The context of the call, without its functions. */
    readonly context: Readonly<Record<string, unknown>>;
    /** Milliseconds until Lambda ends the call. */
    readonly remainingMs: number;
    /** The variables of the function, with the credentials of its role. */
    readonly environment: Readonly<Record<string, string>>;
  }
  | { readonly kind: "go" };

/** What the developer's machine answers. */
export type LocalMessage =
  /** It will run the call after `go`. */
  | { readonly kind: "ready" }
  /** The call is running. */
  | { readonly kind: "alive" }
  | CallOutcome;

/** The end of a call. */
export type CallOutcome =
  | { readonly kind: "result"; readonly value: unknown }
  | { readonly kind: "error" } & Pick<Error, "name" | "message" | "stack">;

/** The end of the developer's machine: what a forwarder must know about it. */
export interface LiveAddress {
  /** URL of the queue of offers. The answers to an instance are in the queue `<URL>-<instance>`. */
  readonly queueUrl: string;
  /** Public key of the session, base64. */
  readonly publicKey: string;
  /** Random text of the session, which only its forwarders know. */
  readonly token: string;
}

/** Where a message is from, and what it belongs to. Not encrypted. */
export interface Label {
  /** Id of the function's instance. */
  readonly instance: string;
  /** Public key of the instance, base64. */
  readonly key: string;
  /** Id of the call. */
  readonly call: string;
}

/** A message with all its parts. */
export interface Sealed {
  readonly label: Label;
  readonly data: Uint8Array;
}

/** The text of one message of a queue. */
interface Part extends Label {
  readonly message: string;
  readonly part: number;
  readonly parts: number;
  readonly data: string;
}

/** Characters of a part, which fits into a message of 256 KiB. */
const PART_LENGTH = 240_000;
const [IV_BYTES, TAG_BYTES] = [12, 16];

/** A pair of keys of one end. */
export interface KeyPair {
  /** Base64. */
  readonly publicKey: string;
  /** Derives the key of the messages with the other end. */
  derive(otherKey: string, token: string): Uint8Array;
}

/** Creates the keys of one end: who can read the queues cannot read the messages. */
export function createKeyPair(): KeyPair {
  const pair = createECDH("prime256v1");
  return {
    publicKey: pair.generateKeys("base64"),
    derive(otherKey, token): Uint8Array {
      const secret = pair.computeSecret(otherKey, "base64");
      return new Uint8Array(hkdfSync("sha256", secret, token, "trellis live", 32));
    },
  };
}

/**
 * Encrypts a message.
 *
 * @returns The texts to send, in any order.
 */
export function seal(
  key: Uint8Array,
  label: Label,
  message: ForwarderMessage | LocalMessage,
): string[] {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(toBytes(label));
  const text = gzipSync(JSON.stringify(message));
  const parts = [iv, cipher.update(text), cipher.final(), cipher.getAuthTag()];
  const data = Buffer.concat(parts).toString("base64");
  const count = Math.ceil(data.length / PART_LENGTH);
  const id = randomBytes(8).toString("hex");
  return Array.from({ length: count }, (_, part) =>
    JSON.stringify(
      {
        ...label,
        message: id,
        part,
        parts: count,
        data: data.slice(part * PART_LENGTH, (part + 1) * PART_LENGTH),
      } satisfies Part,
    ));
}

/**
 * Decrypts a message.
 *
 * @returns The message; `undefined` if the other end has not written it.
 */
export function unseal<Message>(key: Uint8Array, { label, data }: Sealed): Message | undefined {
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, data.subarray(0, IV_BYTES))
      .setAAD(toBytes(label))
      .setAuthTag(data.subarray(-TAG_BYTES));
    const text = decipher.update(data.subarray(IV_BYTES, -TAG_BYTES));
    return JSON.parse(gunzipSync(Buffer.concat([text, decipher.final()])).toString());
  } catch {
    return undefined;
  }
}

function toBytes({ instance, key, call }: Label): Uint8Array {
  return Buffer.from(`${instance} ${key} ${call}`);
}

/** Messages of which parts are kept while others are missing. */
const MAX_INCOMPLETE = 100;

/**
 * Creates a function that puts the parts of messages together.
 *
 * @returns The message with its last part; `undefined` before, and for a text in another format.
 */
export function createReader(): (body: string) => Sealed | undefined {
  const incomplete = new Map<string, Map<number, string>>();
  return function read(body): Sealed | undefined {
    let text: Part;
    try {
      text = JSON.parse(body);
    } catch {
      return undefined;
    }
    const { instance, key, call, message, part, parts, data } = text ?? {};
    const labels = [instance, key, call, message, data];
    if (labels.some((each) => typeof each !== "string")) return undefined;
    const found = incomplete.get(message) ?? new Map<number, string>();
    found.set(part, data);
    incomplete.set(message, found);
    const [oldest] = incomplete.keys();
    if (incomplete.size > MAX_INCOMPLETE) incomplete.delete(oldest);
    if (found.size < parts) return undefined;
    incomplete.delete(message);
    const all = Array.from({ length: parts }, (_, at) => found.get(at)).join("");
    return { label: { instance, key, call }, data: Buffer.from(all, "base64") };
  };
}

/** Opens a queue of Amazon SQS. Messages are not deleted: they are hidden until their queue drops them. */
export function openQueue(
  { ReceiveMessageCommand, SendMessageCommand }: SqsLibrary,
  client: SQSClient,
  QueueUrl: string,
): Queue {
  return {
    async send(MessageBody): Promise<void> {
      await client.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    },
    async receive(WaitTimeSeconds, abortSignal): Promise<readonly string[]> {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds }),
        { abortSignal },
      );
      return Messages.flatMap(({ Body }) => Body ?? []);
    },
  };
}

/** Returns true if a queue does not exist: not yet, or no longer. */
export function isMissingQueue(error: unknown): boolean {
  return /QueueDoesNotExist|NonExistentQueue/.test((error as Error)?.name ?? "");
}
