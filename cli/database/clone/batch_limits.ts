import type { BatchLimits } from "../../../distsql/batches/run_batches.ts";
import type { CloneConnection } from "./connection.ts";

/**
 * Returns the maximum size of a batch. Aurora DSQL allows 3,000 rows and 10 MiB including index
 * entries per transaction; the Data API allows 1 MiB per response. Sources: Aurora DSQL user guide,
 * quotas (2026-10); Aurora user guide, Data API limitations.
 *
 * @param source The database to read from.
 * @param target The database to write to.
 */
export function getLimits(source: CloneConnection, target: CloneConnection): BatchLimits {
  const limits: BatchLimits[] = [{ rows: 5000, bytes: 2 * 1024 * 1024 }];
  // each transaction also updates one row of progress
  if (target.isDistSql) limits.push({ rows: 2500, bytes: 3 * 1024 * 1024 });
  if (target.isEmbedded) limits.push({ rows: 2000, bytes: 1024 * 1024 });
  if (source.isDataApi || target.isDataApi) limits.push({ rows: 1000, bytes: 300 * 1024 });
  return {
    rows: Math.min(...limits.map(({ rows }) => rows)),
    bytes: Math.min(...limits.map(({ bytes }) => bytes)),
  };
}
