// Puts our rows into a copy of the benchmark of peers: node bench/peers/install.mjs <its folder> [<our built package>]
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [harness, built = fileURLToPath(new URL("../../npm", import.meta.url))] = process.argv.slice(2);
if (harness === undefined) throw new Error("name the folder of the benchmark, with its packages installed");

const installed = `${harness}/node_modules/@trellis/fn`;
rmSync(installed, { recursive: true, force: true });
cpSync(built, installed, { recursive: true });

const index = `${harness}/peers/index.mjs`;
let text = readFileSync(index, "utf8");
for (const [id, name] of [["ours", "@trellis/fn"], ["ours-mini", "@trellis/fn over zod/mini"]]) {
  cpSync(new URL(id, import.meta.url), `${harness}/peers/${id}`, { recursive: true });
  if (!text.includes(`peer('${id}'`)) {
    text = text.replace("export const PEERS = [", `$&\n\tpeer('${id}', '${name}', ['zod']),`);
  }
}
writeFileSync(index, text);
