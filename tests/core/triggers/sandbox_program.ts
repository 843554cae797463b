// deno-lint-ignore-file no-console
/**
 * A Lambda sandbox for a test, configured by its environment. It reports on standard error what the handlers of its
 * queues saw; its log goes to standard output as in production.
 */
import { getRequestContext } from "../../../core/mod.ts";
import { defineQueueHandler } from "../../../triggers/mod.ts";
import { currentInvocation } from "../../../observability/invocation_context.ts";
import { logInfo } from "../../../observability/mod.ts";
import { createLambdaContext } from "../../../testing/context.ts";
import { createQueueEvent } from "../../../testing/trigger_events.ts";

const seen: Record<string, unknown> = {};
const event = createQueueEvent(["a", "b", "c"].map((id) => ({ messageId: id, body: id })));

let goOn = (): void => {};
const gate = new Promise<void>((resolve) => goOn = resolve);
let late: Promise<void> | undefined;

async function consume(concurrency: number): Promise<unknown> {
  const ids: unknown[] = [];
  const handler = defineQueueHandler({ concurrency })(async function note({ record }) {
    goOn();
    await late;
    ids.push([record.messageId, getRequestContext()?.correlationId]);
    logInfo("in the record");
    if (record.messageId === "b") throw new Error("why");
  });
  await handler(event, createLambdaContext({ awsRequestId: `batch-${concurrency}` }));
  return [ids, currentInvocation()?.correlationId];
}

async function abandon(): Promise<unknown> {
  const hold = setTimeout(() => {}, 10_000);
  const handler = defineQueueHandler()(() =>
    late = gate.then(() => {
      seen.late = getRequestContext()?.correlationId ?? null;
    })
  );
  const result = await handler(
    event,
    createLambdaContext({ awsRequestId: "abandoned", timeoutMs: 2000 }),
  );
  clearTimeout(hold);
  return [result, currentInvocation()?.correlationId];
}

const STEPS: Record<string, () => Promise<unknown>> = {
  sequential: () => consume(1),
  overlapping: () => consume(3),
  abandoned: abandon,
};
for (const step of Deno.args) seen[step] = await STEPS[step]();
console.error(JSON.stringify(seen));
