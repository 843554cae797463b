/** How far a change in batches got. */
export interface BatchProgress {
  /** The key of the last row that was looked at; not given before the first batch, and where no key is gone along. */
  readonly key?: readonly string[];
  /** What `now()` stands for in all batches. */
  readonly moment?: string;
}

/** Reads what an earlier run noted. */
export function readProgress(watermark: string | undefined): BatchProgress {
  if (watermark === undefined) return {};
  const value: readonly string[] | BatchProgress = JSON.parse(watermark);
  return Array.isArray(value) ? { key: value } : value as BatchProgress;
}

/** Writes the progress as the text that is noted with each batch. */
export function writeProgress({ key, moment }: BatchProgress): string {
  return JSON.stringify(key !== undefined && moment === undefined ? key : { key, moment });
}
