import { runOutsideInvocation } from "../observability/invocation_context.ts";
import { addOccurrences, type MetricDatum } from "../observability/metrics.ts";
import type { LeasedJob } from "./claim.ts";
import type { AttemptOutcome } from "./end_attempt.ts";

/** Attempt that has ended. */
export interface EndedCount {
  /** The job. */
  readonly leased: LeasedJob;
  /** How the attempt ended. */
  readonly outcome: AttemptOutcome;
  /** Duration of the handler. */
  readonly durationMs: number;
}

/** Attempts whose metrics are written together: CloudWatch takes at most 100 values in a line. */
const MAX_ATTEMPTS = 100;
/** Longest time until the metrics of an attempt are written. */
const MAX_DELAY_MS = 1000;

/** Collects the metrics of attempts, because a line for each would cost more than its log. */
export class JobMetrics {
  #ended: EndedCount[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Counts an attempt. It is written with others, after at most a second.
   *
   * @param ended The attempt.
   */
  add(ended: EndedCount): void {
    this.#ended.push(ended);
    if (this.#ended.length >= MAX_ATTEMPTS) return this.flush();
    this.#timer ??= runOutsideInvocation(() => setTimeout(() => this.flush(), MAX_DELAY_MS));
  }

  /** Writes what was counted; in an invocation, with its metrics. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const all = this.#ended.splice(0);
    for (const job of new Set(all.map(({ leased }) => leased.name))) {
      const ended = all.filter(({ leased }) => leased.name === job);
      const count = (outcome: AttemptOutcome) =>
        ended.filter((attempt) => attempt.outcome === outcome).length;
      addOccurrences({ job }, [
        ["JobsDelivered", "Count", ended.length],
        ["JobsRetried", "Count", count("retried")],
        ["JobsDead", "Count", count("dead")],
        ...ended.map(({ leased }): MetricDatum => ["JobWait", "Milliseconds", leased.waitedMs]),
      ]);
      addOccurrences({ operationName: job }, [
        ["Errors", "Count", count("retried") + count("dead")],
        ...ended.map(({ durationMs }): MetricDatum => ["Duration", "Milliseconds", durationMs]),
      ]);
    }
  }
}
