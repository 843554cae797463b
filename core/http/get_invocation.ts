import type { Invocation } from "../../observability/invocation.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import type { LambdaContext } from "./lambda.ts";

/**
 * Returns the invocation that an answer belongs to: the current one, unless Lambda's context says that it is another. A
 * long-running server may answer a request in the asynchronous context of an earlier one (Deno 2.9, after an `import()`).
 *
 * @param context Lambda's context, as the answer's author got it.
 * @returns The invocation, or `undefined`.
 */
export function getInvocation(context: LambdaContext | undefined): Invocation | undefined {
  const invocation = currentInvocation();
  const requestId = context?.awsRequestId;
  return requestId === undefined || requestId === invocation?.requestId ? invocation : undefined;
}
