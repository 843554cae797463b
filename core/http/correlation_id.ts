import { getHeader } from "./api_event.ts";
import type { ApiEvent, LambdaContext } from "./lambda.ts";

/** Name of the header that carries a correlation id, in requests and responses. */
export const CORRELATION_ID_HEADER = "X-Correlation-Id";

const HEX = "[0-9a-f]";
/** What most ids are, written out: half as long to look at as a search for what may not stand in one. */
const UUID = /* @__PURE__ */ new RegExp(
  `^${[8, 4, 4, 4, 12].map((count) => HEX.repeat(count)).join("-")}$`,
);
/** What may not stand in logs, headers and bodies as it came. */
const ILL_FORMED = /[^A-Za-z0-9._:-]/;
const MAX_LENGTH = 128;

/** Whether a value is well formed: 1 to 128 characters of `[A-Za-z0-9._:-]`. */
export function isCorrelationId(value: unknown): value is string {
  if (typeof value !== "string") return false;
  return UUID.test(value) ||
    (value !== "" && value.length <= MAX_LENGTH && !ILL_FORMED.test(value));
}

/**
 * The id that ties a request to its log lines and to the calls it makes: `X-Correlation-Id`, else `X-Request-Id`, else
 * the gateway's request id, else Lambda's, else a new one. One that is not 1 to 128 characters of `[A-Za-z0-9._:-]` is passed over.
 *
 * @param event Any event; only those that stand for an HTTP request have headers.
 * @param context Lambda's context.
 * @returns A well formed id.
 */
export function getCorrelationId(event: unknown, context: LambdaContext | undefined): string {
  if (typeof event === "object" && event !== null) {
    const request = event as ApiEvent;
    if (request.headers || (request as { multiValueHeaders?: unknown }).multiValueHeaders) {
      // the usual spelling by its name: a look-up by a variable costs ten times as much
      const sent = request.headers?.["X-Correlation-Id"] ??
        getHeader(request, CORRELATION_ID_HEADER, "x-correlation-id");
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
