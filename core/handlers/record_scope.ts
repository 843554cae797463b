import { DeadlineExceededError } from "../../errors/mod.ts";
import {
  allowOverlap,
  currentInvocation,
  endSpan,
  Invocation,
  log,
  renderFields,
  runInvocation,
  type SpanAttribute,
  startSpan,
} from "../../observability/mod.ts";
import { raceDeadline } from "../deadline.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { firstCorrelationId } from "./correlation.ts";
import { reasonOf } from "./trigger_failure.ts";

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

  constructor(batch: Invocation, { correlationIds, fields }: RecordIdentity, deadlineMs: number | undefined) {
    const { requestId, traceId, parentSpanId, sampled, operationName, functionName, coldStart } = batch;
    const correlationId = firstCorrelationId(correlationIds) ?? batch.correlationId;
    super({ correlationId, requestId, traceId, parentSpanId, sampled, operationName, functionName, coldStart });
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
      for (const [name, { unit, values }] of group.values) {
        const metric = known.values.get(name);
        if (metric === undefined) known.values.set(name, { unit, values });
        else metric.values.push(...values);
      }
    }
    this.metrics = undefined;
    this.#batch.renderMetrics ??= this.renderMetrics;
  }
}

/** Time kept back to report the records that are not finished, in milliseconds. */
const MARGIN_MS = 50;

/**
 * When the records of an invocation must be finished: before its own deadline, so that those that are not can still be
 * told from those that are.
 *
 * @returns Epoch milliseconds, or `undefined` when the platform sets no limit.
 */
export function recordDeadline(): number | undefined {
  const deadlineMs = currentInvocation()?.deadlineMs;
  if (deadlineMs === undefined) return undefined;
  return deadlineMs - Math.min(MARGIN_MS, Math.max(0, deadlineMs - Date.now()) / 4);
}

/**
 * Works on one record apart from the others. A failure is logged in one line, with the reason and without the record's
 * content, and never thrown.
 *
 * @param identity What tells it from the others.
 * @param metadata Of the invocation.
 * @param deadlineMs What {@link recordDeadline} gave when the first record began.
 * @param work The work, with the record's own metadata.
 * @returns Whether it succeeded in time.
 */
export function tryRecord(
  identity: RecordIdentity,
  metadata: WrapperMetadata,
  deadlineMs: number | undefined,
  work: (metadata: WrapperMetadata) => unknown,
): Promise<boolean> {
  return inRecordScope(identity, deadlineMs, async function attempt(record: Invocation): Promise<boolean> {
    const span = record.span === undefined
      ? undefined
      : startSpan("process record", { attributes: { ...identity.fields } });
    try {
      if (deadlineMs !== undefined && Date.now() >= deadlineMs) {
        throw new DeadlineExceededError("The deadline of this invocation was reached before the record's turn");
      }
      // asynchronous in any case: what a handler returns may be a thenable that is no promise, such as a query
      const working = (async () => await work({ ...metadata, correlationId: record.correlationId }))();
      await (deadlineMs === undefined ? working : raceDeadline(working, deadlineMs, record.settings.oneAtATime, () => {
        allowOverlap();
        record.abandon();
      }));
      if (span !== undefined) endSpan(span);
      return true;
    } catch (error) {
      log("ERROR", "record failed", { reason: reasonOf(error), error });
      if (span !== undefined) endSpan(span, error ?? new Error("rejected with nothing"));
      return false;
    }
  });
}

/**
 * Tells of a record that counts as failed although nobody worked on it.
 *
 * @param identity What tells it from the others.
 * @param reason Why.
 */
export async function skipRecord(identity: RecordIdentity, reason: string): Promise<void> {
  await inRecordScope(identity, undefined, () => log("WARN", "record failed", { reason }));
}

function inRecordScope<T>(
  identity: RecordIdentity,
  deadlineMs: number | undefined,
  fn: (record: Invocation) => T | Promise<T>,
): Promise<T> {
  const record = new RecordInvocation(currentInvocation()!, identity, deadlineMs);
  return runInvocation(record, fn, record);
}
