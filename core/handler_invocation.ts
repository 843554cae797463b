import { Invocation, type InvocationStart } from "../observability/invocation.ts";
import type { Span } from "../observability/span.ts";
import { getDeadline } from "./async/deadline.ts";
import type { LambdaContext } from "./http/lambda.ts";

/** The state of one call of a handler. */
export class HandlerInvocation extends Invocation {
  /** Start of the timer on the clock of `performance.now()`. */
  startedMs = 0;
  /** Lambda's context; `undefined` if the function was called by hand. */
  readonly context: LambdaContext;
  /** The span of the whole call. */
  rootSpan: Span | undefined = undefined;

  /**
   * @param start The ids and the names.
   * @param event Any event.
   * @param context Lambda's context.
   */
  constructor(start: InvocationStart, event: unknown, context: LambdaContext) {
    super(start);
    this.event = event;
    this.context = context;
  }

  /** Reads the clock, and the deadline by the same reading: Lambda's clock can be set back later. */
  startTimer(): void {
    this.startedMs = performance.now();
    this.deadlineMs = getDeadline(this.context, this.startedMs);
  }

  protected override readDeadline(): number | undefined {
    return getDeadline(this.context, performance.now());
  }
}
