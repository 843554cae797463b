/**
 * Changes the values of a record.
 *
 * @param record The record.
 * @param change Returns the new value.
 * @returns A new record.
 */
export function mapValues<T, R>(
  record: Readonly<Record<string, T>>,
  change: (value: T, name: string) => R,
): Record<string, R> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [name, change(value, name)]),
  );
}
