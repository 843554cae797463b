import type { ByteRange, RangedResult } from "../core/http/byte_ranges.ts";
import type { ProxyResult } from "../core/http/lambda.ts";
import type { ResponseOptions } from "../core/http/response.ts";
import { ConfigurationError } from "../errors/http_errors.ts";

/** A part of a body: text in UTF-8, or bytes. */
export type StreamChunk = string | Uint8Array;

/** The parts of a body, in their order. A `ReadableStream` is one too. */
export type StreamSource =
  | AsyncIterable<StreamChunk>
  | ReadableStream<StreamChunk>
  /**
   * Called when the head was sent. `signal` is aborted when the time is up, or when the client leaves, which Lambda does
   * not tell. `range` has the bytes to send, if the response has the option `sizeBytes`.
   */
  | ((
    signal: AbortSignal,
    range: ByteRange,
  ) => AsyncIterable<StreamChunk> | ReadableStream<StreamChunk>);

/** Options of {@link streamResponse}. */
export interface StreamOptions extends ResponseOptions {
  /**
   * HTTP status, 200 to 599.
   * @default 200
   */
  statusCode?: number;
  /**
   * The length of the whole body, for the handler's option `ranges`. The source is then a function that sends exactly the
   * bytes of its second argument; a source that sends more or fewer is cut off with an error.
   * @default undefined, unknown
   */
  sizeBytes?: number;
}

/** A response whose body is sent in parts. */
export class StreamedResponse implements RangedResult {
  /** HTTP status. */
  readonly statusCode: number;
  /** Headers with one value. */
  readonly headers: Record<string, string | number | boolean>;
  /** Headers with several values. */
  readonly multiValueHeaders?: Record<string, (string | number | boolean)[]>;
  /** Values of `Set-Cookie`. */
  readonly cookies?: string[];
  /** Throws a `ConfigurationError`, because the body is sent in parts. */
  declare readonly body: string;
  /** The parts of the body. */
  readonly source!: StreamSource;
  /** Renders an error after the first byte as the last part of the body. */
  readonly renderError?: (body: string) => string;
  /** The length of the whole body, if it is known. */
  declare readonly sizeBytes?: number;
  /** Creates the response with some of the bytes. */
  readonly withRange!: RangedResult["withRange"];

  /**
   * @param source The parts of the body.
   * @param options Status, headers and cookies.
   * @param renderError Renders an error after the first byte.
   * @param range The bytes to send, if `sizeBytes` is known.
   */
  constructor(
    source: StreamSource,
    options: StreamOptions,
    renderError?: (body: string) => string,
    range?: ByteRange,
  ) {
    const { statusCode = 200, headers = {}, multiValueHeaders, cookies, sizeBytes } = options;
    this.statusCode = statusCode;
    this.headers = headers;
    if (multiValueHeaders !== undefined) this.multiValueHeaders = multiValueHeaders;
    if (cookies !== undefined) this.cookies = cookies;
    const sent = sizeBytes === undefined
      ? source
      : openRange(source, range ?? { first: 0, last: sizeBytes - 1 });
    Object.defineProperties(this, {
      source: { value: sent },
      renderError: { value: renderError },
      sizeBytes: { value: sizeBytes },
      withRange: {
        value: (statusCode: number, headers: ProxyResult["headers"], range: ByteRange) =>
          new StreamedResponse(source, { ...options, statusCode, headers }, renderError, range),
      },
      // enumerable: a handler without the option that copies the response must fail too
      body: { get: refuseBody, enumerable: true },
    });
  }
}

/** Opens the source of a range, and fails if it does not send its bytes: a client would join wrong parts. */
function openRange(source: StreamSource, range: ByteRange): StreamSource {
  if (typeof source !== "function") {
    throw new TypeError("sizeBytes goes with a source that is a function of (signal, range)");
  }
  return async function* sendRange(signal) {
    const expected = range.last - range.first + 1;
    let size = 0;
    for await (const part of source(signal, range)) {
      const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
      size += bytes.length;
      if (size > expected) break;
      yield bytes;
    }
    if (size === expected || signal.aborted) return;
    const sent = size > expected ? "more" : `${size}`;
    throw new RangeError(
      `A source must send the ${expected} bytes that its second argument names, but sent ${sent}`,
    );
  };
}

function refuseBody(): never {
  throw new ConfigurationError(
    "The handler streams its response: add streaming: responseStreaming() to its options",
  );
}

/**
 * Creates a response whose body is sent in parts while it is produced. The handler needs the option
 * `streaming: responseStreaming()`. The source starts after authentication and validation, when status and headers
 * were sent. An error of the source cuts the response off, so that the client sees an incomplete body; it is logged
 * and counted as every other error.
 *
 * @param source The parts of the body: an async iterable, a `ReadableStream`, or a function that gets the signal and
 * returns one. Text is sent in UTF-8.
 * @param options Status, headers and cookies. Without a `Content-Type` it is `application/octet-stream`.
 * @returns The response.
 * @throws {RangeError} If the status is not from 200 to 599, or `sizeBytes` is no whole number.
 *
 * @example
 * ```ts
 * import { responseStreaming, streamResponse } from "@trellis/fn/streaming";
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * const handler = defineApiHandler({ streaming: responseStreaming(), logging: { level: "SILENT" } })(
 *   function exportNotes() {
 *     return streamResponse(async function* (signal) {
 *       for (let id = 1; id <= 3 && !signal.aborted; id++) yield `${id}\n`;
 *     }, { headers: { "Content-Type": "text/csv" } });
 *   },
 * );
 *
 * // called without a stream, as in tests, the body is collected
 * const { body } = await handler(createRestApiEvent(), createLambdaContext());
 * console.log(body.length); // 6
 * ```
 */
export function streamResponse(
  source: StreamSource,
  options: StreamOptions = {},
): StreamedResponse {
  return createStreamedResponse(source, options, "application/octet-stream");
}

/**
 * Creates a response with a default media type.
 *
 * @param source The parts of the body.
 * @param options Status, headers and cookies.
 * @param contentType The media type if the headers have none.
 * @param renderError Renders an error after the first byte as the last part of the body.
 * @throws {RangeError} If the status is not from 200 to 599.
 */
export function createStreamedResponse(
  source: StreamSource,
  options: StreamOptions,
  contentType: string,
  renderError?: (body: string) => string,
): StreamedResponse {
  const { statusCode = 200, headers = {}, sizeBytes } = options;
  if (!Number.isInteger(statusCode) || statusCode < 200 || statusCode > 599) {
    throw new RangeError(`statusCode must be an integer from 200 to 599, got ${statusCode}`);
  }
  if (sizeBytes !== undefined && (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0)) {
    throw new RangeError(`sizeBytes must be a whole number from 0, got ${sizeBytes}`);
  }
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  const all = hasType ? headers : { "Content-Type": contentType, ...headers };
  return new StreamedResponse(source, { ...options, headers: all }, renderError);
}
