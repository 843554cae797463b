/** Runs suites and prints their tables: `node trellis/run.mjs webhooks sessions --quick`. */
import { mkdirSync, writeFileSync } from "node:fs";

const quick = process.argv.includes("--quick");
const suites = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
const major = process.versions.node.split(".")[0];
const folder = new URL(`results/node${major}/`, import.meta.url);
mkdirSync(folder, { recursive: true });
for (const suite of suites) {
  const { run, report } = await import(`./${suite}.mjs`);
  const text = `## ${suite}, Node ${process.versions.node}\n\n${
    report(await run({ quick, log: (line) => process.stderr.write(`${suite}: ${line}\n`) }))
  }\n`;
  writeFileSync(new URL(`${suite}.md`, folder), text);
  process.stdout.write(`${text}\n`);
}
