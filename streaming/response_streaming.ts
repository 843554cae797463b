import { getMethod } from "../core/http/api_event.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import {
  type ResponseSink,
  type ResponseStreaming,
  type ResponseWriter,
  type StreamDelivery,
  type StreamingHandler,
  withStreaming,
} from "../core/http/streaming.ts";
import { isWithoutBody } from "../core/http/proxy_result.ts";
import { decodeBase64 } from "../core/http/base64.ts";
import { checkResponseSize } from "../core/response_limit.ts";
import { currentInvocation } from "../observability/invocation_context.ts";
import { logInfo } from "../observability/logger.ts";
import { collect, pump } from "./pump.ts";
import { StreamedResponse } from "./stream_response.ts";

/** The delivery of one response. */
interface Delivery {
  readonly sink?: ResponseSink;
  /** What the handler returned, if it streams. */
  response?: StreamedResponse;
  /** Set when status and headers were sent. */
  writer?: ResponseWriter;
  /** True if the body was written completely, or the client left. */
  isDone?: boolean;
}

/**
 * Lets a handler stream its responses: it may return the result of `streamResponse` or `streamEvents`. All other
 * responses, errors too, are sent as usual. Behind REST APIs and function URLs the body is sent in parts; where the
 * caller cannot receive it in parts (HTTP APIs, load balancers, tests) the whole body is collected first.
 *
 * @returns The value of the option `streaming`.
 *
 * @example
 * ```ts
 * import { responseStreaming, streamResponse } from "@trellis/fn/streaming";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * const handler = defineApiHandler({ streaming: responseStreaming(), timeout: 300 })(
 *   function exportAll() {
 *     return streamResponse(async function* () {
 *       yield "first part";
 *     });
 *   },
 * );
 * console.log(typeof handler); // function
 * ```
 */
export function responseStreaming(): ResponseStreaming {
  return { createDelivery };
}

function createDelivery(): StreamDelivery {
  const deliveries = new WeakMap<ApiEvent, Delivery>();

  return {
    capture(handler) {
      return async (params) => {
        const result = await handler(params);
        if (!(result instanceof StreamedResponse)) return result;
        const { statusCode, headers, multiValueHeaders, cookies } = result;
        if (getMethod(params.event) !== "HEAD" && !isWithoutBody(statusCode)) {
          const delivery = deliveries.get(params.event) ?? {};
          delivery.response = result;
          deliveries.set(params.event, delivery);
        }
        return { statusCode, headers, multiValueHeaders, cookies, body: "" };
      };
    },

    deliver(handler) {
      return async (event, context, metadata) => {
        const head = await handler(event, context, metadata);
        const delivery = deliveries.get(event);
        const result = delivery?.response === undefined
          ? head
          : await write(delivery, delivery.response, head);
        return delivery?.sink === undefined ? checkResponseSize(event, result) : result;
      };
    },

    expose(lambda) {
      const stream: StreamingHandler = (event, sink, context) => {
        // a copy, because a test may send the same event twice at once
        const own = { ...event };
        const delivery: Delivery = { sink };
        deliveries.set(own, delivery);
        return finish(delivery, lambda(own, context));
      };
      const runtime = getLambdaRuntime();
      async function handle(
        event: ApiEvent,
        second: unknown,
        third?: unknown,
      ): Promise<ProxyResult | undefined> {
        if (runtime === undefined || third === undefined) {
          return await lambda({ ...event }, second as LambdaContext);
        }
        const sink = createLambdaSink(runtime, second as ResponseWriter);
        await stream(event, sink, third as LambdaContext);
        // the runtime logs a warning if a handler that streams returns something
        return undefined;
      }
      const exported = runtime?.streamifyResponse(handle) ?? handle;
      return withStreaming(exported as typeof handle as typeof lambda, stream);
    },
  };
}

/** Sends the stream of a handler within its invocation, so that the log line and the metrics include it. */
async function write(
  delivery: Delivery,
  { source }: StreamedResponse,
  head: ProxyResult,
): Promise<ProxyResult> {
  const controller = new AbortController();
  let hasLeft = false;
  function leave(): void {
    hasLeft = true;
    controller.abort();
  }
  const forget = currentInvocation()?.onDeadline(() => controller.abort());
  try {
    if (delivery.sink === undefined) {
      return { ...head, ...await collect(source, controller.signal) };
    }
    const writer = delivery.writer = delivery.sink.open(head);
    writer.on("close", leave);
    writer.on("error", leave);
    await pump(writer, source, controller.signal);
    if (hasLeft) logInfo("the client left before the response was complete");
    delivery.isDone = hasLeft || !controller.signal.aborted;
    return head;
  } finally {
    forget?.();
    controller.abort();
  }
}

/** Ends the response when the invocation has ended. */
async function finish(delivery: Delivery, invocation: Promise<ProxyResult>): Promise<ProxyResult> {
  const result = await invocation;
  const { sink, writer, response, isDone } = delivery;
  if (writer === undefined) {
    const body = result.isBase64Encoded ? decodeBase64(result.body) : result.body;
    const whole = sink!.open(result);
    if (body.length > 0) whole.write(body);
    whole.end();
  } else if (isDone) {
    writer.end();
  } else if (response?.renderError !== undefined) {
    writer.write(response.renderError(result.body));
    writer.end();
  } else {
    // the runtime cuts the response off; the error itself was logged and stays inside
    throw new Error("The response was cut off after an error, which is in the log");
  }
  return result;
}

/** A handler that gets the response stream of Lambda's runtime. */
type RuntimeHandler = (
  event: ApiEvent,
  responseStream: ResponseWriter,
  context: LambdaContext,
) => Promise<unknown>;

/**
 * The global object of Lambda's Node.js runtime (Lambda developer guide, "Response streaming for Lambda functions",
 * read 2026-11-22).
 */
interface LambdaRuntime {
  streamifyResponse(handler: RuntimeHandler): RuntimeHandler;
  readonly HttpResponseStream: {
    from(stream: ResponseWriter, metadata: Record<string, unknown>): ResponseWriter;
  };
}

/** Returns the streaming functions of the runtime; `undefined` outside of Lambda. */
function getLambdaRuntime(): LambdaRuntime | undefined {
  const { awslambda } = globalThis as { awslambda?: unknown };
  const runtime = awslambda as Partial<LambdaRuntime> | undefined;
  return typeof runtime?.streamifyResponse === "function" ? runtime as LambdaRuntime : undefined;
}

/**
 * Creates the sink of an invocation on Lambda. Status and headers are sent before the body as JSON and eight zero bytes,
 * which function URLs and REST APIs expect (API Gateway developer guide, "Set up a Lambda proxy integration with payload
 * response streaming").
 *
 * @param runtime The functions of the runtime.
 * @param stream The response stream of the invocation.
 */
function createLambdaSink(runtime: LambdaRuntime, stream: ResponseWriter): ResponseSink {
  return {
    open({ statusCode, headers = {}, multiValueHeaders, cookies }: ProxyResult): ResponseWriter {
      const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
      const writer = runtime.HttpResponseStream.from(stream, {
        statusCode,
        headers: Object.fromEntries(texts),
        ...multiValueHeaders && { multiValueHeaders },
        ...cookies && { cookies },
      });
      // the runtime sends status and headers with the first write
      writer.write("");
      return writer;
    },
  };
}
