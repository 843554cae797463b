// a recreation in a process of its own, which kills itself before its nth change: database, table, statement, n
import process from "node:process";
import { closeDrizzleClient, getDrizzleClient } from "../../../database/providers/client.ts";
import { isWrite, openClient, recreate, watch } from "./recreation_support.ts";

const [database, table, statement, dieAt] = Deno.args;
// a URL of a PostgreSQL, or a configuration
const client = database.startsWith("{")
  ? { db: await getDrizzleClient(JSON.parse(database)), close: () => closeDrizzleClient() }
  : await openClient(database);
let changes = 0;
const db = watch(client.db, (text) => {
  if (!isWrite(text)) return;
  changes++;
  if (changes === Number(dieAt)) process.kill(process.pid, "SIGKILL");
});
await recreate(db, table, statement);
await client.close();
