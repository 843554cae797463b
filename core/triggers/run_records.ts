import { UnexpectedError } from "../../errors/http_errors.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { addLogFields } from "./observe_trigger.ts";
import { beginBatch, type RecordIdentity, tryRecord } from "./record_scope.ts";

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
