import type { ApiEvent, LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import type { ResponseSink, ResponseWriter } from "../core/http/streaming.ts";

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
export function getLambdaRuntime(): LambdaRuntime | undefined {
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
export function createLambdaSink(runtime: LambdaRuntime, stream: ResponseWriter): ResponseSink {
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
