import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { dev } from "../../../cli/commands/dev.ts";
import { createTestProject, FILES, SERVED } from "../dev/fixtures/project.ts";
import { runInProcess } from "../fixtures/run.ts";

const PROGRAM = `import process from "node:process";
import { runCli } from "${new URL("../../../cli/run_cli.ts", import.meta.url)}";
import { dev } from "${new URL("../../../cli/commands/dev.ts", import.meta.url)}";
process.once("SIGINT", () => process.exit(130));
process.exitCode = await runCli(process.argv.slice(2), { commands: [dev] });
`;
const CONFIG = fileURLToPath(new URL("../../../deno.json", import.meta.url));

function spawn(program: string, args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--frozen", "--config", CONFIG, program, "dev", ...args],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Reads until the text holds what is looked for. */
async function readUntil(
  reader: ReadableStreamDefaultReader<string>,
  pattern: RegExp,
): Promise<string> {
  let text = "";
  while (!pattern.test(text)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`it ended: ${text}`);
    text += value;
  }
  return text;
}

Deno.test(
  "trellis dev serves, tells where, and ends in order at Ctrl-C and at SIGTERM",
  SERVED,
  async () => {
    await using project = await createTestProject(FILES);
    await project.write("program.ts", PROGRAM);
    for (const [signal, args] of [["SIGINT", ["--json"]], ["SIGTERM", []]] as const) {
      const child = spawn(`${project.root}/program.ts`, [
        "--project",
        project.root,
        "--port",
        "0",
        ...args,
      ]);
      const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      const stderr = new Response(child.stderr).text();
      let url: string;
      if (args.length > 0) {
        const result = JSON.parse(await readUntil(stdout, /^\}\n/m));
        url = result.url;
        assertEquals(result.error, undefined);
        assertEquals([result.command, result.project, result.page], [
          "dev",
          "fixture",
          `${url}/_trellis`,
        ]);
        assertEquals(result.functions.map(({ name }: { name: string }) => name), [
          "HelloByName",
          "Plain",
          "SendMail",
        ]);
      } else {
        const text = await readUntil(stdout, /Press Ctrl-C to stop/);
        url = /runs at (\S+)/.exec(text)![1];
        assertMatch(text, /functions {2}3: 2 api, 1 queue\n/);
      }
      assertEquals((await fetch(`${url}/plain`)).status, 200);
      child.kill(signal);
      const { code } = await child.status;
      const rest = await readUntil(stdout, /$/).catch(() => "");
      assertEquals(code, 0, rest);
      assertStringIncludes(await stderr, "Stopping …");
      await stdout.cancel();
    }
    assertEquals(
      [...Deno.readDirSync(`${project.root}/.trellis/dev`)].some(({ name }) => name === "lock"),
      false,
    );
  },
);

Deno.test(
  "trellis dev --mock serves the document without a function and without local data",
  SERVED,
  async () => {
    const project = await createTestProject({
      ...FILES,
      "src/functions/api/notes.get.ts": `import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";
if (!process.env.NEVER_SET) throw new Error("the function was loaded");
export const handler = defineApiHandler({
  auth: "bearer",
  querySchema: z.object({ limit: z.coerce.number<number>().max(50) }),
  responseSchema: z.object({ title: z.string().meta({ examples: ["Milk"] }) }),
})(() => ({ title: "real" }));
`,
    });
    await project.write("program.ts", PROGRAM);
    try {
      const args = ["--mock", "--project", project.root, "--port", "0", "--json"];
      const child = spawn(`${project.root}/program.ts`, args);
      const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      const stderr = new Response(child.stderr).text();
      const result = JSON.parse(await readUntil(stdout, /^\}\n/m));
      assertEquals([result.error, result.operations], [undefined, 3], result.error);
      const note = await fetch(`${result.url}/notes?limit=5`);
      assertEquals([note.status, await note.json()], [200, { title: "Milk" }]);
      assertEquals((await fetch(`${result.url}/notes?limit=51`)).status, 400);
      await project.write(
        "src/functions/api/labels.get.ts",
        `export { handler } from "./notes.get.ts";`,
      );
      assertEquals(await (await fetch(`${result.url}/labels?limit=5`)).json(), { title: "Milk" });
      child.kill("SIGTERM");
      assertEquals((await child.status).code, 0, await stderr);
      assertEquals(
        [...Deno.readDirSync(project.root)].some(({ name }) => name === ".trellis"),
        false,
      );
      await stdout.cancel();
    } finally {
      await project.clean();
    }
  },
);

Deno.test("trellis dev refuses what it cannot serve, with the exit code", SERVED, async () => {
  const cases: [args: string[], exitCode: number, message: RegExp][] = [
    [["--port", "none"], 2, /--port must be a port from 0 to 65535, got "none"/],
    [["--port", "65536"], 2, /--port must be a port from 0 to 65535, got "65536"/],
    [["--db", "mysql"], 2, /--db must be one of .*, got "mysql"/],
    [["--mock", "--db", "env"], 2, /--db belongs to the local database: it excludes --mock/],
    [["--stage", "dev", "--mock"], 2, /--mock belongs to the local server: it excludes --stage/],
    [["--port", "0"], 3, /The folder .*src\/functions/],
    [
      ["--project", "/nowhere/at/all"],
      3,
      /The folder \/nowhere\/at\/all does not exist \(--project\)/,
    ],
  ];
  const project = await createTestProject({});
  const cwd = Deno.cwd();
  try {
    for (const [args, exitCode, message] of cases) {
      const result = await runInProcess(["dev", "--project", project.root, ...args], {
        commands: [dev],
      });
      assertEquals(result.exitCode, exitCode);
      assertMatch(result.stderr, message);
    }
    assertEquals([...Deno.readDirSync(project.root)], []);
  } finally {
    Deno.chdir(cwd);
    await project.clean();
  }
});

Deno.test("trellis dev --help shows how to start a function from a terminal", async () => {
  const { exitCode, stdout } = await runInProcess(["dev", "--help"], { commands: [dev] });
  assertEquals(exitCode, 0);
  assertStringIncludes(
    stdout,
    `curl -d '{"noteId":"n1"}' localhost:8787/_trellis/api/functions/IndexNote/invoke`,
  );
});
