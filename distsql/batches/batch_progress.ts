/** Progress of a change in batches. */
export interface BatchProgress {
  /** Key of the last visited row; omitted before the first batch, and without a key. */
  readonly key?: readonly string[];
  /** Value of `now()` in all batches. */
  readonly moment?: string;
}

/** Parses the progress recorded by an earlier run. */
export function readProgress(watermark: string | undefined): BatchProgress {
  if (watermark === undefined) return {};
  const value: readonly string[] | BatchProgress = JSON.parse(watermark);
  return Array.isArray(value) ? { key: value } : value as BatchProgress;
}

/** Formats the progress for the record of each batch. */
export function writeProgress({ key, moment }: BatchProgress): string {
  return JSON.stringify(key !== undefined && moment === undefined ? key : { key, moment });
}
