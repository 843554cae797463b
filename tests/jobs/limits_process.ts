/**
 * A process that runs jobs with a limit until it is killed. Each attempt is a row with its begin and its end.
 */
import * as z from "zod";
import { type DatabaseConfig, getDrizzleClient } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { createJobWorker, defineJob } from "../../jobs/mod.ts";

const CONCURRENCY = 4;
const PER_KEY = 1;

/** Calls a service for a tenant. */
export const call = defineJob({
  name: "call",
  schema: z.object({ tenant: z.string() }),
  limit: {
    concurrency: CONCURRENCY,
    perKey: {
      key: ({ tenant }) => tenant,
      concurrency: PER_KEY,
      // the counts of attempts take part, and hold nothing back
      rate: { count: 1000, periodSeconds: 1 },
    },
  },
})(async ({ payload: { tenant }, job }) => {
  const id = crypto.randomUUID();
  const db = await getDrizzleClient(config);
  await db.execute(
    sql`insert into runs values (${id}::uuid, ${job.id}::uuid, ${Deno.pid}, ${tenant}, clock_timestamp(), null)`,
  );
  await new Promise((resolve) => setTimeout(resolve, 10));
  await db.execute(sql`update runs set ended_at = clock_timestamp() where id = ${id}::uuid`);
});

const [json, lanes] = Deno.args;
const config: DatabaseConfig = json === undefined ? { provider: "embedded-pg" } : JSON.parse(json);

if (import.meta.main) {
  const worker = createJobWorker({
    getDb: () => getDrizzleClient(config),
    jobs: [call],
    concurrency: Number(lanes),
    logging: { level: "SILENT" },
    metrics: false,
  });
  worker.start({ pollMs: 50 });
}
