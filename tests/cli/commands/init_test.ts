import { assertEquals, assertMatch } from "@std/assert";
import { basename, join } from "node:path";
import { init } from "../../../cli/commands/init.ts";
import { runInProcess } from "../fixtures/run.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const run = (args: string[], cwd: string) =>
  runInProcess(["init", ...args], { commands: [init], cwd });

async function list(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const found = await Promise.all(
    entries.map(async ({ name, isDirectory }) =>
      isDirectory ? (await list(join(folder, name))).map((each) => `${name}/${each}`) : [name]
    ),
  );
  return found.flat().sort();
}

Deno.test("init writes the files that it names, for each runtime", async () => {
  await withTempFolder({}, async (cwd) => {
    for (const [runtime, own] of [["node", "package.json"], ["deno", "deno.json"]]) {
      const { exitCode, stdout, stderr } = await run([
        `My ${runtime} API`,
        "--runtime",
        runtime,
        "--json",
      ], cwd);
      assertEquals([exitCode, stderr], [0, ""]);
      const { files, name, next } = JSON.parse(stdout);
      assertEquals(name, `my-${runtime}-api`);
      assertEquals(next[0], `cd "My ${runtime} API"`);
      assertEquals([...files].sort(), await list(join(cwd, `My ${runtime} API`)));
      assertEquals(files.filter((file: string) => /^(?:package|deno)\.json$/.test(file)), [own]);
    }
  });
});

Deno.test("init takes the runtime that it runs on, and the working directory, when nothing is said", async () => {
  await withTempFolder({}, async (cwd) => {
    await Deno.mkdir(join(cwd, ".git"));
    const { exitCode, stdout } = await run([], cwd);
    assertEquals(exitCode, 0);
    assertMatch(stdout, /created deno\.json\n/);
    assertMatch(
      stdout,
      new RegExp(
        `${
          basename(cwd).toLowerCase().slice(0, 20)
        }[^\\n]* is ready. Next:\\n  deno install\\n  deno task test\\n`,
      ),
    );
  });
});

Deno.test("init refuses a folder that is not empty, and names what is in it", async () => {
  await withTempFolder({}, async (cwd) => {
    for (const name of ["b.txt", "a.txt", ".env"]) {
      await Deno.writeTextFile(join(cwd, name), "mine");
    }
    const { exitCode, stdout } = await run(["."], cwd);
    assertEquals(exitCode, 1);
    assertMatch(stdout, /is not empty: it contains \.env, a\.txt, b\.txt\. Nothing was written/);
    assertEquals(await list(cwd), [".env", "a.txt", "b.txt"]);
    const json = await run(["--json"], cwd);
    assertEquals([json.exitCode, JSON.parse(json.stdout).inTheWay], [1, [
      ".env",
      "a.txt",
      "b.txt",
    ]]);
  });
});

Deno.test("init refuses wrong command lines, and a folder that is a file", async () => {
  await withTempFolder({}, async (cwd) => {
    await Deno.writeTextFile(join(cwd, "file"), "");
    const cases: readonly [args: string[], exitCode: number, message: RegExp][] = [
      [["api", "--runtime", "bun"], 2, /--runtime must be one of node, deno, got "bun"/],
      [["api", "more"], 2, /"more": trellis init \[folder\] \[options\]/],
      [["file"], 3, /file cannot be read: ENOTDIR/],
    ];
    for (const [args, exitCode, message] of cases) {
      const result = await run(args, cwd);
      assertEquals(result.exitCode, exitCode);
      assertMatch(result.stderr, message);
    }
    assertEquals(await list(cwd), ["file"]);
  });
});

Deno.test("init --ci adds the workflow to a project, and replaces none", async () => {
  await withTempFolder({}, async (cwd) => {
    await run(["--runtime", "deno"], cwd);
    await Deno.mkdir(join(cwd, ".github/workflows"), { recursive: true });
    await Deno.writeTextFile(join(cwd, ".github/workflows/test.yml"), "mine");
    const before = await list(cwd);
    const { exitCode, stdout } = await run(["--ci"], cwd);
    assertEquals(exitCode, 0, stdout);
    const added = [".github/workflows/deploy.yml", "infra-ci/main.tf"];
    assertEquals(await list(cwd), [...before, ...added].sort());
    const name = basename(cwd).toLowerCase().slice(0, 10);
    assertMatch(stdout, new RegExp(`permissionsBoundary: "${name}[^"]*-functions"`));
    assertMatch(await Deno.readTextFile(join(cwd, added[0])), /deno task ci/);
    const again = await run(["--ci"], cwd);
    assertEquals(again.exitCode, 1);
    assertMatch(
      again.stdout,
      /contains \.github\/workflows\/deploy\.yml, infra-ci\/main\.tf\. Noth/,
    );
  });
});

Deno.test("init --ci of a new project says what the workflow needs", async () => {
  await withTempFolder({}, async (cwd) => {
    const { exitCode, stdout } = await run(["api", "--ci"], cwd);
    assertEquals(exitCode, 0);
    assertMatch(stdout, /The workflow needs:\n {2}cd infra-ci && terraform init/);
  });
});
