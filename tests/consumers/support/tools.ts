import { createHash } from "node:crypto";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { CACHE } from "./package.ts";
import { runProgram } from "../../../scripts/program.ts";

/** Whether the wide matrix runs: every Node, Bun, every TypeScript. */
export const IS_FULL: boolean = Deno.env.get("TRELLIS_FULL_TESTS") === "1";

/** The tools of the matrix, at exact versions, each from npm. Raise them together with what the README promises. */
export const TOOLS = {
  // the runtimes' own packages for a platform: those of all platforms run install scripts
  node20: `node-${platform()}-${arch()}@20.20.2`,
  node22: `node-${platform()}-${arch()}@22.23.3`,
  node24: `node-${platform()}-${arch()}@24.21.0`,
  node26: `node-${platform()}-${arch()}@26.12.1`,
  bun: `@oven/bun-${platform()}-${arch() === "arm64" ? "aarch64" : arch()}@1.4.5`,
  typescript59: "typescript@5.9.3",
  typescript6: "typescript@6.0.3",
  typescript7: "typescript@7.0.2",
  esbuild: "esbuild@0.28.2",
  publint: "publint@0.3.25",
  attw: "@arethetypeswrong/cli@0.18.5",
  types: "@types/node@20.19.43",
  workflowParser: "@actions/workflow-parser@0.3.61",
} as const;

/** A tool of {@link TOOLS}. */
export type Tool = keyof typeof TOOLS;

/** The oldest Node always; the others with `TRELLIS_FULL_TESTS=1`. */
export const NODES: readonly Tool[] = IS_FULL
  ? ["node20", "node22", "node24", "node26"]
  : ["node20"];

/**
 * Installs a tool, once for this machine.
 *
 * @param tool Which.
 * @returns The folder of its package, or `undefined` when this platform has none or it cannot be downloaded: say so and skip.
 */
export async function findTool(tool: Tool): Promise<string | undefined> {
  const specifier = TOOLS[tool];
  const name = specifier.slice(0, specifier.lastIndexOf("@"));
  const folder = join(
    CACHE,
    `tools-${tool}-${createHash("sha256").update(specifier).digest("hex").slice(0, 12)}`,
  );
  const found = join(folder, "node_modules", name);
  if (await Deno.stat(found).then(() => true, () => false)) return found;
  await Deno.mkdir(CACHE, { recursive: true });
  const work = await Deno.makeTempDir({ dir: CACHE, prefix: "install-" });
  await Deno.writeTextFile(join(work, "package.json"), '{ "private": true }\n');
  const { code, stderr } = await runProgram(
    "npm",
    ["install", "--silent", "--ignore-scripts", specifier],
    { cwd: work },
  );
  if (code !== 0) {
    // deno-lint-ignore no-console
    console.warn(`SKIPPED: ${specifier} cannot be installed here: ${stderr.trim()}`);
    await Deno.remove(work, { recursive: true });
    return undefined;
  }
  await Deno.rename(work, folder).catch(async () => await Deno.remove(work, { recursive: true }));
  return found;
}

/** The program of a tool, run by Node: `node <path>`. */
export async function findScript(tool: Tool, path: string): Promise<string | undefined> {
  const folder = await findTool(tool);
  return folder && join(folder, path);
}
