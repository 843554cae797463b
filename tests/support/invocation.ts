import { Invocation } from "../../observability/invocation.ts";

/** Returns an invocation as a handler begins it, with other facts if they are given. */
export function createInvocation(
  start: Partial<ConstructorParameters<typeof Invocation>[0]> = {},
): Invocation {
  return new Invocation({
    correlationId: "c",
    requestId: "r",
    traceId: undefined,
    operationName: "Test",
    functionName: undefined,
    coldStart: false,
    ...start,
  });
}
