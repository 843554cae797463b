import { assertEquals, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { CHECKOUT, writeTestProject } from "./project.ts";
import { withEnv } from "../../support/with_env.ts";

/** Speaks what Deno asks a registry of `jsr:` packages, and gives the checkout as the package. */
async function startRegistry(): Promise<{ url: string; stop(): Promise<void> }> {
  const { name, version, exports, imports } = JSON.parse(
    await Deno.readTextFile(join(CHECKOUT, "deno.json")),
  );
  const folders = [
    "auth",
    "cli",
    "core",
    "database",
    "distsql",
    "env",
    "errors",
    "observability",
    "sql",
    "testing",
    "validation",
  ];
  const files = new Map<string, string>();
  async function add(path: string): Promise<void> {
    const text = await Deno.readTextFile(join(CHECKOUT, path));
    // publishing writes the packages of the import map out
    const written = text.replace(
      /((?:from|import\(|import)\s*)"([^".][^"]*)"/g,
      (whole, before, specifier) => {
        const key = Object.keys(imports).find((each) =>
          specifier === each || specifier.startsWith(`${each}/`)
        );
        return key === undefined
          ? whole
          : `${before}"${imports[key]}${specifier.slice(key.length)}"`;
      },
    );
    files.set(`/${path}`, written);
  }
  async function addFolder(folder: string): Promise<void> {
    for await (const entry of Deno.readDir(join(CHECKOUT, folder))) {
      if (entry.isDirectory) await addFolder(`${folder}/${entry.name}`);
      else if (entry.name.endsWith(".ts")) await add(`${folder}/${entry.name}`);
    }
  }
  await add("mod.ts");
  for (const folder of folders) await addFolder(folder);
  const manifest = Object.fromEntries(
    [...files].map(([path, text]) => [path, {
      size: new TextEncoder().encode(text).length,
      checksum: `sha256-${createHash("sha256").update(text).digest("hex")}`,
    }]),
  );
  const [scope, short] = name.slice(1).split("/");
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const path = new URL(request.url).pathname.replace(`/${name}`, "");
    if (path === "/meta.json") {
      return Response.json({ scope, name: short, latest: version, versions: { [version]: {} } });
    }
    if (path === `/${version}_meta.json`) return Response.json({ manifest, exports });
    const text = path.startsWith(`/${version}/`)
      ? files.get(path.slice(version.length + 1))
      : undefined;
    return text === undefined
      ? new Response("no such file", { status: 404 })
      : new Response(text, { headers: { "content-type": "application/typescript" } });
  });
  return { url: `http://127.0.0.1:${server.addr.port}/`, stop: () => server.shutdown() };
}

Deno.test("build bundles jsr: and npm: imports from Deno's cache", async () => {
  const registry = await startRegistry();
  const cache = await Deno.makeTempDir({ prefix: "trellis-cache-" });
  const { denoDir } = JSON.parse(
    new TextDecoder().decode(
      (await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output()).stdout,
    ),
  );
  // packages of npm's come from the machine's own cache, the others from the registry above
  await Deno.symlink(join(denoDir, "npm"), join(cache, "npm"));
  const project = await writeTestProject({
    "deno.json": JSON.stringify({
      imports: {
        "@trellis/fn": "jsr:@trellis/fn@^0.1.0",
        "drizzle-orm": "npm:drizzle-orm@0.45.4",
      },
    }),
    "trellis.config.ts":
      'export default { build: { precompile: true, databaseProviders: ["postgres"] } };\n',
    "src/functions/api/notes.get.ts": `import { integer, pgTable } from "drizzle-orm/pg-core";
import { buildValidatedResponse } from "@trellis/fn/core";
import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { defineApiHandler } from "@trellis/fn/validation";
const notes = pgTable("notes", { id: integer("id") });
const { definePreparedQuery } = createQueryFactory(() =>
  getDrizzleClient({ provider: "postgres", connectionString: "postgres://127.0.0.1:1/none", schema: { notes } })
);
const list = definePreparedQuery(
  { tables: [{ table: notes, operations: ["SELECT"] }] },
  (db) => db.select().from(notes).prepare("list").execute(),
);
export const handler = defineApiHandler({})(async function listNotes({ context }) {
  return buildValidatedResponse(context, 200, await list());
});
`,
    "src/functions/api/health.get.ts":
      `import { buildValidatedResponse } from "jsr:@trellis/fn@0.1.0/core";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "npm:zod@4.6.7";
export const handler = defineApiHandler({ querySchema: z.object({ n: z.coerce.number().default(1) }) })(
  function health({ context, query }) {
    return buildValidatedResponse(context, 200, query);
  },
);
`,
  });
  try {
    await withEnv({ JSR_URL: registry.url, DENO_DIR: cache }, async () => {
      const { exitCode, stdout, stderr } = await project.build("--json");
      assertEquals(exitCode, 0, stdout + stderr);
      const functions: { name: string; packages: { name: string }[] }[] =
        JSON.parse(stdout).functions;
      assertEquals(
        functions.map(({ name, packages }) => [name, packages.map((each) => each.name)]),
        [
          ["Health", ["@trellis/fn", "(own code)"]],
          ["Notes", ["@trellis/fn", "drizzle-orm", "postgres", "zod", "(own code)"]],
        ],
      );
      const { answer, logged } = await project.call("Health");
      assertEquals([answer.statusCode, answer.body], [200, '{"n":1}']);
      assertStringIncludes(logged, '"operation":"health"');
    });
  } finally {
    await registry.stop();
    await project.remove();
    await Deno.remove(cache, { recursive: true });
  }
});
