// deno-lint-ignore-file no-console
import { assert, assertEquals } from "@std/assert";
import { compileErrors, validate } from "@readme/openapi-parser";
import { join } from "node:path";
import process from "node:process";
import { writeLargeOpenapiProject } from "../fixtures/large_openapi_project.ts";
import { generate } from "../fixtures/openapi_project.ts";

const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const FUNCTIONS = IS_FULL ? 1000 : 80;

/** The work of the processor, which says the same on a busy machine. */
async function measure(functions: number): Promise<number> {
  const root = await Deno.makeTempDir({ prefix: "trellis-openapi-large-" });
  try {
    await writeLargeOpenapiProject(root, functions);
    const before = process.cpuUsage();
    const { exitCode, stdout } = await generate(root);
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

Deno.test(`generate openapi describes every one of ${FUNCTIONS} functions in a valid document`, async () => {
  // only a process that has run before can be compared with others
  if (IS_FULL) await measure(40);
  const seconds = await measure(FUNCTIONS);
  console.info(`processor time: ${seconds.toFixed(1)} s for ${FUNCTIONS} functions`);
});
