import { Invocation } from "../observability/invocation.ts";
import type { Span } from "../observability/span.ts";
import type { TraceContext } from "../observability/trace_context.ts";
import { getCorrelationId } from "./http/correlation_id.ts";
import { getDeadline } from "./async/deadline.ts";
import type { LambdaContext } from "./http/lambda.ts";

/** The state of one call of a handler. */
export class HandlerInvocation extends Invocation {
  /** When it began, by the clock that `performance.now()` reads. */
  startedMs = 0;
  /** The span around all of it. */
  rootSpan: Span | undefined = undefined;
  /** Lambda's context; missing when somebody calls the function by hand. */
  readonly context: LambdaContext;
  #knowsDeadline = false;

  /**
   * @param operationName The name that metrics and spans carry.
   * @param event Any event.
   * @param context Lambda's context; missing when somebody calls the function by hand.
   * @param trace The trace that it belongs to.
   * @param coldStart Whether this is the first invocation of the process.
   */
  constructor(
    operationName: string,
    event: unknown,
    context: LambdaContext,
    trace: TraceContext | undefined,
    coldStart: boolean,
  ) {
    const correlationId = getCorrelationId(event, context);
    super({
      correlationId,
      requestId: context?.awsRequestId ?? correlationId,
      traceId: trace?.traceId,
      parentSpanId: trace?.parentId,
      sampled: trace?.sampled,
      operationName,
      functionName: context?.functionName,
      coldStart,
    });
    this.event = event;
    this.context = context;
  }

  /** Reads the clock, and with it the deadline: Lambda's context computes what is left from a clock that may be set. */
  startTimer(): void {
    this.startedMs = performance.now();
    this.deadlineMs = getDeadline(this.context, this.startedMs);
  }

  /** Read on first use where nothing is timed: a handler that answers at once does not need it. */
  override get deadlineMs(): number | undefined {
    if (!this.#knowsDeadline) this.deadlineMs = getDeadline(this.context, performance.now());
    return super.deadlineMs;
  }

  override set deadlineMs(deadlineMs: number | undefined) {
    this.#knowsDeadline = true;
    super.deadlineMs = deadlineMs;
  }
}
