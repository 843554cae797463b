import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import { createProjectFiles } from "../../../cli/init/template.ts";
import { type DatabaseName, TEMPLATE_NAMES } from "../../../cli/init/project_choices.ts";
import { listFiles } from "../../../scripts/list_files.ts";
import { runOrThrow } from "../../../scripts/program.ts";
import { denoProjectFiles, writeTestProject } from "../build/project.ts";
import { withProject } from "../fixtures/analyse.ts";
import { infra, permissions, readInfra } from "../fixtures/infra_project.ts";

/** The check of types takes most of the time. */
const CHECK = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? [] : ["--no-check"];
/** The template `notes` has other tests. */
const OTHERS = TEMPLATE_NAMES.filter((name) => name !== "notes");

for (const template of OTHERS) {
  Deno.test(`the template ${template} passes its tests`, async () => {
    const checkout = await denoProjectFiles();
    const created = [...createProjectFiles("my-api", "deno", { template })]
      .filter(([path]) => /^(?:migrations|src|tests)\//.test(path));
    const { root, remove } = await writeTestProject({
      "deno.json": checkout["deno.json"],
      "deno.lock": checkout["deno.lock"],
      ...Object.fromEntries(created),
    });
    try {
      const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["test", "-A", "--quiet", ...CHECK, "tests"],
        cwd: root,
        env: { NO_COLOR: "1", PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}` },
      }).output();
      const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assertEquals(success, true, text);
      assertMatch(text, /[1-9] passed \| 0 failed/);
    } finally {
      await remove();
    }
  });
}

for (const template of OTHERS) {
  Deno.test(`the template ${template} has complete grants and infrastructure`, async () => {
    const files = Object.fromEntries(createProjectFiles("my-api", "node", { template }));
    await withProject(files, async (root) => {
      const granted = await permissions(root);
      assertEquals(granted.exitCode, 0, granted.stdout + granted.stderr);
      const { exitCode, stdout, stderr } = await infra(
        root,
        "--modules-path",
        join(Deno.cwd(), "modules"),
      );
      assertEquals([exitCode, /warning/i.test(stdout)], [0, false], stdout + stderr);
      if (template === "accounts") {
        assertStringIncludes(await readInfra(root, "mail.tf"), '"example.com"');
        // only the functions that send may send
        const sends = async (name: string) =>
          (await readInfra(root, `fn_${name}.tf`)).includes("local.mail_policy_json");
        const senders = await Promise.all(["mail", "mail_relay", "notes_get"].map(sends));
        assertEquals(senders, [true, false, false]);
      }
      if (template === "jobs") {
        const cleanup = await readInfra(root, "fn_idempotency_cleanup.tf");
        assertMatch(cleanup, /schedule_expression += "rate\(1 day\)"/);
      }
    });
  });
}

/** What the infrastructure of a function that uses the database has, and what it lacks. */
const DATABASES: Readonly<Record<DatabaseName, readonly [present: RegExp, absent: RegExp]>> = {
  postgres: [/vpc_config[^]*DATABASE_URL_SOURCE += /, /rds-data|cluster_endpoint/],
  "aurora-dsql": [
    /DATABASE_ENDPOINT += module\.database\.cluster_endpoint/,
    /vpc_config|DATABASE_URL/,
  ],
  neon: [/DATABASE_URL_SOURCE += "secretsmanager:/, /vpc_config|rds-data/],
  "rds-data": [/"data-api" = [^]*DATABASE_URL += "rds-data:/, /vpc_config|DATABASE_URL_SOURCE/],
};

for (const [database, [present, absent]] of Object.entries(DATABASES)) {
  Deno.test(`a project for ${database} gives its functions access to that database only`, async () => {
    const options = { template: "api", database: database as DatabaseName } as const;
    const files = Object.fromEntries(createProjectFiles("my-api", "node", options));
    await withProject(files, async (root) => {
      assertEquals((await permissions(root)).exitCode, 0);
      const modules = join(Deno.cwd(), "modules");
      const { exitCode, stdout, stderr } = await infra(root, "--modules-path", modules);
      assertEquals([exitCode, /warning/i.test(stdout)], [0, false], stdout + stderr);
      const text = await readInfra(root, "fn_notes_get.tf");
      assertMatch(text, present);
      assertEquals(absent.test(text), false, text);
      const health = await readInfra(root, "fn_health.tf");
      assertMatch(health, present);
    });
  });
}

for (const template of TEMPLATE_NAMES.filter((name) => name !== "empty")) {
  Deno.test(`the README of the template ${template} removes its example in one command`, async () => {
    const files = createProjectFiles("my-api", "node", { template });
    const [, command] = /```sh\n(rm -r [^]*?)```/.exec(files.get("README.md")!)!;
    await withProject(Object.fromEntries(files), async (root) => {
      await runOrThrow("sh", ["-c", command], { cwd: root });
      const left = listFiles(root).filter((path) => /^(?:src|tests|migrations)\//.test(path));
      assertEquals(left.filter((path) => /note|order/.test(path)), []);
      for (const path of left) {
        const text = await Deno.readTextFile(join(root, path));
        assertEquals(
          /\b(?:notes|orders)\b/.test(text.replaceAll(/"Notes( <[^>]*>)?"/g, "")),
          false,
          path,
        );
      }
      const granted = await permissions(root);
      assertEquals(granted.exitCode, 0, granted.stdout + granted.stderr);
      const modules = join(Deno.cwd(), "modules");
      const { exitCode, stdout, stderr } = await infra(root, "--modules-path", modules);
      assertEquals([exitCode, /warning/i.test(stdout)], [0, false], stdout + stderr);
    });
  });
}
