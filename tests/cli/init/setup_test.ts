import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { COMMON_FILES } from "../../../cli/init/common_files.ts";

const ROOT = join(import.meta.dirname!, "../../..");

Deno.test("a new project's tests print the error of a handler that fails, and nothing else", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const at = (file: string) => JSON.stringify(pathToFileURL(join(ROOT, file)).href);
    const setup = COMMON_FILES["tests/setup.ts"]
      .replace('"@trellis/fn/testing"', at("testing/mod.ts"));
    await Deno.writeTextFile(join(folder, "setup.ts"), setup);
    await Deno.writeTextFile(
      join(folder, "test.ts"),
      `import "./setup.ts";
      import { createLambdaContext, createRestApiEvent } from ${at("testing/mod.ts")};
      import { NotFoundError } from ${at("errors/mod.ts")};
      import { defineApiHandler } from ${at("validation/mod.ts")};
      const errors = [undefined, new NotFoundError("No such note"), new Error("no table trellis_jobs")];
      for (const error of errors) {
        const handler = defineApiHandler({})(() => {
          if (error !== undefined) throw error;
          return { statusCode: 204, body: "" };
        });
        const { statusCode } = await handler(createRestApiEvent({}), createLambdaContext());
        console.log(statusCode);
      }`,
    );
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        "--config",
        join(ROOT, "deno.json"),
        join(folder, "test.ts"),
      ],
    }).output();
    const [lines, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assertMatch(
      lines,
      /^204\n404\n\{"level":"ERROR",[^\n]*"message":"no table trellis_jobs"[^\n]*\n500\n$/,
    );
    assertEquals(errors, "");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
