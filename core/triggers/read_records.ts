import { UnexpectedError } from "../../errors/http_errors.ts";

/**
 * Returns the records of an event.
 *
 * @param event The event.
 * @param isRecord Checks a record; must accept any value.
 * @param problem The error's message for events of other services.
 * @throws {UnexpectedError} If the event does not come from the service.
 */
export function readRecords<T>(
  event: { readonly Records: readonly T[] },
  isRecord: (record: T) => boolean,
  problem: string,
): readonly T[] {
  const records: unknown = event?.Records;
  if (!Array.isArray(records) || !records.every(isRecord)) throw new UnexpectedError(problem);
  return records;
}
