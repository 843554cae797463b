// deno-lint-ignore-file no-console
/**
 * Runs mutation testing: changes the program in one place at a time and checks that a test fails.
 *
 *   deno run -A scripts/mutation.ts                    every mutant of every area
 *   deno run -A scripts/mutation.ts --area sessions    mutants of one area
 *   deno run -A scripts/mutation.ts --sample 30        a sample; prints its seed (--seed N)
 *
 * It works in a copy of the checkout. Exits with 1 if a mutant survives without an entry in
 * `tests/mutation/explained.json`.
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { getMutants, type Mutant } from "../tests/mutation/mutants.ts";
import { runOrThrow } from "./program.ts";

interface Area {
  readonly sources: readonly string[];
  readonly tests: readonly string[];
}

/** Reason for a surviving mutant, by file, code and change. */
type Explained = Readonly<Record<string, Readonly<Record<string, string>>>>;

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const AREAS: Readonly<Record<string, Area>> = JSON.parse(
  await Deno.readTextFile(join(ROOT, "tests/mutation/areas.json")),
);
const EXPLAINED: Explained = JSON.parse(
  await Deno.readTextFile(join(ROOT, "tests/mutation/explained.json")),
);
/** Embedded databases start from a snapshot, as in an ordinary run of the tests. */
const PRELOAD = "--preload=./tests/support/embedded_snapshot.ts";
/**
 * Stops a mutant with an endless loop, which counts as killed, after this multiple of the test
 * time.
 */
const PATIENCE = 5;

const { values } = parseArgs({
  options: {
    area: { type: "string" },
    sample: { type: "string" },
    seed: { type: "string" },
    jobs: { type: "string", default: String(navigator.hardwareConcurrency) },
  },
});
const names = values.area === undefined ? Object.keys(AREAS) : values.area.split(",");
const unknown = names.filter((name) => !Object.hasOwn(AREAS, name));
if (unknown.length > 0) {
  console.error(
    `There is no area ${unknown.join(", ")}; known are ${Object.keys(AREAS).join(", ")}`,
  );
  Deno.exit(2);
}

const queue = pick(
  names.flatMap((area) =>
    AREAS[area].sources.flatMap((file) =>
      getMutants(file, Deno.readTextFileSync(join(ROOT, file))).map((mutant) => ({ area, mutant }))
    )
  ),
);
const total = queue.length;
const limitMs = new Map<string, number>();
const tally = new Map(names.map((name) => [name, { killed: 0, explained: 0, survived: 0 }]));
const survivors: Mutant[] = [];
const jobs = Math.min(Number(values.jobs), total);
await measure();
await Promise.all(Array.from({ length: jobs }, work));

console.log(
  "\n| area | mutants | killed | explained | survived |\n| --- | ---: | ---: | ---: | ---: |",
);
for (const [name, { killed, explained, survived }] of tally) {
  console.log(
    `| ${name} | ${killed + explained + survived} | ${killed} | ${explained} | ${survived} |`,
  );
}
for (const { file, line, code, change } of survivors) {
  console.log(`survived: ${file}:${line} ${change}\n    ${code}`);
}
Deno.exit(survivors.length > 0 ? 1 : 0);

/** Returns the seed of the sample, a hash of the sources (FNV-1a, 32 bits). */
function checksum(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

function pick<T>(all: T[]): T[] {
  if (values.sample === undefined) return all;
  let state = Number(values.seed ?? checksum(JSON.stringify(all))) >>> 0;
  console.log(`mutation testing: --sample ${values.sample} --seed ${state}`);
  const rest = [...all];
  return Array.from({ length: Math.min(Number(values.sample), all.length) }, () => {
    // xorshift, 32 bits
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return rest.splice((state >>> 0) % rest.length, 1)[0];
  });
}

/** Measures the test time of each area without mutants, with the same number of processes. */
async function measure(): Promise<void> {
  for (const area of new Set(queue.map((each) => each.area))) {
    const started = performance.now();
    const passed = await Promise.all(
      Array.from({ length: jobs }, () => runTests(ROOT, AREAS[area].tests, 600_000)),
    );
    if (passed.includes(false)) {
      console.error(
        `The tests of ${area} fail before anything is changed: ${AREAS[area].tests.join(" ")}`,
      );
      Deno.exit(3);
    }
    limitMs.set(area, 5000 + PATIENCE * (performance.now() - started));
  }
}

async function work(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "trellis-mutation-" });
  try {
    await copyCheckout(folder);
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { area, mutant } = next;
      const outcome = await judge(folder, mutant, area);
      tally.get(area)![outcome]++;
      if (outcome === "survived") survivors.push(mutant);
      const done = total - queue.length;
      if (done % 50 === 0) console.log(`${done} of ${total}, ${survivors.length} survived`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function copyCheckout(folder: string): Promise<void> {
  const { stdout: listed } = await runOrThrow("git", ["ls-files", "-co", "--exclude-standard"], {
    cwd: ROOT,
  });
  for (const file of listed.trim().split("\n")) {
    if (/^(?:modules|docs|examples|bench)\//.test(file)) continue;
    await Deno.mkdir(join(folder, dirname(file)), { recursive: true });
    await Deno.copyFile(join(ROOT, file), join(folder, file)).catch((error) => {
      // listed, but removed in the work tree
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}

async function judge(
  folder: string,
  mutant: Mutant,
  area: string,
): Promise<"killed" | "explained" | "survived"> {
  if (EXPLAINED[mutant.file]?.[`${mutant.change} in ${mutant.code}`] !== undefined) {
    return "explained";
  }
  const path = join(folder, mutant.file);
  const source = await Deno.readTextFile(path);
  await Deno.writeTextFile(
    path,
    source.slice(0, mutant.start) + mutant.text + source.slice(mutant.end),
  );
  const passed = await runTests(folder, AREAS[area].tests, limitMs.get(area)!);
  await Deno.writeTextFile(path, source);
  return passed ? "survived" : "killed";
}

async function runTests(
  folder: string,
  tests: readonly string[],
  timeoutMs: number,
): Promise<boolean> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--quiet", "--fail-fast", PRELOAD, ...tests],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  const { success } = await child.status;
  clearTimeout(timer);
  return success;
}
