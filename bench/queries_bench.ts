/**
 * What metrics, span and retry add to a query: over an empty function, so that nothing hides it. `bench/database.ts` has the
 * same on PostgreSQL.
 *
 *   deno bench -A bench/queries_bench.ts
 */
import { createQueryFactory } from "../database/queries/query_factory.ts";
import { withQueryMetrics } from "../database/queries/query_metrics.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { setLogOutput } from "../observability/output.ts";

setLogOutput(() => {});
const query = (): Promise<number> => Promise.resolve(1);
const { defineQuery } = createQueryFactory(() => ({}) as never);
const findNote = defineQuery({ tables: [], name: "findNote" }, query);

const group = "query wrapper, outside of an invocation";
Deno.bench({ name: "await query()", group, baseline: true, fn: async () => void await query() });
Deno.bench({ name: "withDistSqlRetry", group, fn: async () => void await withDistSqlRetry(query) });
Deno.bench({
  name: "withQueryMetrics",
  group,
  fn: async () => void await withQueryMetrics("findNote", query),
});
Deno.bench({ name: "defineQuery", group, fn: async () => void await findNote() });
