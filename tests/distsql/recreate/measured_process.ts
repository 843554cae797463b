// deno-lint-ignore-file no-console -- the output is what the test reads
// a recreation in a process of its own, which tells its memory and times: url, table, statement
import process from "node:process";
import { openClient, recreate, watch } from "./recreation_support.ts";

const [url, table, statement] = Deno.args;
const client = await openClient(url);
const startedMegabytes = Math.round(process.memoryUsage().rss / 1e6);
let mostBytes = 0;
let renamedAt = 0;
let namelessMs = 0;
const db = watch(client.db, (text) => {
  mostBytes = Math.max(mostBytes, process.memoryUsage().rss);
  if (text.includes('trellis_old"') && text.includes("RENAME TO")) renamedAt = performance.now();
  if (renamedAt > 0 && namelessMs === 0 && text.includes("DROP TABLE")) {
    namelessMs = Math.round(performance.now() - renamedAt);
  }
});
const { rows, durationMs } = await recreate(db, table, statement);
const mostMegabytes = Math.round(mostBytes / 1e6);
console.log(JSON.stringify({ rows, durationMs, namelessMs, startedMegabytes, mostMegabytes }));
await client.close();
