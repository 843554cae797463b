import type { ProxyResult } from "../core/http/lambda.ts";
import type { ResponseOptions } from "../core/http/response.ts";
import { ConfigurationError } from "../errors/http_errors.ts";

/** A part of a body: text in UTF-8, or bytes. */
export type StreamChunk = string | Uint8Array;

/** The parts of a body, in their order. A `ReadableStream` is one too. */
export type StreamSource =
  | AsyncIterable<StreamChunk>
  | ReadableStream<StreamChunk>
  /** Called when the head was sent. `signal` is aborted when the client leaves or the time is up. */
  | ((signal: AbortSignal) => AsyncIterable<StreamChunk> | ReadableStream<StreamChunk>);

/** Options of {@link streamResponse}. */
export interface StreamOptions extends ResponseOptions {
  /**
   * HTTP status, 200 to 599.
   * @default 200
   */
  statusCode?: number;
}

/** A response whose body is sent in parts. */
export class StreamedResponse implements ProxyResult {
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

  /**
   * @param source The parts of the body.
   * @param options Status, headers and cookies.
   * @param renderError Renders an error after the first byte.
   */
  constructor(
    source: StreamSource,
    { statusCode = 200, headers = {}, multiValueHeaders, cookies }: StreamOptions,
    renderError?: (body: string) => string,
  ) {
    this.statusCode = statusCode;
    this.headers = headers;
    if (multiValueHeaders !== undefined) this.multiValueHeaders = multiValueHeaders;
    if (cookies !== undefined) this.cookies = cookies;
    Object.defineProperties(this, {
      source: { value: source },
      renderError: { value: renderError },
      // enumerable: a handler without the option that copies the response must fail too
      body: { get: refuseBody, enumerable: true },
    });
  }
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
 * @throws {RangeError} If the status is not from 200 to 599.
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
  const { statusCode = 200, headers = {} } = options;
  if (!Number.isInteger(statusCode) || statusCode < 200 || statusCode > 599) {
    throw new RangeError(`statusCode must be an integer from 200 to 599, got ${statusCode}`);
  }
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === "content-type");
  const all = hasType ? headers : { "Content-Type": contentType, ...headers };
  return new StreamedResponse(source, { ...options, headers: all }, renderError);
}
