import { assert, assertEquals } from "@std/assert";
import { logInfo, setLogOutput } from "../../observability/mod.ts";
import { writeOutput } from "../../observability/output.ts";

Deno.test("setLogOutput() takes the lines, and its result puts the former output back", () => {
  const outer: string[] = [], inner: string[] = [];
  const restoreOuter = setLogOutput((text) => outer.push(text));
  const restoreInner = setLogOutput((text) => inner.push(text));
  logInfo("inner");
  restoreInner();
  logInfo("outer");
  restoreOuter();
  assertEquals([inner.length, outer.length], [1, 1]);
  assert(inner[0].endsWith("\n"));
});

Deno.test("writeOutput() writes nothing for an empty text", () => {
  const restore = setLogOutput(() => {
    throw new Error("must not be called");
  });
  writeOutput("");
  restore();
});

const OUTPUT = JSON.stringify(new URL("../../observability/output.ts", import.meta.url).href);

Deno.test("writeOutput() writes to standard output, also more than a pipe takes at once", async () => {
  const bytes = 3_000_000;
  const program = `
    import { writeOutput } from ${OUTPUT};
    writeOutput("é".repeat(${bytes / 2}) + "\\n");
    writeOutput("last\\n");`;
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", "--ext=ts", program],
    cwd: new URL("../..", import.meta.url),
    stderr: "null",
  }).output();
  assert(success);
  assertEquals(stdout.length, bytes + 1 + 5);
  assertEquals(new TextDecoder().decode(stdout.slice(-6)), "\nlast\n");
});

Deno.test("writeOutput() continues when standard output is closed", async () => {
  const program = `
    import { writeOutput } from ${OUTPUT};
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (let i = 0; i < 5; i++) writeOutput("x".repeat(100_000));
    Deno.exit(7);`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", "--ext=ts", program],
    cwd: new URL("../..", import.meta.url),
    stdout: "piped",
    stderr: "null",
  }).spawn();
  await child.stdout.cancel();
  assertEquals((await child.status).code, 7);
});
