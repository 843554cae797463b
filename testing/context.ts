import { type Clock, monotonicNow, systemClock } from "../core/async/clock.ts";
import type { LambdaContext } from "../core/http/lambda.ts";

/** Options of {@link createLambdaContext}. */
export interface LambdaContextOptions {
  /**
   * Time limit of the invocation in milliseconds.
   * @default 30000
   */
  timeoutMs?: number;
  /**
   * Id of the invocation.
   * @default a new UUID
   */
  awsRequestId?: string;
  /**
   * The function's name.
   * @default "test-function"
   */
  functionName?: string;
  /**
   * Clock that determines the remaining time.
   * @default systemClock
   */
  clock?: Clock;
}

/**
 * Creates a Lambda context whose remaining time decreases.
 *
 * @param options Time limit, names and clock.
 * @returns The context.
 *
 * @example
 * ```ts
 * import { createFakeClock, createLambdaContext } from "@trellis/fn/testing";
 *
 * const clock = createFakeClock();
 * const context = createLambdaContext({ timeoutMs: 3000, clock });
 * await clock.advance(1000);
 * console.log(context.getRemainingTimeInMillis()); // 2000
 * ```
 */
export function createLambdaContext(options: LambdaContextOptions = {}): LambdaContext {
  const { timeoutMs = 30_000, functionName = "test-function", clock = systemClock } = options;
  const endsAtMs = monotonicNow(clock) + timeoutMs;
  const arn = `arn:aws:lambda:eu-west-1:123456789012:function:${functionName}`;
  return {
    awsRequestId: options.awsRequestId ?? crypto.randomUUID(),
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: arn,
    memoryLimitInMB: "512",
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "2026/01/01/[$LATEST]0123456789abcdef0123456789abcdef",
    getRemainingTimeInMillis: () => Math.max(0, endsAtMs - monotonicNow(clock)),
  };
}
