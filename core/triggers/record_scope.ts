import { DeadlineExceededError } from "../../errors/http_errors.ts";
import { Invocation } from "../../observability/invocation.ts";
import {
  currentInvocation,
  enterInvocation,
  resumeInvocation,
} from "../../observability/invocation_context.ts";
import { log, renderFields } from "../../observability/logger.ts";
import type { Span, SpanAttribute } from "../../observability/span.ts";
import { endSpan, startSpan } from "../../observability/tracer.ts";
import { withinDeadline } from "../async/deadline.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { findCorrelationId } from "./correlation.ts";
import { getReason } from "./trigger_failure.ts";

/** What tells one record of an invocation from the others. */
export interface RecordIdentity {
  /** What the record says of its correlation, best first; without one it is the invocation's. */
  readonly correlationIds: readonly unknown[];
  /** Ids that stand in each of its log lines and on its span. */
  readonly fields: Readonly<Record<string, SpanAttribute>>;
}

/**
 * The state of one record: log lines with its own correlation id, metrics and the active span apart from those of records
 * that are under way beside it. What it collects leaves with the invocation's one write.
 */
class RecordInvocation extends Invocation {
  readonly #batch: Invocation;

  constructor(
    { invocation: batch, deadlineMs }: RecordBatch,
    { correlationIds, fields }: RecordIdentity,
  ) {
    const { requestId, traceId, parentSpanId, sampled, operationName, functionName, coldStart } =
      batch;
    const correlationId = findCorrelationId(correlationIds) ?? batch.correlationId;
    super({
      correlationId,
      requestId,
      traceId,
      parentSpanId,
      sampled,
      operationName,
      functionName,
      coldStart,
    });
    this.#batch = batch;
    this.level = batch.level;
    this.redact = batch.redact;
    this.fields = batch.fields + renderFields(fields, batch.redact);
    this.span = batch.span;
    this.deadlineMs = deadlineMs;
  }

  override append(line: string): void {
    this.#batch.append(line);
  }

  override flush(): void {
    if (!this.#batch.ended) this.#handOverMetrics();
    super.flush();
  }

  #handOverMetrics(): void {
    if (this.metrics === undefined) return;
    const all = this.#batch.metrics ??= new Map();
    for (const [key, group] of this.metrics) {
      const known = all.get(key);
      if (known === undefined) {
        all.set(key, group);
        continue;
      }
      for (const metric of group.metrics.values()) {
        const sameName = known.metrics.get(metric.name);
        if (sameName === undefined) known.metrics.set(metric.name, metric);
        else sameName.values.push(...metric.values);
      }
    }
    this.metrics = undefined;
    this.#batch.renderMetrics ??= this.renderMetrics;
  }
}

/** Time kept back to report the records that are not finished, in milliseconds. */
const MARGIN_MS = 50;

/** The records of one invocation. */
export interface RecordBatch {
  /** The invocation that they arrived with. */
  readonly invocation: Invocation;
  /**
   * When they must be finished, on the clock of `performance.now()`: before the invocation's own deadline, so that those
   * that are not finished can still be reported.
   */
  readonly deadlineMs: number | undefined;
}

/**
 * Begins to work on the records of the current invocation. Call it before anything is awaited.
 *
 * @returns What {@link tryRecord} and {@link skipRecord} need.
 */
export function beginBatch(): RecordBatch {
  const invocation = currentInvocation()!;
  const { deadlineMs } = invocation;
  if (deadlineMs === undefined) return { invocation, deadlineMs };
  const leftMs = Math.max(0, deadlineMs - performance.now());
  return { invocation, deadlineMs: deadlineMs - Math.min(MARGIN_MS, leftMs / 4) };
}

/**
 * Works on one record apart from the others. A failure is logged in one line, with the reason and without the record's
 * content, and never thrown.
 *
 * @param batch The records that it belongs to.
 * @param identity What tells it from the others.
 * @param metadata Of the invocation.
 * @param work The work, with the record's own metadata.
 * @returns Whether it succeeded in time.
 */
export function tryRecord(
  batch: RecordBatch,
  identity: RecordIdentity,
  metadata: WrapperMetadata,
  work: (metadata: WrapperMetadata) => unknown,
): Promise<boolean> {
  return enterInvocation(
    new RecordInvocation(batch, identity),
    async function attempt(record): Promise<boolean> {
      const span = record.span &&
        startSpan("process record", { attributes: { ...identity.fields } });
      try {
        if (batch.deadlineMs !== undefined && performance.now() >= batch.deadlineMs) {
          throw new DeadlineExceededError(
            "The deadline of this invocation was reached before the record's turn",
          );
        }
        // asynchronous in any case: what a handler returns may be a thenable that is no promise, such as a query
        const working = (async () =>
          await work({ ...metadata, correlationId: record.correlationId }))();
        await withinDeadline(record, working);
        if (span !== undefined) endSpan(span);
        return true;
      } catch (error) {
        resumeInvocation(record, () => reportFailure(error, span));
        return false;
      }
    },
  );
}

function reportFailure(error: unknown, span: Span | undefined): void {
  log("ERROR", "record failed", { reason: getReason(error), error });
  if (span !== undefined) endSpan(span, error ?? new Error("rejected with nothing"));
}

/**
 * Logs that a record counts as failed although nobody worked on it.
 *
 * @param batch The records that it belongs to.
 * @param identity What tells it from the others.
 * @param reason Why.
 */
export async function skipRecord(
  batch: RecordBatch,
  identity: RecordIdentity,
  reason: string,
): Promise<void> {
  await enterInvocation(
    new RecordInvocation(batch, identity),
    () => log("WARN", "record failed", { reason }),
  );
}
