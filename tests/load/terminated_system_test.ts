import { assert, assertEquals } from "@std/assert";
import { closeDrizzleClient, getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { sql } from "../../database/orm.ts";
import { startPostgres } from "../support/postgres.ts";

const WORKERS = 32;
const CUTS = 60;

/** The limit of a statement: one that is forgotten ends after it. */
const LIMIT_SECONDS = 15;

Deno.test("getDrizzleClient() answers every statement when connections are terminated again and again", async () => {
  const postgres = await startPostgres();
  const config: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: `${postgres.url}?application_name=terminated`,
    maxConnections: 4,
    statementTimeoutSeconds: LIMIT_SECONDS,
    instrument: false,
  };
  try {
    const db = await getDrizzleClient(config);
    let isOn = true;
    const answered = { rows: 0, errors: 0, late: 0 };
    const work = async (): Promise<void> => {
      while (isOn) {
        const startedAt = performance.now();
        await db.execute(sql`select 1`).then(() => answered.rows++, () => answered.errors++);
        if (performance.now() - startedAt >= LIMIT_SECONDS * 1000) answered.late++;
      }
    };
    const workers = Array.from({ length: WORKERS }, work);
    for (let cut = 0; cut < CUTS; cut++) {
      await new Promise((resolve) => setTimeout(resolve, 40));
      // every connection but this one
      await db.execute(sql`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'terminated' and pid <> pg_backend_pid()`).catch(() => {});
    }
    isOn = false;
    await Promise.all(workers);
    assertEquals(answered.late, 0, JSON.stringify(answered));
    assert(answered.rows > 0 && answered.errors > 0, JSON.stringify(answered));
  } finally {
    await closeDrizzleClient(config);
    await postgres.stop();
  }
});
