import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateOpenapi } from "../../../cli/commands/generate_openapi.ts";
import { MARKER } from "../../../cli/openapi/openapi_files.ts";
import { generate, route, routeFile, withOpenapiProject } from "../fixtures/openapi_project.ts";
import { runInProcess } from "../fixtures/run.ts";

const FILES = {
  "src/schemas.ts":
    `import * as z from "zod"; export const Note = z.object({ title: z.string() });`,
  [routeFile("notes/index.post")]: route(
    `{ schema: Note, responseSchema: Note, openapi: { tags: ["notes"] } }`,
    `import { Note } from "../../../schemas.ts";`,
  ),
};

async function change(root: string, path: string, edit: (text: string) => string): Promise<void> {
  await Deno.writeTextFile(join(root, path), edit(await Deno.readTextFile(join(root, path))));
}

function exists(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}

Deno.test("generate openapi writes the document once, and says what it did", async () => {
  await withOpenapiProject(FILES, async (root) => {
    const { exitCode, stdout, stderr } = await generate(root);
    assertEquals([exitCode, stderr], [0, ""]);
    assertEquals(stdout, "created openapi.json\n1 operation, 3 schemas: done\n");
    const text = await Deno.readTextFile(join(root, "openapi.json"));
    assertEquals(Object.keys(JSON.parse(text)).slice(0, 3), ["openapi", "x-generated-by", "info"]);
    assertEquals(JSON.parse(text).info, { title: "shop", version: "2.3.4" });
    assertEquals(
      (await generate(root)).stdout,
      "1 operation, 3 schemas: everything is up to date\n",
    );
    assertEquals(await Deno.readTextFile(join(root, "openapi.json")), text);
    assertEquals([...Deno.readDirSync(root)].map(({ name }) => name).sort(), [
      "openapi.json",
      "package.json",
      "src",
    ]);
  });
});

Deno.test("generate openapi --check names stale files, exits with 1 and writes nothing", async () => {
  await withOpenapiProject(FILES, async (root) => {
    const missing = await generate(root, "--check", "--html");
    assertEquals([missing.exitCode, missing.stdout], [
      1,
      "missing openapi.json\nmissing openapi.html\n1 operation, 3 schemas: run trellis generate openapi\n",
    ]);
    assertEquals(await exists(join(root, "openapi.json")), false);
    await generate(root, "--html");
    assertEquals((await generate(root, "--check", "--html")).exitCode, 0);
    await change(root, "src/schemas.ts", (text) => text.replace("title", "name"));
    const stale = await generate(root, "--check");
    assertEquals([stale.exitCode, stale.stdout.split("\n")[0]], [1, "stale openapi.json"]);
    assertStringIncludes(await Deno.readTextFile(join(root, "openapi.json")), `"title": {`);
    await generate(root);
    assertEquals((await generate(root, "--check")).exitCode, 0);
  });
});

Deno.test("generate openapi leaves a document in another layout as it is", async () => {
  await withOpenapiProject(FILES, async (root) => {
    await generate(root);
    await change(root, "openapi.json", (text) => JSON.stringify(JSON.parse(text)));
    assertEquals((await generate(root, "--check")).exitCode, 0);
    await generate(root);
    assertEquals((await Deno.readTextFile(join(root, "openapi.json"))).split("\n").length, 1);
  });
});

Deno.test("generate openapi leaves files alone that do not say that they are generated, and writes no other then", async () => {
  for (const text of [`{ "openapi": "3.1.0" }`, "not json"]) {
    await withOpenapiProject({ ...FILES, "openapi.json": text }, async (root) => {
      const { exitCode, stdout } = await generate(root, "--html");
      assertEquals(exitCode, 1);
      assertEquals(
        stdout,
        "error openapi.json is not ours: it does not say that it is generated. Move it away\n1 operation, 3 schemas: nothing was written\n",
      );
      assertEquals(await Deno.readTextFile(join(root, "openapi.json")), text);
      assertEquals(await exists(join(root, "openapi.html")), false);
    });
  }
  await withOpenapiProject({ ...FILES, "openapi.html": "<p>mine</p>" }, async (root) => {
    assertMatch((await generate(root, "--html")).stdout, /error openapi\.html is not ours/);
    assertEquals(await Deno.readTextFile(join(root, "openapi.html")), "<p>mine</p>");
  });
});

