// deno-lint-ignore-file no-console
// Times requests through handlers in a Lambda sandbox, and prints microseconds by case as one line of JSON.
import process from "node:process";

Object.assign(process.env, {
  AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
  AWS_LAMBDA_FUNCTION_NAME: "bench",
});
const { buildValidatedResponse, defineApiHandler, logInfo, metrics } = await import("@trellis/fn");
const { setLogOutput, withSpan } = await import("@trellis/fn/observability");
const z = await import("zod");
setLogOutput(() => {});

const quiet = { logging: { summary: false }, metrics: false, tracing: false };
const Note = z.object({
  title: z.string().min(1),
  tags: z.array(z.string()).max(10),
  text: z.string(),
});
const body = JSON.stringify({ title: "milk", tags: ["a", "b"], text: "x".repeat(900) });
const headers = {
  "Content-Type": "application/json",
  "X-Correlation-Id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  "X-Amzn-Trace-Id": "Root=1-5759e988-bd862e3fe1be46a994272793",
};
const event = {
  httpMethod: "POST",
  path: "/notes",
  headers,
  requestContext: { requestId: "g" },
  body,
};
const context = {
  awsRequestId: "r",
  functionName: "bench",
  getRemainingTimeInMillis: () => 900_000,
};

const handlers = {
  "answers at once": defineApiHandler(quiet)(({ context }) =>
    buildValidatedResponse(context, 200, { ok: true })
  ),
  "awaits once": defineApiHandler(quiet)(async ({ context }) => {
    await undefined;
    return buildValidatedResponse(context, 200, { ok: true });
  }),
  "awaits 50 times": defineApiHandler(quiet)(async ({ context }) => {
    for (let i = 0; i < 50; i++) await undefined;
    return buildValidatedResponse(context, 200, { ok: true });
  }),
  "1 KB body, log, 3 metrics, span": defineApiHandler({ schema: Note })(
    async ({ body, context }) => {
      await withSpan("store", () => Promise.resolve());
      logInfo("note created", { tags: body.tags.length });
      for (const name of ["A", "B", "C"]) metrics.addMetric(name, "Count", 1);
      return buildValidatedResponse(context, 201, { title: body.title });
    },
  ),
};

async function time(handler, calls) {
  const startedMs = performance.now();
  for (let i = 0; i < calls; i++) await handler(event, context);
  return (performance.now() - startedMs) * 1_000 / calls;
}

const best = {};
for (const [name, handler] of Object.entries(handlers)) {
  await time(handler, 20_000);
  // short rounds, so that some of them are not disturbed by other programs
  const rounds = [];
  for (let round = 0; round < 200; round++) rounds.push(await time(handler, 400));
  best[name] = Math.min(...rounds);
}
console.log(JSON.stringify(best));
process.exit();
