/** Runs work as the one invocation of a Lambda sandbox: metrics and spans collect as they do there. */
import { LAMBDA_ENV } from "../lib/events.mjs";

Object.assign(process.env, LAMBDA_ENV);
const { withObservability } = await import("@trellis/fn/core");
const { setLogOutput } = await import("@trellis/fn/observability");
setLogOutput(() => {});

export const inInvocation = async (work) => {
  let result;
  await withObservability(async () => {
    result = await work();
  }, { operationName: "bench" })({}, {
    awsRequestId: "bench",
    functionName: "bench",
    getRemainingTimeInMillis: () => 900_000,
  });
  return result;
};
