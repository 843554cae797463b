/**
 * Responses that are sent in parts, and server-sent events.
 *
 * @example
 * ```ts
 * import { responseStreaming, streamEvents } from "@trellis/fn/streaming";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * const handler = defineApiHandler({ streaming: responseStreaming() })(function countDown() {
 *   return streamEvents(async function* (signal) {
 *     for (let n = 3; n > 0 && !signal.aborted; n--) yield { data: n };
 *   });
 * });
 * console.log(typeof handler); // function
 * ```
 *
 * @module
 */
export type { ByteRange, RangedResult } from "../core/http/byte_ranges.ts";
export type { ResponseStreaming } from "../core/http/streaming.ts";
export {
  type CsvColumns,
  csvLines,
  type CsvOptions,
  type CsvResponseOptions,
  streamCsv,
} from "./csv.ts";
export { responseStreaming } from "./response_streaming.ts";
export {
  type EventSourceInput,
  type EventStreamOptions,
  getLastEventId,
  type ServerSentEvent,
  streamEvents,
} from "./server_sent_events.ts";
export {
  type StreamChunk,
  StreamedResponse,
  type StreamOptions,
  streamResponse,
  type StreamSource,
} from "./stream_response.ts";
