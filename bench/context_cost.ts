/**
 * What it costs that the state of a request is found by its asynchronous context: the sources beside another build of the
 * package, in turns on Node 20, 22, 24, Deno and Bun.
 *
 *   deno run -A bench/context_cost.ts --before=/path/to/build   # a folder that build_npm.ts has written
 *   deno run -A bench/context_cost.ts node20 deno --rounds=9 --before=/path/to/build
 */
// deno-lint-ignore-file no-console
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { installPackage, makeConsumer } from "../tests/consumers/support/package.ts";
import { runOrThrow } from "../scripts/program.ts";
import { findTool, type Tool } from "../tests/consumers/support/tools.ts";

const RUNTIMES = ["node20", "node22", "node24", "deno", "bun"];
const PROGRAM = fileURLToPath(new URL("lib/context_cost.mjs", import.meta.url));

function option(name: string): string | undefined {
  return Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
}

type Figures = Record<string, number>;

/** Bundles the program with a build of the package: the sources, unless a folder is given. */
async function bundle(built: string | undefined): Promise<string> {
  if (built === undefined) Deno.env.delete("TRELLIS_NPM_PACKAGE");
  else Deno.env.set("TRELLIS_NPM_PACKAGE", built);
  const esbuild = await findTool("esbuild");
  if (esbuild === undefined) throw new Error("esbuild cannot be installed here");
  const folder = await makeConsumer(await installPackage(), {
    "program.mjs": await Deno.readTextFile(PROGRAM),
  });
  const args = [
    "program.mjs",
    "--bundle",
    "--minify",
    "--platform=node",
    "--format=esm",
    "--outfile=bundle.mjs",
  ];
  await runOrThrow(join(esbuild, "bin", "esbuild"), [...args, "--log-level=error"], {
    cwd: folder,
  });
  return folder;
}

async function measure(runtime: string, folder: string): Promise<Figures> {
  if (runtime === "deno") {
    const { stdout } = await runOrThrow(Deno.execPath(), ["run", "-A", "--no-lock", "bundle.mjs"], {
      cwd: folder,
    });
    return JSON.parse(stdout);
  }
  const tool = await findTool(runtime as Tool);
  if (tool === undefined) throw new Error(`${runtime} cannot be installed here`);
  const command = join(tool, "bin", runtime === "bun" ? "bun" : "node");
  return JSON.parse((await runOrThrow(command, ["bundle.mjs"], { cwd: folder })).stdout);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

const before = option("before");
if (before === undefined) throw new Error("--before must name a build of the package");
const rounds = Number(option("rounds") ?? 5);
const wanted = Deno.args.filter((arg) => !arg.startsWith("--"));
const now = await bundle(undefined);
const other = await bundle(before);
console.log("| runtime | work | before | now | ratio |\n| --- | --- | ---: | ---: | ---: |");
for (const runtime of wanted.length > 0 ? wanted : RUNTIMES) {
  const pairs: [Figures, Figures][] = [];
  for (let round = 0; round < rounds; round++) {
    pairs.push([await measure(runtime, other), await measure(runtime, now)]);
  }
  for (const name of Object.keys(pairs[0][0])) {
    const column = (side: 0 | 1): string =>
      median(pairs.map((pair) => pair[side][name])).toFixed(2);
    const ratio = median(pairs.map(([one, two]) => two[name] / one[name]));
    console.log(
      `| ${runtime} | ${name} | ${column(0)} µs | ${column(1)} µs | ${ratio.toFixed(2)} |`,
    );
  }
}
for (const folder of [now, other]) await Deno.remove(folder, { recursive: true });
