/** The generated workflow, read by GitHub's own parser of workflows and their expressions. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { build, stop } from "esbuild";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ciFiles } from "../../../cli/init/ci_files.ts";
import { findTool } from "../../consumers/support/tools.ts";

/** The errors in a workflow, and the names of its jobs. */
interface ParsedWorkflow {
  readonly errors: readonly string[];
  readonly jobs: readonly string[];
}

/** Exports `parse`; the parser imports JSON as only a bundler can. */
const PROGRAM = `
import {
  convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow,
} from "@actions/workflow-parser";
export async function parse(content) {
  const { context, value } = parseWorkflow({ name: "deploy.yml", content }, new NoOperationTraceWriter());
  const { jobs } = await convertWorkflowTemplate(context, value);
  return { errors: context.errors.getErrors().map(String), jobs: (jobs ?? []).map(({ id }) => id.value) };
}`;

async function loadParser(
  folder: string,
): Promise<(content: string) => Promise<ParsedWorkflow>> {
  const outfile = join(await Deno.makeTempDir(), "parser.mjs");
  try {
    const stdin = { contents: PROGRAM, resolveDir: folder };
    await build({ stdin, outfile, bundle: true, format: "esm", platform: "browser" });
    return (await import(pathToFileURL(outfile).href)).parse;
  } finally {
    await stop();
    await Deno.remove(join(outfile, ".."), { recursive: true });
  }
}

Deno.test("ciFiles() returns a workflow that GitHub can parse", async () => {
  const folder = await findTool("workflowParser");
  if (folder === undefined) return;
  const parse = await loadParser(folder);
  for (const runtime of ["node", "deno"] as const) {
    const text = ciFiles("my-api", runtime)[".github/workflows/deploy.yml"];
    assertEquals(await parse(text), {
      errors: [],
      jobs: ["check", "plan", "preview", "close", "sweep", "dev", "prod"],
    });
    // the parser finds wrong keys, needs and expressions
    const faults: [from: string, to: string, message: string][] = [
      ["timeout-minutes: 60", "timeout-minute: 60", "timeout-minute"],
      ["needs: dev", "needs: devs", "devs"],
      ["vars.AWS_REGION", "variables.AWS_REGION", "variables"],
    ];
    for (const [from, to, message] of faults) {
      const { errors } = await parse(text.replace(from, to));
      assertStringIncludes(errors.join("\n"), message);
    }
  }
});
