/**
 * Sends duplicates of one request, or of one message, from a process of its own:
 * `order_process.ts <connection string> <request|message> <key> <number of duplicates>`. Waits for a line on standard input, and
 * prints the distinct answers as JSON.
 */
// deno-lint-ignore-file no-console -- its output is what the test reads
import { closeDrizzleClient } from "../../database/mod.ts";
import { connectOrders, createOrders, sendMessage, sendRequest } from "./orders.ts";

const [url, kind, key, count] = Deno.args;
const orders = createOrders(url);
await connectOrders(url);
console.log("ready");
await Deno.stdin.read(new Uint8Array(1));

const send = kind === "request" ? sendRequest : sendMessage;
const answers = await Promise.all(Array.from({ length: Number(count) }, () => send(orders, key)));
const distinct = new Map<string, number>();
let conflicts = 0;
for (const answer of answers) {
  distinct.set(answer.text, (distinct.get(answer.text) ?? 0) + 1);
  conflicts += answer.conflicts;
}
console.log(JSON.stringify({ distinct: [...distinct], conflicts }));
await closeDrizzleClient();
