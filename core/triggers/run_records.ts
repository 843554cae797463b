import { UnexpectedError } from "../../errors/http_errors.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { addLogFields } from "./observe_trigger.ts";
import { beginBatch, type RecordIdentity, tryRecord } from "./record_scope.ts";

/**
 * Works on the records of an event that is delivered again as a whole: each in turn, whatever happens to the others.
 *
 * @param records The records.
 * @param metadata Of the invocation.
 * @param identify What tells a record from the others.
 * @param work The work on one record.
 * @throws {UnexpectedError} When any of several failed, after all were tried. A single one throws its own error.
 */
export async function runRecords<T>(
  records: readonly T[],
  metadata: WrapperMetadata,
  identify: (record: T) => RecordIdentity,
  work: (record: T, metadata: WrapperMetadata) => unknown,
): Promise<void> {
  if (records.length === 1) {
    // the invocation has the record's correlation id already, and tells of its failure
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

/** What an event says of its correlation: that of its record, when there is one only. */
export function listCorrelationIdsOfSingle<T>(
  records: readonly T[] | undefined,
  identify: (record: T) => RecordIdentity,
): readonly unknown[] {
  return Array.isArray(records) && records.length === 1 ? identify(records[0]).correlationIds : [];
}
