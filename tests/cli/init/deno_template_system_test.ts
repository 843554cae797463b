import { assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import { createProjectFiles } from "../../../cli/init/template.ts";
import { denoProjectFiles, writeTestProject } from "../build/project.ts";

/** The check of types takes most of the time: it is part of the long form. */
const TASKS = Deno.env.get("TRELLIS_FULL_TESTS") === "1"
  ? [["check"], ["test", "--no-check"]]
  : [["test", "--no-check"]];

Deno.test("the template for Deno passes its tasks, builds and answers in Node", async () => {
  const files = Object.fromEntries(createProjectFiles("my-api", "deno"));
  const config = JSON.parse(files["deno.json"]);
  const checkout = await denoProjectFiles();
  const { imports } = JSON.parse(checkout["deno.json"]);
  const own = Object.keys(config.imports).filter((name) => name.startsWith("@trellis/fn"));
  assertEquals(
    own.filter((name) => imports[name] === undefined),
    [],
    "the package of the template exists",
  );
  // what the registry would give comes from the checkout
  await using project = await writeTestProject({
    ...files,
    "deno.lock": checkout["deno.lock"],
    "deno.json": JSON.stringify({ ...config, imports: { ...config.imports, ...imports } }),
  });
  const { root } = project;
  // the task check includes the types of the tests
  for (const [task, ...args] of TASKS) {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["task", task, ...args],
      cwd: root,
      // tasks call deno by its name
      env: { NO_COLOR: "1", PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}` },
    }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assertEquals(success, true, text);
    if (task === "test") assertStringIncludes(text, "3 passed | 0 failed");
  }
  const { exitCode, stdout } = await project.build();
  assertEquals(exitCode, 0, stdout);
  assertStringIncludes(stdout, "5 functions");
  const { answer } = await project.call("Health");
  // the bundle of a function has no embedded database
  assertEquals([answer.statusCode, answer.body], [503, '{"status":"down","database":"down"}']);
  assertEquals((await Deno.stat(join(root, "dist/NotesPost/index.mjs"))).isFile, true);
});
