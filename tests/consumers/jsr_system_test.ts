/** The package as JSR serves it: the bytes that `deno publish` uploads, installed by Deno and by npm clients. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import { TEMPLATE_NAMES, type TemplateName } from "../../cli/init/project_choices.ts";
import { type JsrRegistry, packForNpm, startJsrRegistry } from "./support/jsr_registry.ts";
import { captureUpload } from "./support/jsr_upload.ts";
import { CACHE, PROGRAMS } from "./support/package.ts";
import { runOrThrow } from "../../scripts/program.ts";
import { findTool, IS_FULL, type Tool } from "./support/tools.ts";

const upload = await captureUpload();

/** A plain and a session handler. */
const HANDLERS: string = await Deno.readTextFile(join(PROGRAMS, "handlers.mjs"));

const SILENT = { METRICS_DISABLED: "true" };
const ANSWERS = '{"twice":42}\n401\n';

const SPECIFIERS = Object.keys(upload.exports).map((entry) => entry.slice(1));
const IMPORTS = {
  ...Object.fromEntries(
    SPECIFIERS.map((
      entry,
    ) => [`${upload.name}${entry}`, `jsr:${upload.name}@${upload.version}${entry}`]),
  ),
  zod: "npm:zod@4.6.7",
};

/** Runs in a new folder, with a cache in which no package from JSR is and those from npm are. */
async function withProject(
  registry: JsrRegistry,
  fn: (project: Project) => Promise<void>,
): Promise<void> {
  await Deno.mkdir(CACHE, { recursive: true });
  const folder = await Deno.makeTempDir({ dir: CACHE, prefix: "jsr-" });
  try {
    const { stdout } = await runOrThrow(Deno.execPath(), ["info", "--json"]);
    const cache = join(folder, "deno");
    await Deno.mkdir(cache);
    await Deno.symlink(
      JSON.parse(stdout).npmCache,
      join(cache, "npm"),
    );
    const env = { JSR_URL: registry.url, DENO_DIR: cache };
    const cwd = join(folder, "app");
    await Deno.mkdir(cwd);
    await fn({
      folder: cwd,
      async deno(args, more = {}) {
        return (await runOrThrow(Deno.execPath(), args, { cwd, env: { ...env, ...more } })).stdout;
      },
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

interface Project {
  readonly folder: string;
  /** Runs Deno and returns what it printed. */
  deno(args: readonly string[], env?: Record<string, string>): Promise<string>;
}

Deno.test("the upload holds no tests, no tools and no file of the machine", () => {
  const folders = [...new Set([...upload.files.keys()].map((path) => path.split("/")[1]))].sort();
  assertEquals(folders, [
    ...[
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "auth",
      "cli",
      "client",
      "core",
      "database",
      "deno.json",
      "distsql",
      "env",
      "errors",
      "idempotency",
      "jobs",
      "mail",
    ],
    ...["mod.ts", "modules", "observability", "realtime", "router", "sql", "streaming", "testing"],
    ...["triggers", "uploads", "validation", "workflows"],
  ]);
  const strays = [...upload.files.keys()].filter((path) =>
    /\/(tests|examples|fixtures|\.\w+)(\/|$)|_test\.ts$/.test(path)
  );
  assertEquals(strays, []);
});

Deno.test("a project asks JSR for ranges of zod and drizzle-orm, so that it may have other versions", () => {
  const text = [...upload.files].filter(([path]) => path.endsWith(".ts"))
    .map(([, bytes]) => new TextDecoder().decode(bytes)).join("\n");
  const found = new Set(
    [...text.matchAll(/(?:from |import\()"npm:\/?((?:zod|drizzle-orm|postgres)@[^/"]+)/g)].map((
      [, it],
    ) => it),
  );
  assertEquals([...found].map((it) => it.split("@")[1][0]), Array(3).fill("^"), [...found].join());
});

Deno.test("trellis init makes a Deno project from JSR where no package can be installed", async () => {
  await using registry = startJsrRegistry(upload);
  await withProject(registry, async ({ folder, deno }) => {
    const env = { NPM_CONFIG_REGISTRY: registry.url, DENO_DIR: join(dirname(folder), "empty") };
    const printed = await deno(["run", "-A", `jsr:${upload.name}/cli`, "init"], env);
    assertStringIncludes(printed, "created deno.json");
  });
});

for (const template of IS_FULL ? TEMPLATE_NAMES : TEMPLATE_NAMES.slice(0, 1)) {
  Deno.test(`a project of the template ${template} is developed with the package from JSR`, async () => {
    await using registry = startJsrRegistry(upload);
    await withProject(registry, async ({ folder, deno }) => {
      await deno(["run", "-A", `jsr:${upload.name}/cli`, "init", "--template", template]);
      await deno(["install"]);
      const check = IS_FULL ? [] : ["--no-check"];
      const tested = await deno(["test", "-A", ...check, "tests"], { NO_COLOR: "1" });
      assertMatch(tested, /[1-9]\d* passed \| 0 failed/);
      // it imports files of the project
      await deno(["task", "trellis", "generate", "openapi"]);
      if (template === "notes") await buildSessionCheck(folder, deno);
      if (IS_FULL) await buildProject(template, folder, deno);
    });
  });
}

/** Builds functions that check sessions. */
async function buildSessionCheck(folder: string, deno: Project["deno"]): Promise<void> {
  await deno(["task", "trellis", "build"]);
  const bundle = await Deno.readTextFile(join(folder, "dist/NotesGet/index.mjs"));
  assertStringIncludes(bundle, "} inner join ${");
}

/** Runs the checks of a project, builds it, and calls its functions with values of a wrong type. */
async function buildProject(
  template: TemplateName,
  folder: string,
  deno: Project["deno"],
): Promise<void> {
  await deno(["task", "check"]);
  await deno(["task", "generate"]);
  await deno(["task", "trellis", "check", "all", "--no-database"]);
  const built = await deno(["task", "build"]);
  assertStringIncludes(built, "schemas compiled ahead of time:");
  const health = await callFunction(folder, "Health", {});
  // the bundle of a function has no embedded database
  const down = [503, '{"status":"down","database":"down"}'];
  assertEquals(
    [health.statusCode, health.body],
    template === "empty" ? [200, '{"status":"ok"}'] : down,
  );
  if (template !== "api" && template !== "jobs") return;
  const invalid = await callFunction(folder, template === "jobs" ? "OrdersPost" : "NotesPost", {
    httpMethod: "POST",
    body: "{}",
  });
  const field = template === "jobs" ? "item" : "title";
  // the messages of zod, which the function has loaded for these values
  const message = ["Invalid input: expected string, received undefined"];
  assertEquals([invalid.statusCode, JSON.parse(invalid.body).errors], [400, { [field]: message }]);
}

async function callFunction(
  folder: string,
  name: string,
  event: Record<string, unknown>,
): Promise<{ statusCode: number; body: string }> {
  const program = `import { handler } from "./dist/${name}/index.mjs";
    const context = { awsRequestId: "r", functionName: "f", getRemainingTimeInMillis: () => 5000 };
    const event = { httpMethod: "GET", path: "/", headers: {}, requestContext: {} };
    console.log(JSON.stringify(await handler({ ...event, ...${JSON.stringify(event)} }, context)));
    process.exit();`;
  const { stdout } = await runOrThrow("node", ["--input-type=module", "--eval", program], {
    cwd: folder,
    env: { ...SILENT, LOG_LEVEL: "SILENT", DATABASE_ENDPOINT: "localhost", DATABASE_REGION: "a" },
  });
  return JSON.parse(stdout);
}

Deno.test("handlers answer and every entry point can be used on Deno with the package from JSR", async () => {
  await using registry = startJsrRegistry(upload);
  await withProject(registry, async ({ folder, deno }) => {
    await Deno.writeTextFile(join(folder, "deno.json"), JSON.stringify({ imports: IMPORTS }));
    await Deno.writeTextFile(join(folder, "handlers.mjs"), HANDLERS);
    await Deno.copyFile(join(PROGRAMS, "use_every_entry.mjs"), join(folder, "use_every_entry.mjs"));
    await deno(["install"]);
    assertEquals(await deno(["run", "-A", "handlers.mjs"], SILENT), ANSWERS);
    assertEquals(
      JSON.parse(await deno(["run", "-A", "use_every_entry.mjs"], SILENT)).runtime.split(" ")[0],
      "deno",
    );
  });
});

/** How `jsr add` is called, and the runtime of the project. */
const CLIENTS: readonly {
  readonly flag: string;
  readonly runtime: Tool;
  readonly program: string;
}[] = [
  { flag: "--npm", runtime: "node20", program: "node" },
  { flag: "--npm", runtime: "node24", program: "node" },
  { flag: "--bun", runtime: "bun", program: "bun" },
];

Deno.test(
  { name: "a plain and a session handler answer with the package from jsr add", ignore: !IS_FULL },
  async (t) => {
    await using registry = startJsrRegistry(upload, await packForNpm(upload));
    for (const { flag, runtime, program } of CLIENTS) {
      await t.step(`jsr add ${flag} on ${runtime}`, async () => {
        const found = await findTool(runtime);
        if (found === undefined) return;
        const bin = join(found, "bin");
        const folder = await Deno.makeTempDir({ dir: CACHE, prefix: "jsr-" });
        try {
          await Deno.writeTextFile(
            join(folder, "package.json"),
            '{ "private": true, "type": "module" }',
          );
          // the address that the jsr tool would write
          await Deno.writeTextFile(join(folder, ".npmrc"), `@jsr:registry=${registry.url}\n`);
          await Deno.writeTextFile(join(folder, "handlers.mjs"), HANDLERS);
          const env = { PATH: `${bin}:${Deno.env.get("PATH")}` };
          await runOrThrow("npx", ["--yes", "jsr@0.14.3", "add", flag, upload.name], {
            cwd: folder,
            env,
          });
          const { stdout } = await runOrThrow(join(bin, program), ["handlers.mjs"], {
            cwd: folder,
            env: SILENT,
          });
          assertEquals(stdout, ANSWERS);
        } finally {
          await Deno.remove(folder, { recursive: true });
        }
      });
    }
  },
);
