// W4: W2 with one log line, three metrics and a span.
import { buildValidatedResponse } from "@trellis/fn/core";
import { logInfo, metrics, onSpanEnd } from "@trellis/fn/observability";
import { defineApiHandler } from "@trellis/fn/validation";
import { accept, LOG_MESSAGE, METRICS, SPAN_NAME } from "../../lib/app.mjs";
import { OrderSchema } from "../../lib/schema.mjs";

export const spans = { last: undefined };
onSpanEnd((span) => {
  spans.last = span;
});

const [[accepted, count], [value, none], [latency, milliseconds]] = METRICS;
const options = { schema: OrderSchema, operationName: SPAN_NAME, logging: { summary: false }, metrics: false };

const W4 = defineApiHandler(options)(({ body, context }) => {
  const startedMs = performance.now();
  const response = buildValidatedResponse(context, 201, accept(body));
  logInfo(LOG_MESSAGE, { status: response.statusCode });
  metrics.addMetric(accepted, count, 1);
  metrics.addMetric(value, none, 518);
  metrics.addMetric(latency, milliseconds, performance.now() - startedMs);
  return response;
});

export const handlers = { W4 };
