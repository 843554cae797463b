import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { renderModule } from "../../../cli/build/provider_modules.ts";
import type { DatabaseProvider } from "../../../database/mod.ts";
import { CHECKOUT, denoProjectFiles, writeTestProject } from "./project.ts";

const ALL = ["postgres", "distsql", "serverless-pg", "branching-pg", "embedded-pg"] as const;
const MODULES = [
  "open_provider",
  "load_data_api",
  "load_neon",
  "load_postgres",
];
const POSTGRES = {
  load_postgres: ["postgres"],
};
const none = (_name: string) => false;
const COMMON = { awsCredentials: "environment", isExternal: none } as const;

function getImports(text: string | undefined): string[] {
  return [...(text ?? "").matchAll(/^import .*? from "([^"]+)";$/gm)].map(([, from]) => from);
}

Deno.test("renderModule() imports the only provider and its drivers statically", () => {
  const found = ALL.map((provider) => [
    provider,
    Object.fromEntries(
      MODULES.map((name) => [
        name,
        getImports(renderModule(name, ".ts", { providers: [provider], ...COMMON })),
      ]).filter(([, imports]) => imports.length > 0),
    ),
  ]);
  assertEquals(Object.fromEntries(found), {
    "postgres": { open_provider: ["./postgres.ts"], ...POSTGRES },
    "distsql": { open_provider: ["./distsql.ts"], ...POSTGRES },
    "serverless-pg": {
      open_provider: ["./serverless_pg.ts"],
      load_data_api: ["./data_api.ts"],
      ...POSTGRES,
    },
    "branching-pg": {
      open_provider: ["./branching_pg.ts"],
      load_neon: ["@neondatabase/serverless"],
    },
    "embedded-pg": {},
  });
});

Deno.test("renderModule() imports several providers on first use and omits all others", async () => {
  const providers: DatabaseProvider[] = ["distsql", "branching-pg"];
  const text = renderModule("open_provider", ".js", { providers, ...COMMON })!;
  assertEquals(getImports(text), []);
  assertEquals([...text.matchAll(/import\("([^"]+)"\)/g)].map(([, from]) => from), [
    "./distsql.js",
    "./branching_pg.js",
  ]);
  const { openProvider } = await import(`data:text/javascript,${encodeURIComponent(text)}`);
  for (
    const [provider, reason] of [["serverless-pg", "its sources"], ["embedded-pg", "it is for dev"]]
  ) {
    const message = `omitted the provider ${provider} from this function: ${reason}`;
    await assertRejects(() => openProvider({ provider }), Error, message);
  }
  for (const name of MODULES.slice(1)) {
    assertEquals(renderModule(name, ".js", { providers, ...COMMON }), undefined);
  }
});

Deno.test("renderModule() omits the signers of the AWS SDK, unless credentials can be elsewhere", () => {
  for (const name of ["load_dsql_signer", "load_rds_signer"]) {
    const options = { ...COMMON, providers: ["distsql"] } as const;
    assertStringIncludes(renderModule(name, ".js", options)!, "Set build.awsCredentials");
    assertEquals(renderModule(name, ".js", { ...options, awsCredentials: "chain" }), undefined);
  }
});

Deno.test("renderModule() leaves the loader of a package that is not bundled unchanged", () => {
  const isExternal = (name: string) => name.startsWith("@neon");
  const options = { ...COMMON, providers: ["branching-pg"], isExternal } as const;
  assertEquals(renderModule("load_neon", ".ts", options), undefined);
  assertEquals(getImports(renderModule("open_provider", ".ts", options)), ["./branching_pg.ts"]);
});

Deno.test("renderModule() replaces the functions that the modules of the package export", async () => {
  const only: Record<string, DatabaseProvider> = { load_neon: "branching-pg" };
  const folders: Record<string, string> = { load_aws_sources: "env" };
  const others = ["load_dsql_signer", "load_rds_signer", ...Object.keys(folders)];
  for (const name of [...MODULES, ...others]) {
    const folder = folders[name] ?? "database/providers";
    const source = await Deno.readTextFile(join(CHECKOUT, folder, `${name}.ts`));
    const exported = [...source.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, it]) =>
      it
    );
    const providers = [only[name] ?? "serverless-pg"];
    const text = renderModule(name, ".ts", { providers, ...COMMON })!;
    const written = [...text.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, it]) => it);
    assertEquals(written, exported, name);
    const imported = [...source.matchAll(/import\("([^"]+)"\)[;).]/g)].map(([, from]) => from);
    assert(getImports(text).every((from) => imported.includes(from)), `${name}: ${imported}`);
  }
});

Deno.test("build loads the driver of the only provider during initialization", async () => {
  const source = `import { getDrizzleClient } from "@trellis/fn/database";
export async function handler() {
  const connectionString = \`postgres://nobody@127.0.0.1:\${process.env.PORT}/none\`;
  return await getDrizzleClient({ provider: "serverless-pg", connectionString, connectTimeout: 1 })
    .then(() => ({ statusCode: 200 }), (error) => ({ statusCode: 500, body: error.code }));
}
`;
  await using project = await writeTestProject({
    ...await denoProjectFiles(),
    "trellis.config.ts": `export default { build: { awsSdk: "runtime" } };`,
    "src/functions/standalone/probe.ts": source,
  });
  const read = () => Deno.readTextFile(join(project.root, "dist/Probe/index.mjs"));
  const { exitCode, stdout, stderr } = await project.build();
  assertEquals(exitCode, 0, stdout + stderr);
  const named = await read();
  // what is loaded later, and all that it imports, is wrapped: `var m = f(() => {…})` in place of each module, as
  // are functions that keep their names
  const [, keepName] = /var ([\w$]+)=\(\w,\w\)=>[\w$]+\(\w,"name"/.exec(named) ?? [];
  const calls = [...named.matchAll(/var [\w$]+=([\w$]+)\(\(\)=>\{/g)].map(([, fn]) => fn);
  assert(calls.includes(keepName), "no function keeps its name");
  assertEquals(calls.filter((fn) => fn !== keepName), []);
  assertEquals([...named].find((char) => char > "\x7f"), undefined);
  const { answer } = await project.call("Probe", { env: { PORT: "1" } });
  assertEquals(answer, { statusCode: 500, body: "ECONNREFUSED" } as object);

  await Deno.writeTextFile(
    join(project.root, "trellis.config.ts"),
    `export default { build: { awsSdk: "runtime", keepNames: false } };`,
  );
  assertEquals((await project.build()).exitCode, 0);
  const nameless = await read();
  assert(nameless.length < named.length, `${nameless.length} of ${named.length}`);
  assertEquals((await project.call("Probe", { env: { PORT: "1" } })).answer, answer);
});
