import { checkRange } from "../core/function_options.ts";
import { getHeader } from "../core/http/api_event.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import {
  createStreamedResponse,
  type StreamedResponse,
  type StreamOptions,
} from "./stream_response.ts";

/** One event of a `text/event-stream` (HTML Standard, section 9.2). */
export interface ServerSentEvent {
  /** A string, or a value that is sent as JSON. */
  data: unknown;
  /**
   * The type, without line breaks.
   * @default "message"
   */
  event?: string;
  /** The id, without line breaks. A client that connects again sends the last one. */
  id?: string;
  /** Milliseconds after which a client connects again when the connection is lost. */
  retryMs?: number;
}

/** The events of a response, in their order. */
export type EventSourceInput =
  | AsyncIterable<ServerSentEvent>
  | ((signal: AbortSignal) => AsyncIterable<ServerSentEvent>);

/** Options of {@link streamEvents}. */
export interface EventStreamOptions extends Omit<StreamOptions, "statusCode"> {
  /**
   * Milliseconds without an event after which a comment is sent. Gateways close idle connections: a REST API after 5
   * minutes, an edge-optimized one after 30 seconds. 0 sends none.
   * @default 15000
   */
  keepAliveMs?: number;
}

/**
 * Creates a response of server-sent events. The handler needs the option `streaming: responseStreaming()`. If the source
 * fails, or the time is up, the last event has the type `error` and the body of the error response as its data; then the
 * stream ends. The page should close its `EventSource` then, because browsers connect again.
 *
 * @param source The events: an async iterable, or a function that gets the signal and returns one. The signal is
 * aborted when the time is up, or when the client leaves, which Lambda does not tell.
 * @param options Headers, cookies and the keep-alive interval.
 * @returns The response.
 * @throws {ConfigurationError} If `keepAliveMs` is out of range.
 *
 * @example
 * ```ts
 * import { responseStreaming, streamEvents } from "@trellis/fn/streaming";
 * import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * const handler = defineApiHandler({ streaming: responseStreaming(), logging: { level: "SILENT" } })(
 *   function watchNotes() {
 *     return streamEvents(async function* () {
 *       yield { event: "created", id: "1", data: { title: "milk" } };
 *     });
 *   },
 * );
 *
 * const { body } = await handler(createRestApiEvent(), createLambdaContext());
 * console.log(body.split("\n")[2]); // data: {"title":"milk"}
 * ```
 */
export function streamEvents(
  source: EventSourceInput,
  options: EventStreamOptions = {},
): StreamedResponse {
  const { keepAliveMs = 15_000, headers, ...others } = options;
  checkRange("keepAliveMs", keepAliveMs, [0, 300_000, "milliseconds"]);
  async function* renderAll(signal: AbortSignal): AsyncGenerator<string> {
    const events = typeof source === "function" ? source(signal) : source;
    for await (const event of events) yield renderEvent(event);
  }
  return createStreamedResponse(
    (signal) => withKeepAlive(renderAll(signal), keepAliveMs, ":\n\n"),
    { ...others, headers: { "Cache-Control": "no-store", "X-Accel-Buffering": "no", ...headers } },
    "text/event-stream; charset=utf-8",
    (body) => renderEvent({ event: "error", data: body }),
  );
}

/**
 * Returns the id of the last event that a client got before it connected again.
 *
 * @param event The event of the request.
 * @returns The header `Last-Event-ID`, or `undefined`.
 */
export function getLastEventId(event: ApiEvent): string | undefined {
  return getHeader(event, "Last-Event-ID") || undefined;
}

/**
 * Renders an event.
 *
 * @throws {TypeError} If the type or the id has line breaks, or the data cannot be serialised.
 */
function renderEvent({ data, event, id, retryMs }: ServerSentEvent): string {
  let text = "";
  if (event !== undefined) text += `event: ${checkLine("event", event)}\n`;
  if (id !== undefined) text += `id: ${checkLine("id", id)}\n`;
  if (retryMs !== undefined) text += `retry: ${Math.max(0, Math.trunc(retryMs))}\n`;
  const value = typeof data === "string" ? data : JSON.stringify(data);
  if (value === undefined) throw new TypeError("The data of an event cannot be serialised as JSON");
  for (const line of value.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  return `${text}\n`;
}

function checkLine(name: string, value: string): string {
  // deno-lint-ignore no-control-regex
  if (typeof value === "string" && !/[\r\n\u0000]/.test(value)) return value;
  throw new TypeError(`The ${name} of a server-sent event must be a string without line breaks`);
}

/**
 * Repeats a text whenever a source is idle.
 *
 * @param source The source.
 * @param idleMs Milliseconds without a part after which the text is sent; 0 for never.
 * @param text The text.
 */
export async function* withKeepAlive(
  source: AsyncIterable<string>,
  idleMs: number,
  text: string,
): AsyncGenerator<string> {
  if (idleMs === 0) return yield* source;
  const iterator = source[Symbol.asyncIterator]();
  let isDone = false;
  try {
    while (!isDone) {
      const next = iterator.next();
      let result = await waitAtMost(next, idleMs);
      while (result === undefined) {
        yield text;
        result = await waitAtMost(next, idleMs);
      }
      isDone = result.done === true;
      if (!isDone) yield result.value;
    }
  } finally {
    // not awaited: a source that waits would keep the response open
    if (!isDone) iterator.return?.()?.catch(() => {});
  }
}

/** Waits for a promise. Returns `undefined` if it takes longer. */
function waitAtMost<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout>;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
