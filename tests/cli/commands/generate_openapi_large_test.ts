// deno-lint-ignore-file no-console
import { assert, assertEquals } from "@std/assert";
import { compileErrors, validate } from "@readme/openapi-parser";
import { join } from "node:path";
import process from "node:process";
import { writeLargeOpenapiProject } from "../fixtures/large_openapi_project.ts";
import { generate } from "../fixtures/openapi_project.ts";

/** The work of the processor, which says the same on a busy machine. */
async function measure(functions: number): Promise<number> {
  const root = await Deno.makeTempDir({ prefix: "trellis-openapi-large-" });
  try {
    await writeLargeOpenapiProject(root, functions);
    const before = process.cpuUsage();
    const { exitCode, stdout } = await generate(root, "--html");
    const { user, system } = process.cpuUsage(before);
    assertEquals(exitCode, 0, stdout);
    const document = JSON.parse(await Deno.readTextFile(join(root, "openapi.json")));
    const count = Object.values<object>(document.paths).flatMap((item) => Object.keys(item)).length;
    assertEquals(count, functions);
    const result = await validate(document);
    assert(result.valid, result.valid ? "" : compileErrors(result));
    return (user + system) / 1e6;
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("generate openapi describes every one of 1,000 functions in a valid document", async () => {
  await measure(40);
  const [quarter, whole] = [await measure(248), await measure(1000)];
  console.info(
    `processor time: ${quarter.toFixed(1)} s for 248 functions, ${whole.toFixed(1)} s for 1,000`,
  );
});
