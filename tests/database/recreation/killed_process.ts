// a recreation in a process of its own, which kills itself before its nth change: url, table, statement, n
import process from "node:process";
import { isWrite, openClient, recreate, watch } from "./recreation_support.ts";

const [url, table, statement, dieAt] = Deno.args;
const client = await openClient(url);
let changes = 0;
const db = watch(client.db, (text) => {
  if (!isWrite(text)) return;
  changes++;
  if (changes === Number(dieAt)) process.kill(process.pid, "SIGKILL");
});
await recreate(db, table, statement);
await client.close();
