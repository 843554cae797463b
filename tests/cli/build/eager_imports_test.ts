import { assert, assertEquals, assertFalse } from "@std/assert";
import { join } from "node:path";
import { createEagerRewrite } from "../../../cli/build/eager_imports.ts";
import { createModulePaths } from "../../../cli/build/module_paths.ts";
import type { DatabaseProvider } from "../../../database/mod.ts";
import { CHECKOUT, denoProjectFiles, writeTestProject } from "./project.ts";

const paths = createModulePaths("/somewhere/else");
const none = (_name: string) => false;

async function rewriteOwn(
  provider: DatabaseProvider,
  module: string,
  isExternal = none,
): Promise<[string, string]> {
  const path = join(CHECKOUT, "database", module);
  const code = await Deno.readTextFile(path);
  return [code, createEagerRewrite(provider, isExternal, paths)(path, code)];
}

function getImports(text: string): string[] {
  return [...text.matchAll(/^(?:import \* as \w+ from "[^"]+";)+/g)].flatMap(([all]) =>
    [...all.matchAll(/"([^"]+)"/g)].map(([, specifier]) => specifier)
  );
}

Deno.test("createEagerRewrite() turns what a provider loads later into imports, and nothing else", async () => {
  const found: Record<string, Record<string, string[]>> = {};
  for (const provider of ["distsql", "serverless-pg", "branching-pg", "embedded-pg"] as const) {
    found[provider] = {};
    for (
      const name of [
        "client",
        "providers/postgres_js",
        "providers/serverless_pg",
        "providers/branching_pg",
      ]
    ) {
      const [code, text] = await rewriteOwn(provider, `${name}.ts`);
      const imports = getImports(text);
      if (imports.length > 0) found[provider][name] = imports;
      assertEquals(text.split("\n").length, code.split("\n").length, "a line moved");
      const left = [...text.matchAll(/(?<!typeof )\bimport\("([^"]+)"\)/g)].map(([, specifier]) =>
        specifier
      );
      const before = [...code.matchAll(/(?<!typeof )\bimport\("([^"]+)"\)/g)].map(([, specifier]) =>
        specifier
      );
      assertEquals(left, before.filter((specifier) => !imports.includes(specifier)));
    }
  }
  const direct = ["postgres"];
  // what another provider's module would load is never reached
  const neon = ["@neondatabase/serverless"];
  assertEquals(found, {
    "distsql": { "client": ["./providers/distsql.ts"], "providers/postgres_js": direct },
    "serverless-pg": {
      "client": ["./providers/serverless_pg.ts"],
      "providers/postgres_js": direct,
      "providers/serverless_pg": ["./data_api.ts"],
    },
    "branching-pg": { "client": ["./providers/branching_pg.ts"], "providers/branching_pg": neon },
    "embedded-pg": {},
  });
});

Deno.test("createEagerRewrite() knows packages as they are written in what JSR serves", () => {
  const rewrite = createEagerRewrite("serverless-pg", none, paths);
  const root = "https://registry.example/@trellis/fn/0.1.0";
  const code = `const p = await import("npm:postgres@3.4.9"), d = await import("npm:other@1.0.0");`;
  assertEquals(
    rewrite(`${root}/database/providers/postgres_js.ts`, code),
    'import * as eager0 from "npm:postgres@3.4.9";' +
      'const p = await Promise.resolve(eager0), d = await import("npm:other@1.0.0");',
  );
  assertEquals(rewrite(`${root}/database/retry.ts`, code), code);
});

Deno.test("createEagerRewrite() leaves packages that stay outside of the bundle, and everybody else's modules", async () => {
  const [, text] = await rewriteOwn(
    "branching-pg",
    "providers/branching_pg.ts",
    (name) => name.startsWith("@neon"),
  );
  assertEquals(getImports(text), []);
  const own = createEagerRewrite(
    "serverless-pg",
    none,
    createModulePaths(CHECKOUT.replace(/\/$/, "")),
  );
  const code = `import("postgres")`;
  assertEquals(own(join(CHECKOUT, "database/client.ts"), code), code);
});

Deno.test("build loads the driver of the only provider at the start, unwrapped, and without names when that is wanted", async () => {
  const source = `import { getDrizzleClient } from "@trellis/fn/database";
export async function handler() {
  const connectionString = \`postgres://nobody@127.0.0.1:\${process.env.PORT}/none\`;
  return await getDrizzleClient({ provider: "serverless-pg", connectionString, connectTimeout: 1 })
    .then(() => ({ statusCode: 200 }), (error) => ({ statusCode: 500, body: error.code }));
}
`;
  const project = await writeTestProject({
    ...await denoProjectFiles(),
    "trellis.config.ts": `export default { build: { awsSdk: "runtime" } };`,
    "src/functions/standalone/probe.ts": source,
  });
  const read = () => Deno.readTextFile(join(project.root, "dist/Probe/index.mjs"));
  try {
    const { exitCode, stdout, stderr } = await project.build();
    assertEquals(exitCode, 0, stdout + stderr);
    const named = await read();
    // what is loaded later, and all that it imports, is wrapped: `f(() => {…})` in place of each module
    const wrapped = [...named.matchAll(/=[\w$]+\(\(\)=>\{/g)].length;
    assert(wrapped < 30, `${wrapped} modules are wrapped`);
    const { answer } = await project.call("Probe", { env: { PORT: "1" } });
    assertEquals(answer, { statusCode: 500, body: "ECONNREFUSED" } as object);

    await Deno.writeTextFile(
      join(project.root, "trellis.config.ts"),
      `export default { build: { awsSdk: "runtime", keepNames: false } };`,
    );
    assertEquals((await project.build()).exitCode, 0);
    const nameless = await read();
    assertFalse(nameless.length > named.length * 0.96, `${nameless.length} of ${named.length}`);
    assertEquals((await project.call("Probe", { env: { PORT: "1" } })).answer, answer);
  } finally {
    await project.remove();
  }
});
