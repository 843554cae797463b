import { assertEquals, assertMatch } from "@std/assert";
import { basename, join } from "node:path";
import { init } from "../../../cli/commands/init.ts";
import type { CliOptions } from "../../../cli/run_cli.ts";
import { runInProcess } from "../fixtures/run.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { withEnv } from "../../support/with_env.ts";

const run = (args: string[], cwd: string, options: Partial<CliOptions> = {}) =>
  runInProcess(["init", ...args], { commands: [init], cwd, ...options });

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

/** Answers the questions of a command in turn, as on a terminal. */
function answer(...answers: string[]) {
  const questions: string[] = [];
  const ask = (question: string) => {
    questions.push(question);
    return Promise.resolve(answers.shift());
  };
  return { questions, terminal: { ask, confirm: () => Promise.resolve(true) } };
}

Deno.test("init asks for the database on a terminal, and again after an unknown name", async () => {
  const cases: [answers: string[], provider: string, questions: number][] = [
    [[""], "postgres", 1],
    [["mysql", "neon"], "branching-pg", 2],
    [["rds-data"], "serverless-pg", 1],
    [["aurora-dsql"], "distsql", 1],
  ];
  for (const [answers, provider, count] of cases) {
    await withTempFolder({}, async (cwd) => {
      const { questions, terminal } = answer(...answers);
      const { exitCode, stderr } = await run(["api"], cwd, terminal);
      assertEquals(exitCode, 0);
      assertEquals(
        questions,
        Array(count).fill("Database: postgres, aurora-dsql, neon or rds-data [postgres] "),
      );
      assertEquals(stderr.includes('"mysql" is none of them'), count === 2);
      const source = await Deno.readTextFile(join(cwd, "api/src/database.ts"));
      assertMatch(source, new RegExp(`provider: "${provider}"`));
    });
  }
});

Deno.test("init does not ask with --database, --yes and --json", async () => {
  const cases: [args: string[], database: string][] = [
    [["--database", "neon"], "neon"],
    [["--yes"], "postgres"],
    [[], "postgres"],
  ];
  for (const [args, database] of cases) {
    await withTempFolder({}, async (cwd) => {
      const { questions, terminal } = answer("aurora-dsql");
      const json = await run(["api", ...args, "--json"], cwd, terminal);
      assertEquals([json.exitCode, JSON.parse(json.stdout).database], [0, database]);
      if (args.length > 0) assertEquals((await run(["b", ...args], cwd, terminal)).exitCode, 0);
      assertEquals(questions, []);
    });
  }
});

Deno.test("init names the package manager that runs it", async () => {
  const cases: [userAgent: string | undefined, next: string[], script: string][] = [
    [undefined, ["npm install", "npm test", "npm run dev"], "npm run check && npm test &&"],
    [
      "pnpm/10.20.0 npm/? node/v24.11.0",
      ["pnpm install", "pnpm test", "pnpm run dev"],
      "pnpm run check",
    ],
    [
      "yarn/4.9.1 npm/? node/v24.11.0",
      ["yarn install", "yarn run test", "yarn run dev"],
      "yarn run check",
    ],
    [
      "bun/1.3.0 npm/? node/v24.3.0",
      ["bun install", "bun run test", "bun run dev"],
      "bun run check",
    ],
  ];
  for (const [userAgent, next, script] of cases) {
    await withEnv({ npm_config_user_agent: userAgent }, () =>
      withTempFolder({}, async (cwd) => {
        const { stdout } = await run(["--runtime", "node", "--ci", "--json"], cwd);
        assertEquals(JSON.parse(stdout).next, next);
        const { scripts } = JSON.parse(await Deno.readTextFile(join(cwd, "package.json")));
        assertMatch(scripts.ci, new RegExp(`^${script}`));
        const workflow = await Deno.readTextFile(join(cwd, ".github/workflows/deploy.yml"));
        const [manager] = next[0].split(" ");
        assertEquals((await list(cwd)).includes(".yarnrc.yml"), manager === "yarn");
        const locked = manager === "npm" ? "npm ci\n" : `&& ${manager} install --`;
        assertEquals(workflow.includes(locked), true, workflow);
        assertMatch(await Deno.readTextFile(join(cwd, ".gitignore")), /^\.pnp\.\*\n\.yarn\/\*\n/m);
      }));
  }
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
    // a configuration that cannot be read, as without the project's packages
    await Deno.writeTextFile(join(cwd, "trellis.config.ts"), 'import "absent";');
    const again = await run(["--ci"], cwd);
    assertEquals(again.exitCode, 1);
    assertMatch(
      again.stdout,
      /contains \.github\/workflows\/deploy\.yml, infra-ci\/main\.tf\. Noth/,
    );
  });
});

Deno.test("init --ci takes the package manager of the lock file", async () => {
  await withTempFolder({}, async (cwd) => {
    await run(["--runtime", "node"], cwd);
    await Deno.writeTextFile(join(cwd, "pnpm-lock.yaml"), "");
    assertEquals((await run(["--ci"], cwd)).exitCode, 0);
    const workflow = await Deno.readTextFile(join(cwd, ".github/workflows/deploy.yml"));
    assertMatch(workflow, /pnpm install --frozen-lockfile\n {6}- run: pnpm run ci\n/);
  });
});

Deno.test("init --ci of a new project says what the workflow needs", async () => {
  await withTempFolder({}, async (cwd) => {
    const { exitCode, stdout } = await run(["api", "--ci"], cwd);
    assertEquals(exitCode, 0);
    assertMatch(stdout, /The workflow needs:\n {2}cd infra-ci && terraform init/);
  });
});
