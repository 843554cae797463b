import { DeadlineExceededError, UnexpectedError } from "../../errors/http_errors.ts";
import { Invocation } from "../../observability/invocation.ts";
import { currentInvocation, enterInvocation } from "../../observability/invocation_context.ts";
import { log, renderFields } from "../../observability/logger.ts";
import type { Span, SpanAttribute } from "../../observability/span.ts";
import { endSpan, startSpan } from "../../observability/tracer.ts";
import { withinDeadline } from "../async/deadline.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { findCorrelationId } from "./correlation.ts";
import { addLogFields } from "./observe_trigger.ts";
import { getReason } from "./trigger_failure.ts";

/** The ids of one record of an invocation. */
export interface RecordIdentity {
  /** Candidates for the correlation id, best first. The default is the id of the invocation. */
  readonly correlationIds: readonly unknown[];
  /** Ids for its log lines and its span. */
  readonly fields: Readonly<Record<string, SpanAttribute>>;
}

/**
 * The state of one record. Its correlation id, metrics and active span are separate from those of concurrent records.
 * Its output is written with that of the invocation.
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
    this.metrics = batch.metrics ??= new Map();
  }

  override append(line: string): void {
    this.#batch.append(line);
  }

  override flush(): void {
    // the batch writes them, with those of the other records
    if (!this.#batch.ended) this.metrics = undefined;
    super.flush();
  }
}

/** Time that is reserved to report unfinished records, in milliseconds. */
const MARGIN_MS = 50;

/** The records of one invocation. */
export interface RecordBatch {
  /** The invocation of the batch. */
  readonly invocation: Invocation;
  /**
   * The deadline of the records on the clock of `performance.now()`: before that of the invocation, so that unfinished
   * records can still be reported.
   */
  readonly deadlineMs: number | undefined;
}

/**
 * Starts a batch in the current invocation. Call it before the first `await`.
 *
 * @returns The batch for {@link tryRecord} and {@link skipRecord}.
 */
export function beginBatch(): RecordBatch {
  const invocation = currentInvocation()!;
  const { deadlineMs } = invocation;
  if (deadlineMs === undefined) return { invocation, deadlineMs };
  const leftMs = Math.max(0, deadlineMs - performance.now());
  return { invocation, deadlineMs: deadlineMs - Math.min(MARGIN_MS, leftMs / 4) };
}

/**
 * Processes one record. An error is logged in one line, with the reason and without the content of the record, and is
 * not thrown.
 *
 * @param batch The batch of the record.
 * @param identity The ids of the record.
 * @param metadata The ids of the invocation.
 * @param work The work, called with the metadata of the record.
 * @returns `true` if the work succeeded before the deadline.
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
        // a handler may return a thenable that is not a promise, such as a query
        const working = (async () =>
          await work({ ...metadata, correlationId: record.correlationId }))();
        await withinDeadline(record, working, span);
        if (span !== undefined) endSpan(span);
        return true;
      } catch (error) {
        reportFailure(error, span);
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
 * Logs that a record counts as failed without being processed.
 *
 * @param batch The batch of the record.
 * @param identity The ids of the record.
 * @param reason The reason.
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

/**
 * Processes the records of an event that is retried as a whole: one after the other, also after a failure.
 *
 * @param records The records.
 * @param metadata The ids of the invocation.
 * @param identify Returns the ids of a record.
 * @param work The work on one record.
 * @throws {UnexpectedError} If any of several records failed, after all were processed. A single record throws its own error.
 */
export async function runRecords<T>(
  records: readonly T[],
  metadata: WrapperMetadata,
  identify: (record: T) => RecordIdentity,
  work: (record: T, metadata: WrapperMetadata) => unknown,
): Promise<void> {
  if (records.length === 1) {
    // the invocation has the record's correlation id, and logs its failure
    addLogFields(identify(records[0]).fields);
    await work(records[0], metadata);
    return;
  }
  const batch = beginBatch();
  let failed = 0;
  for (const record of records) {
    if (!await tryRecord(batch, identify(record), metadata, (own) => work(record, own))) failed++;
  }
  if (failed > 0) {
    throw new UnexpectedError(
      `${failed} of ${records.length} records failed: each has a line of its own in the log`,
    );
  }
}

/** Lists the candidates for the correlation id of an event with a single record. */
export function listCorrelationIdsOfSingle<T>(
  records: readonly T[] | undefined,
  identify: (record: T) => RecordIdentity,
): readonly unknown[] {
  return Array.isArray(records) && records.length === 1 ? identify(records[0]).correlationIds : [];
}
