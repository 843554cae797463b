import { encodeBase64 } from "../core/http/base64.ts";
import type { ResponseWriter } from "../core/http/streaming.ts";
import type { StreamChunk, StreamSource } from "./stream_response.ts";

/** The range of a response without `sizeBytes`. */
const EVERYTHING = { first: 0, last: Infinity };

/**
 * Writes the parts of a body until the source ends or the signal is aborted. Waits while the client reads slower than the
 * source produces.
 *
 * @param writer Writes the body.
 * @param source The parts.
 * @param signal Aborted when the client left or the time is up.
 * @throws The error of the source.
 */
export async function pump(
  writer: ResponseWriter,
  source: StreamSource,
  signal: AbortSignal,
): Promise<void> {
  const iterator = openSource(source, signal)[Symbol.asyncIterator]();
  const wait = createWait(signal);
  let drained: (() => void) | undefined;
  writer.on("drain", () => drained?.());
  while (!signal.aborted) {
    const result = await wait(iterator.next());
    if (result === undefined || signal.aborted) break;
    if (result.done) return;
    const isReady = new Promise<void>((resolve) => drained = resolve);
    if (writer.write(checkChunk(result.value)) === false) await wait(isReady);
  }
  // not awaited: a source that waits for something else would keep the invocation open
  iterator.return?.()?.catch(() => {});
}

/**
 * Creates a function that waits for promises, one after the other, until a signal is aborted. `Promise.race` with one
 * promise of the abort would keep every result in memory until the end of the stream.
 */
function createWait(signal: AbortSignal): <T>(promise: Promise<T>) => Promise<T | undefined> {
  let stop: (() => void) | undefined;
  signal.addEventListener("abort", () => stop?.(), { once: true });
  return function wait<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      stop = () => resolve(undefined);
      promise.then(resolve, reject);
      if (signal.aborted) stop();
    });
  };
}

/**
 * Collects a whole body, for clients that cannot receive it in parts.
 *
 * @param source The parts.
 * @param signal Aborted when the time is up.
 * @returns The body as text, or as base64 if a part consists of bytes.
 */
export async function collect(
  source: StreamSource,
  signal: AbortSignal,
): Promise<{ body: string; isBase64Encoded: boolean }> {
  const chunks: StreamChunk[] = [];
  const writer: ResponseWriter = { write: (chunk) => void chunks.push(chunk), end() {}, on() {} };
  await pump(writer, source, signal);
  if (chunks.every((chunk) => typeof chunk === "string")) {
    return { body: chunks.join(""), isBase64Encoded: false };
  }
  const whole = await new Blob(chunks as BlobPart[]).arrayBuffer();
  return { body: encodeBase64(new Uint8Array(whole)), isBase64Encoded: true };
}

function openSource(source: StreamSource, signal: AbortSignal): AsyncIterable<StreamChunk> {
  const opened = typeof source === "function" ? source(signal, EVERYTHING) : source;
  if (typeof (opened as AsyncIterable<StreamChunk> | null)?.[Symbol.asyncIterator] === "function") {
    return opened as AsyncIterable<StreamChunk>;
  }
  throw new TypeError(
    "The source of a streamed response must be an async iterable or a ReadableStream, such as " +
      "the result of an async function*",
  );
}

function checkChunk(chunk: unknown): StreamChunk {
  if (typeof chunk === "string" || chunk instanceof Uint8Array) return chunk;
  throw new TypeError(
    `A part of a streamed response must be a string or bytes, got ${typeof chunk}`,
  );
}
