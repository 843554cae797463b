import { headerOf } from "./api_event.ts";
import type { ApiEvent, LambdaContext } from "./lambda.ts";

/** Name of the header that carries a correlation id, in requests and responses. */
export const CORRELATION_ID_HEADER = "X-Correlation-Id";

/** What may stand in logs, headers and bodies as it came. */
const WELL_FORMED = /^[A-Za-z0-9._:-]{1,128}$/;

/**
 * The id that ties a request to its log lines and to the calls it makes: `X-Correlation-Id`, else `X-Request-Id`, else
 * the gateway's request id, else Lambda's, else a new one. One that is not 1 to 128 characters of `[A-Za-z0-9._:-]` is passed over.
 *
 * @param event Any event; only those that stand for an HTTP request have headers.
 * @param context Lambda's context.
 * @returns A well formed id.
 */
export function correlationIdOf(event: unknown, context: LambdaContext | undefined): string {
  if (typeof event === "object" && event !== null) {
    const request = event as ApiEvent;
    if (request.headers || (request as { multiValueHeaders?: unknown }).multiValueHeaders) {
      const sent = headerOf(request, CORRELATION_ID_HEADER, "x-correlation-id");
      if (sent !== undefined && WELL_FORMED.test(sent)) return sent;
      const requestId = headerOf(request, "X-Request-Id", "x-request-id");
      if (requestId !== undefined && WELL_FORMED.test(requestId)) return requestId;
    }
    const gatewayId = (request.requestContext as { requestId?: unknown } | undefined)?.requestId;
    if (typeof gatewayId === "string" && WELL_FORMED.test(gatewayId)) return gatewayId;
  }
  const lambdaId = context?.awsRequestId;
  return lambdaId !== undefined && WELL_FORMED.test(lambdaId) ? lambdaId : crypto.randomUUID();
}
