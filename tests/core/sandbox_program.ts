/**
 * A Lambda sandbox for a test, configured by its environment. It reports on standard error what its handlers saw; its
 * log goes to standard output as in production.
 */
import { getRequestContext, withObservability } from "../../core/mod.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import { logInfo } from "../../observability/mod.ts";
import { createLambdaContext } from "../../testing/context.ts";
import { createRestApiEvent } from "../../testing/events.ts";

const seen: Record<string, unknown> = {};

function getEvent(id: string): ReturnType<typeof createRestApiEvent> {
  return createRestApiEvent({ headers: { "X-Correlation-Id": id } });
}

const simple = withObservability(async (_event: unknown) => {
  logInfo("first");
  await Promise.resolve();
  logInfo("second");
  return getRequestContext()?.correlationId;
}, { operationName: "Simple", respondToError: () => "failed" });
seen.before = [
  await simple(getEvent("s1"), createLambdaContext()),
  await simple(getEvent("s2"), createLambdaContext()),
];
seen.between = currentInvocation()?.correlationId;

let goOn = (): void => {};
const gate = new Promise<void>((resolve) => goOn = resolve);
let late: Promise<void> | undefined;
const abandoned = withObservability(function abandoned(): Promise<string> {
  late = gate.then(async () => {
    seen.late = getRequestContext()?.correlationId ?? null;
    logInfo("late work");
    await Promise.resolve();
    seen.later = getRequestContext()?.correlationId ?? null;
  });
  return late.then(() => "too late");
}, { operationName: "Abandoned", respondToError: (error) => (error as { code: string }).code });

const hold = setTimeout(() => {}, 10_000);
seen.abandoned = await abandoned(getEvent("abandoned"), createLambdaContext({ timeoutMs: 40 }));
clearTimeout(hold);

const next = withObservability(async function next() {
  const ids: unknown[] = [getRequestContext()?.correlationId];
  goOn();
  await late;
  ids.push(getRequestContext()?.correlationId);
  logInfo("in time");
  return ids;
}, { operationName: "Next" });
seen.next = await next(getEvent("next"), createLambdaContext());
seen.after = currentInvocation()?.correlationId;
// deno-lint-ignore no-console
console.error(JSON.stringify(seen));
