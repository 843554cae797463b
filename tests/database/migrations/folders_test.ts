import { assertEquals } from "@std/assert";
import postgres from "postgres";
import { closeDrizzleClient, type DatabaseConfig } from "../../../database/mod.ts";
import { startPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";
import { startStandIn } from "../../cli/database/clone_support.ts";
import { generateFolder } from "./folders/generate_folder.ts";
import { emptyDatabase, readRows, runFolder } from "./folders/run_folder.ts";
import { testSeed } from "../../support/seed.ts";

const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const count = Number(Deno.env.get("TRELLIS_FOLDERS") ?? (IS_FULL ? 2500 : 15));
const firstSeed = testSeed;

function hasSameRows(one: Map<string, string[]>, other: Map<string, string[]>): boolean {
  return JSON.stringify([...one].sort()) === JSON.stringify([...other].sort());
}

Deno.test(
  "planning refuses a folder of migrations, or the folder runs to its end with PostgreSQL's rows",
  { sanitizeOps: false, sanitizeResources: false },
  async () => {
    const server = await startPostgres({ settings: ["fsync=off", "synchronous_commit=off"] });
    const standInUrl = await server.createDatabase("stand_in");
    const standIn = await startStandIn(standInUrl);
    const options = { max: 1, onnotice: () => {} };
    const oracle = postgres(await server.createDatabase("oracle"), options);
    const behind = postgres(standInUrl, options);
    const database: DatabaseConfig = { ...standIn.config, instrument: false };
    const ends = { done: 0, planning: 0, "mid-run": 0 };
    const rules = new Map<string, number>();
    const faults: string[] = [];
    try {
      await withEnv(standIn.env, async () => {
        for (let seed = firstSeed; seed < firstSeed + count; seed++) {
          await emptyDatabase(oracle);
          const folder = await generateFolder(oracle, seed);
          await emptyDatabase(behind);
          const outcome = await runFolder(folder, database);
          ends[outcome.end]++;
          if (outcome.end === "planning") {
            for (
              const rule of new Set(
                outcome.findings.filter((one) => one.severity === "error").map((one) => one.rule),
              )
            ) {
              rules.set(rule, (rules.get(rule) ?? 0) + 1);
            }
          } else if (outcome.end === "mid-run") faults.push(`seed ${seed}: ${outcome.message}`);
          else {
            const found = await readRows(behind);
            let isEqual = hasSameRows(await readRows(oracle), found);
            if (!isEqual) {
              // statements that the generator tried in vain have taken numbers from sequences
              await emptyDatabase(oracle);
              for (const text of Object.values(folder.files)) await oracle.unsafe(text);
              isEqual = hasSameRows(await readRows(oracle), found);
            }
            if (!isEqual) faults.push(`seed ${seed}: other rows than PostgreSQL`);
          }
        }
      });
    } finally {
      await closeDrizzleClient(database).catch(() => {});
      await oracle.end();
      await behind.end();
      await standIn.stop();
      await server.stop();
    }
    // deno-lint-ignore no-console
    console.log(
      `${count} folders from seed ${firstSeed}: ${ends.done} ran to the end, ${ends.planning} refused at planning ` +
        `(${
          [...rules].sort((a, b) => b[1] - a[1]).map(([rule, n]) => `${rule} ${n}`).join(", ")
        }), ` +
        `${ends["mid-run"]} refused in the middle of a run`,
    );
    assertEquals(faults, []);
  },
);
