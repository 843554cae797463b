/**
 * A process that runs jobs with a limit until it is killed. Each attempt is a row with its begin and its end.
 */
import * as z from "zod";
import { type DatabaseConfig, getDrizzleClient } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { createJobWorker, defineJob, type JobHandlerParams } from "../../jobs/mod.ts";

const CONCURRENCY = 4;
const PER_KEY = 1;
/** Attempts that begin within a second. */
export const RATES = { all: 12, tenant: 4 };
const Call = z.object({ tenant: z.string(), n: z.int() });

/** Calls a service for a tenant. */
export const call = defineJob({
  name: "call",
  schema: Call,
  limit: {
    concurrency: CONCURRENCY,
    perKey: {
      key: ({ tenant }) => tenant,
      concurrency: PER_KEY,
      // the counts of attempts take part, and hold nothing back
      rate: { count: 1000, periodSeconds: 1 },
    },
  },
})(record);

/** Calls a service that takes so many calls a second, of each tenant and in all. */
export const rated = defineJob({
  name: "rated",
  schema: Call,
  limit: {
    rate: { count: RATES.all, periodSeconds: 1 },
    perKey: { key: ({ tenant }) => tenant, rate: { count: RATES.tenant, periodSeconds: 1 } },
  },
})(record);

/** Writes when the attempt was leased, began and ended. */
async function record(
  { payload: { tenant, n }, job }: JobHandlerParams<z.infer<typeof Call>, false>,
) {
  const id = crypto.randomUUID();
  const db = await getDrizzleClient(config);
  // a lease lasts for the time of an attempt, which is 30 seconds, and 10 seconds
  await db.execute(
    sql`insert into runs select ${id}::uuid, ${job.id}::uuid, ${job.name}, ${Deno.pid}::int, ${tenant}, ${n}::int,
      ${job.group ?? null}::text, due_at - interval '40 seconds', clock_timestamp(), null
      from trellis_jobs where id = ${job.id}::uuid`,
  );
  await new Promise((resolve) => setTimeout(resolve, 10));
  await db.execute(sql`update runs set ended_at = clock_timestamp() where id = ${id}::uuid`);
}

const [json, lanes] = Deno.args;
const config: DatabaseConfig = json === undefined ? { provider: "embedded-pg" } : JSON.parse(json);

if (import.meta.main) {
  const worker = createJobWorker({
    getDb: () => getDrizzleClient(config),
    jobs: [call, rated],
    concurrency: Number(lanes),
    logging: { level: "SILENT" },
    metrics: false,
  });
  worker.start({ pollMs: 50 });
}
