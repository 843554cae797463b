import type { ApiEvent, LambdaContext, ProxyResult } from "./lambda.ts";

/** Writes the body of a response. A `Writable` of Node has these members. */
export interface ResponseWriter {
  /** Writes a part. Returns `false` if the caller should wait for the event `drain`. */
  write(chunk: string | Uint8Array): boolean | void;
  /** Ends the body. */
  end(): unknown;
  /** Listens for `drain`, `close` and `error`. */
  on(event: string, listener: (...values: never[]) => void): unknown;
}

/** Sends one response. */
export interface ResponseSink {
  /**
   * Sends status and headers.
   *
   * @param head The response without its body, in the form that the event's source expects.
   * @returns Writes the body.
   */
  open(head: ProxyResult): ResponseWriter;
}

/** Handles a request and sends the response in parts. */
export type StreamingHandler = (
  event: ApiEvent,
  sink: ResponseSink,
  context: LambdaContext,
) => Promise<ProxyResult>;

/** A handler inside of its invocation, whose ids are in `metadata`. */
export type DeliveredHandler<M> = (
  event: ApiEvent,
  context: LambdaContext,
  metadata: M,
) => ProxyResult | Promise<ProxyResult>;

/** The steps that `streaming` adds to a handler. */
export interface StreamDelivery {
  /** Takes the stream out of the handler's result. */
  capture<P extends { readonly event: ApiEvent }>(
    handler: (params: P) => ProxyResult | Promise<ProxyResult>,
  ): (params: P) => ProxyResult | Promise<ProxyResult>;
  /** Sends the stream when the head of the response is known, as a part of the invocation. */
  deliver<M>(handler: DeliveredHandler<M>): DeliveredHandler<M>;
  /** Creates the function to export. */
  expose(
    lambda: (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>,
  ): (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>;
}

/** The value of the option `streaming`: the result of `responseStreaming()`. */
export interface ResponseStreaming {
  /** Creates the steps of one handler, for `defineApiHandler`: a {@link StreamDelivery}. */
  createDelivery(): object;
}

/** Registered globally, because the functions of a project are bundled with their own copy. */
const STREAMING = Symbol.for("@trellis/fn.streaming");

/**
 * Attaches the function that streams the responses of a handler, for gateways of local servers.
 *
 * @param handler The Lambda handler.
 * @param stream Handles a request and streams the response.
 * @returns The handler.
 */
export function withStreaming<H extends object>(handler: H, stream: StreamingHandler): H {
  return Object.defineProperty(handler, STREAMING, { value: stream });
}

/**
 * Returns the function that streams the responses of a handler.
 *
 * @param handler The Lambda handler.
 * @returns The function that {@link withStreaming} attached, if there is one.
 */
export function getStreamingHandler(handler: object): StreamingHandler | undefined {
  return (handler as { [STREAMING]?: StreamingHandler })[STREAMING];
}
