import type { CloneConnection } from "./connection.ts";

/** How large a batch may get. */
export interface BatchLimits {
  readonly rows: number;
  /** Bytes of the rows as text. */
  readonly bytes: number;
}

/**
 * How large a batch may get. Aurora DSQL: 3,000 rows and 10 MiB with index entries in a transaction; the Data API: 1 MiB in an
 * answer. Sources: Aurora DSQL user guide, quotas (2026-10); Aurora user guide, Data API limitations.
 *
 * @param source Where rows are read.
 * @param target Where they are written.
 */
export function getLimits(source: CloneConnection, target: CloneConnection): BatchLimits {
  const limits: BatchLimits[] = [{ rows: 5000, bytes: 2 * 1024 * 1024 }];
  // one row of it is the clone's own mark
  if (target.isDistSql) limits.push({ rows: 2500, bytes: 3 * 1024 * 1024 });
  if (target.isEmbedded) limits.push({ rows: 2000, bytes: 1024 * 1024 });
  if (source.isDataApi || target.isDataApi) limits.push({ rows: 1000, bytes: 300 * 1024 });
  return {
    rows: Math.min(...limits.map(({ rows }) => rows)),
    bytes: Math.min(...limits.map(({ bytes }) => bytes)),
  };
}
