/**
 * Writes into an embedded database until it fails: `full_disk_process.ts <folder> <rows at most>`. Each line on standard
 * output is a message for the test.
 */
// deno-lint-ignore-file no-console -- its output is what the test reads
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { causeChain } from "../../errors/cause_chain.ts";
import { getSqlState } from "../../errors/driver_error.ts";

const [folder, most] = Deno.args;
const config: DatabaseConfig = {
  provider: "embedded-pg",
  connectionString: folder,
  instrument: false,
};
const db = await getDrizzleClient(config);
await db.execute(sql`CREATE TABLE IF NOT EXISTS ledger (id int, filling text)`);
const filling = Array.from({ length: 200 }, () => crypto.randomUUID()).join("").repeat(10);
const [{ first }] = await executeRows<{ first: number }>(
  db,
  sql`SELECT coalesce(max(id), 0)::int AS first FROM ledger`,
);
for (let id = first + 1; id <= first + Number(most); id++) {
  try {
    await db.execute(sql`INSERT INTO ledger VALUES (${id}, ${filling})`);
    console.log(JSON.stringify({ acknowledged: id }));
  } catch (error) {
    const last = causeChain(error).at(-1) as Error;
    console.log(JSON.stringify({
      failed: id,
      error: last.name,
      code: causeChain(error).map(getSqlState).find((state) => state !== undefined),
      message: last.message,
    }));
    // PGlite 0.5.17 panics without ending and takes no further statement: the process has to be started again
    Deno.exit(0);
  }
}
const [{ n }] = await executeRows<{ n: number }>(db, sql`SELECT count(*)::int AS n FROM ledger`);
console.log(JSON.stringify({ counted: n }));
await closeDrizzleClient(config);
