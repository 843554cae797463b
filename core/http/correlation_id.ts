import { getHeader } from "./api_event.ts";
import type { ApiEvent, LambdaContext } from "./lambda.ts";

/** Name of the header that carries a correlation id, in requests and responses. */
export const CORRELATION_ID_HEADER = "X-Correlation-Id";

/** Characters that are safe in logs, headers and bodies. */
const CORRELATION_ID = /^[A-Za-z0-9._:-]+$/;
const MAX_LENGTH = 128;

/** Checks whether a value is a correlation id: 1 to 128 characters of `[A-Za-z0-9._:-]`. */
export function isCorrelationId(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_LENGTH && CORRELATION_ID.test(value);
}

/**
 * Returns the id that appears in the log lines and the outgoing calls of a request: `X-Correlation-Id`, else
 * `X-Request-Id`, else the gateway's request id, else Lambda's, else a new one. Invalid ids are skipped.
 *
 * @param event Any event. Only HTTP events have headers.
 * @param context Lambda's context.
 * @returns A valid correlation id.
 */
export function getCorrelationId(event: unknown, context: LambdaContext | undefined): string {
  if (typeof event === "object" && event !== null) {
    const request = event as ApiEvent;
    if (request.headers || (request as { multiValueHeaders?: unknown }).multiValueHeaders) {
      const sent = getHeader(request, CORRELATION_ID_HEADER, "x-correlation-id");
      if (isCorrelationId(sent)) return sent;
      const requestId = getHeader(request, "X-Request-Id", "x-request-id");
      if (isCorrelationId(requestId)) return requestId;
    }
    const gatewayId = (request.requestContext as { requestId?: unknown } | undefined)?.requestId;
    if (isCorrelationId(gatewayId)) return gatewayId;
  }
  const lambdaId = context?.awsRequestId;
  return isCorrelationId(lambdaId) ? lambdaId : crypto.randomUUID();
}