Deno.test("generate openapi takes names, addresses and places from the configuration", async () => {
  const config =
    `export default { openapi: { file: "docs/api.json", htmlFile: "docs/site/api.html", title: "T & Co", version: "9" } };`;
  await withOpenapiProject({ ...FILES, "trellis.config.ts": config }, async (root) => {
    assertEquals(
      (await generate(root)).stdout,
      "created docs/api.json\ncreated docs/site/api.html\n1 operation, 3 schemas: done\n",
    );
    const page = await Deno.readTextFile(join(root, "docs/site/api.html"));
    assertEquals(page.split("\n")[0], `<!doctype html> <!-- ${MARKER} -->`);
    assertStringIncludes(page, `<title>T &#38; Co</title>`);
    assertStringIncludes(page, `href="../api.json"`);
    assertEquals(JSON.parse(await Deno.readTextFile(join(root, "docs/api.json"))).info, {
      title: "T & Co",
      version: "9",
    });
  });
  for (
    const [setting, message] of [
      [`servers: "x"`, "openapi.servers must be a list of addresses, or of { url, description }"],
      [
        `servers: [{ uri: "x" }]`,
        "openapi.servers must be a list of addresses, or of { url, description }",
      ],
      [`htmlFile: "x"`, "openapi.htmlFile must be a file that ends in .html"],
    ]
  ) {
    await withOpenapiProject(
      { ...FILES, "trellis.config.ts": `export default { openapi: { ${setting} } };` },
      async (root) => {
        const { exitCode, stderr } = await generate(root);
        assertEquals(exitCode, 3);
        assertStringIncludes(stderr, message);
      },
    );
  }
});

Deno.test("generate openapi takes name and version from deno.json, else the folder's name", async () => {
  const info = async (files: Record<string, string>) =>
    await withOpenapiProject({ ...FILES, ...files }, async (root) => {
      await generate(root);
      return [JSON.parse(await Deno.readTextFile(join(root, "openapi.json"))).info, root];
    });
  assertEquals(
    (await info({ "deno.jsonc": `{ /* ours */ "name": "@a/b", "version": "1.2.0" }` }))[0],
    {
      title: "@a/b",
      version: "1.2.0",
    },
  );
  const [found, root] = await info({ "package.json": `{ "dependencies": { "zod": "4.6.7" } }` });
  assertEquals(found, { title: root.split("/").at(-1), version: "0.0.0" });
});

Deno.test("generate openapi --json is one document for programs", async () => {
  const raw = {
    [routeFile("raw.get")]: `export const handler = async () => ({ statusCode: 200, body: "" });`,
  };
  await withOpenapiProject({ ...FILES, ...raw }, async (root) => {
    const { exitCode, stdout, stderr } = await generate(root, "--json");
    assertEquals([exitCode, stderr], [0, ""]);
    assertEquals(JSON.parse(stdout), {
      command: "generate openapi",
      exitCode: 0,
      operations: [{ method: "POST", path: "/notes", operationId: "NotesPost" }],
      components: ["Error", "Note", "ValidationError"],
      files: [{ path: "openapi.json", change: "created" }],
      errors: [],
      warnings: [],
      undescribed: [{ file: "src/functions/api/raw.get.ts", line: 1 }],
    });
    const text = await generate(root);
    assertEquals(
      text.stderr,
      "warning 1 function not made by defineApiHandler and left out: src/functions/api/raw.get.ts\n",
    );
  });
});

Deno.test("generate openapi says what is missing: the folder, and how it is used", async () => {
  await withOpenapiProject({}, async (root) => {
    const { exitCode, stderr } = await generate(root);
    assertEquals(exitCode, 3);
    assertMatch(stderr, /There is no folder .*src\/functions/);
  });
  const help = await runInProcess(["generate", "openapi", "--help"], {
    commands: [generateOpenapi],
  });
  assertEquals(help.exitCode, 0);
  assertStringIncludes(help.stdout, "trellis generate openapi --check");
  assertEquals(
    (await runInProcess(["generate", "openapi", "--nope"], { commands: [generateOpenapi] }))
      .exitCode,
    2,
  );
});

Deno.test("generate openapi describes the example, as its committed document does", async () => {
  const example = fileURLToPath(new URL("../../../examples/notes", import.meta.url));
  const { exitCode, stdout } = await generate(example, "--check");
  assert(exitCode === 0, stdout);
});
