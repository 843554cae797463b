/**
 * A request through `defineApiHandler` beside the same work written by hand, without logs, metrics and span, and with
 * them. Compare within a group: absolute times move with the machine.
 *
 *   deno bench -A bench/handlers_bench.ts
 */
import process from "node:process";
import * as z from "zod";
import { buildValidatedResponse } from "../core/http/response.ts";
import { logInfo } from "../observability/logger.ts";
import { MetricUnit } from "../observability/metric_unit.ts";
import { metrics } from "../observability/metrics.ts";
import { defineApiHandler } from "../validation/define_api_handler.ts";
import { setLogOutput } from "../observability/output.ts";
import { createLambdaContext } from "../testing/context.ts";
import { createRestApiEvent } from "../testing/events.ts";

// a sandbox' settings are read once, and one invocation runs at a time
process.env.AWS_EXECUTION_ENV = "AWS_Lambda_nodejs20.x";

const Order = z.object({
  orderId: z.uuid(),
  customerEmail: z.email().max(254),
  currency: z.enum(["USD", "EUR", "GBP", "JPY"]),
  amount: z.number().positive(),
  quantity: z.int().min(1).max(100),
  description: z.string().min(1).max(2000),
  createdAt: z.iso.datetime(),
  tags: z.array(z.string().min(1).max(32)).max(10),
});
const order = {
  orderId: "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  customerEmail: "ada.lovelace@example.com",
  currency: "EUR",
  amount: 129.5,
  quantity: 4,
  description: "Analytical engine spare parts: ".padEnd(700, "cogwheel, camshaft, "),
  createdAt: "2026-11-21T00:00:00Z",
  tags: ["spare", "engine", "express"],
};
const good = createRestApiEvent({ method: "POST", path: "/orders", body: order });
const bad = createRestApiEvent({
  method: "POST",
  path: "/orders",
  body: { ...order, currency: "XXX", quantity: 0 },
});
const context = createLambdaContext({ timeoutMs: 3_600_000 });
setLogOutput(() => {});

type Answer = { statusCode: number; headers: Record<string, string>; body: string };
const answer = (statusCode: number, value: unknown): Answer => ({
  statusCode,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(value),
});
// deno-lint-ignore require-await
const byHand = async (event: typeof good): Promise<Answer> => {
  const result = Order.safeParse(JSON.parse(event.body!));
  return result.success ? answer(201, { id: result.data.orderId }) : answer(400, {
    errors: result.error.issues.map((issue) => [issue.path.join("."), issue.message]),
  });
};

const quiet = { logging: { summary: false }, metrics: false, tracing: false } as const;
const ours = defineApiHandler({ ...quiet, schema: Order })(({ body, context }) =>
  buildValidatedResponse(context, 201, { id: body.orderId })
);
const observed = defineApiHandler({ schema: Order, logging: { summary: false }, metrics: false })(
  ({ body, context }) => {
    logInfo("order accepted", { orderId: body.orderId });
    metrics.addMetric("Orders", MetricUnit.Count, 1);
    return buildValidatedResponse(context, 201, { id: body.orderId });
  },
);

Deno.bench(
  "by hand",
  { group: "POST 1 KB, valid", baseline: true },
  async () => void await byHand(good),
);
Deno.bench(
  "defineApiHandler",
  { group: "POST 1 KB, valid" },
  async () => void await ours(good, context),
);
Deno.bench(
  "with log, metric, span",
  { group: "POST 1 KB, valid" },
  async () => void await observed(good, context),
);
Deno.bench(
  "by hand",
  { group: "POST 1 KB, invalid", baseline: true },
  async () => void await byHand(bad),
);
Deno.bench(
  "defineApiHandler",
  { group: "POST 1 KB, invalid" },
  async () => void await ours(bad, context),
);
