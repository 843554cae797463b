// Sends requests to AWS, one after another, and prints their results:
// node send_requests.mjs <folder with the AWS clients> '[["s3", "GetObject", { "Bucket": "…" }]]'
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";

const [, , folder, requests] = process.argv;
const load = createRequire(join(folder, "package.json"));
const results = [];
for (const [service, operation, input] of JSON.parse(requests)) {
  const library = load(`@aws-sdk/client-${service}`);
  const Client = Object.values(library).find(({ name = "" }) => /^(?!_).+Client$/.test(name));
  const { Body, Payload, $metadata: _, ...rest } = await new Client().send(
    new library[`${operation}Command`](input),
  );
  const text = Body === undefined
    ? Payload && Buffer.from(Payload)
    : await Body.transformToString();
  results.push(text === undefined ? rest : { ...rest, text: String(text) });
}
process.stdout.write(JSON.stringify(results));
