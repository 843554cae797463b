import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { bundleFunction } from "../../../cli/sources/local_bundle.ts";
import { importFile } from "../../../cli/discovery/import_file.ts";
import { denoProjectFiles, writeTestProject } from "../build/project.ts";

const API = "src/functions/api";
const read = (body: string, imports = "") =>
  `import { readFileSync, readdirSync } from "node:fs";
${imports}
const answer = ${body};
export const handler = () => Promise.resolve({ statusCode: 200, body: String(answer) });
`;
const FUNCTIONS: Readonly<Record<string, readonly [code: string, expected: string]>> = {
  url: [
    read(`readFileSync(new URL("./page.html", import.meta.url), "utf8")`),
    "<p>own</p>",
  ],
  "same-name": [
    read(
      `readFileSync(new URL("./page.html", import.meta.url), "utf8") + shared()`,
      `import { shared } from "../../pages/shared.ts";`,
    ),
    "<p>own</p><p>shared</p>",
  ],
  folder: [
    read(`["b.txt", "in/a.sql"].map((name) => readFileSync(new URL(name, folder), "utf8"))`)
      .replace(
        "const answer",
        `const folder = new URL("../../texts/", import.meta.url);\nconst answer`,
      ),
    "b,select 1",
  ],
  text: [read("page", `import page from "./page.html" with { type: "text" };`), "<p>own</p>"],
  bytes: [
    read("bytes.length", `import bytes from "../../data.wasm" with { type: "bytes" };`),
    "4",
  ],
  txt: [read("text", `import text from "../../texts/b.txt";`), "b"],
  main: [
    read("run").replace(
      "const answer",
      `let run = "imported";
if (import.meta.url === "file:///nowhere.mjs") run = "main";
const answer`,
    ),
    "imported",
  ],
};

const FILES = {
  [`${API}/page.html`]: "<p>own</p>",
  "src/pages/page.html": "<p>shared</p>",
  "src/pages/shared.ts": `import { readFileSync } from "node:fs";
export const shared = () => readFileSync(new URL("./page.html", import.meta.url), "utf8");
`,
  "src/texts/b.txt": "b",
  "src/texts/in/a.sql": "select 1",
  "src/data.wasm": "\0asm",
  ...Object.fromEntries(
    Object.entries(FUNCTIONS).map(([name, [code]]) => [`${API}/${name}.get.ts`, code]),
  ),
};
const toName = (file: string) =>
  file.split("-").map((word) => word[0].toUpperCase() + word.slice(1)).join("");

Deno.test("trellis build copies the files that a function reads beside it, wherever it is moved", async () => {
  const project = await writeTestProject({ ...await denoProjectFiles(), ...FILES });
  const moved = await Deno.makeTempDir({ prefix: "trellis-moved-" });
  try {
    const first = await project.build();
    assertEquals(first.exitCode, 0, first.stdout + first.stderr);
    const dist = join(project.root, "dist");
    await Deno.rename(dist, join(moved, "dist"));
    await Deno.rename(join(project.root, "src"), join(moved, "src"));
    for (const [file, [, expected]] of Object.entries(FUNCTIONS)) {
      const { answer } = await project.call(toName(file), { folder: join(moved, "dist") });
      assertEquals([answer.body, answer.thrown], [expected, undefined], file);
    }
    const copied = (name: string) =>
      [...Deno.readDirSync(join(moved, "dist", name, "files"))].map((each) => each.name);
    assertEquals(copied("SameName").length, 2);
    assertEquals(copied("Url").length, 1);

    // what is not read any more goes
    await Deno.rename(join(moved, "src"), join(project.root, "src"));
    await Deno.rename(join(moved, "dist"), dist);
    await Deno.writeTextFile(join(project.root, API, "url.get.ts"), read("1"));
    await Deno.writeTextFile(join(project.root, "src/texts/b.txt"), "changed");
    const second = await project.build("--json");
    const changes: Record<string, string> = Object.fromEntries(
      JSON.parse(second.stdout).functions.map((
        each: { name: string; change: string },
      ) => [each.name, each.change]),
    );
    assertEquals([changes.Url, changes.Folder, changes.Text], ["updated", "updated", "unchanged"]);
    assertEquals(
      [...Deno.readDirSync(join(dist, "Url"))].some(({ name }) => name === "files"),
      false,
    );
    assertEquals((await project.call("Folder")).answer.body, "changed,select 1");
  } finally {
    await project.remove();
    await Deno.remove(moved, { recursive: true });
  }
});

const REFUSED: Readonly<Record<string, readonly [code: string, line: number, message: string]>> = {
  missing: [read(`new URL("./nothing.html", import.meta.url)`), 3, "./nothing.html does not exist"],
  computed: [
    read("new URL(`./${process.env.PAGE}.html`, import.meta.url)"),
    3,
    "is not known. A bundle is in another folder than its sources",
  ],
  dirname: [read(`import.meta.dirname + "/page.html"`), 3, "import.meta.dirname is a place in"],
  kept: [
    read("1").replace("const", "const here = import.meta.url;\nconst"),
    3,
    "import.meta.url is a place in the bundle here",
  ],
  require: [
    read(
      `createRequire(import.meta.url)("./data.json")`,
      `import { createRequire } from "module";`,
    ),
    3,
    "import.meta.url is a place in the bundle here",
  ],
  own: [read(`new URL("../", import.meta.url)`), 3, "../ contains the code itself"],
  code: [read(`new URL("./dirname.get.ts", import.meta.url)`), 3, "is code: import it instead"],
  html: [
    read("page", `import page from "./page.html";`),
    2,
    'Import it with { type: "text" } or { type: "bytes" }',
  ],
  sql: [
    read("page", `import page from "../../texts/in/a.sql";`),
    2,
    'No loader is configured for ".sql"',
  ],
  addon: [
    read("addon", `import addon from "./addon.node";`),
    2,
    "This file loads native code, which is not bundled: provide its package in a layer",
  ],
};

Deno.test("trellis build and trellis dev refuse, with the line, what would not be found", async () => {
  await using project = await writeTestProject({
    ...await denoProjectFiles(),
    ...Object.fromEntries(Object.entries(FILES).filter(([path]) => !path.endsWith(".get.ts"))),
    [`${API}/addon.node`]: "",
    ...Object.fromEntries(
      Object.entries(REFUSED).map(([name, [code]]) => [`${API}/${name}.get.ts`, code]),
    ),
  });
  const { exitCode, stdout } = await project.build("--json");
  assertEquals(exitCode, 1);
  const errors: { file: string; line: number; message: string }[] = JSON.parse(stdout).errors;
  for (const [name, [, line, message]] of Object.entries(REFUSED)) {
    const file = `${API}/${name}.get.ts`;
    const found = errors.find((each) => each.file === file);
    assertStringIncludes(found?.message ?? `no error in ${stdout}`, message);
    assertEquals(found!.line, line, name);
    const local = await bundleFunction({
      name,
      file: join(project.root, file),
      root: project.root,
      outfile: join(project.root, ".trellis", `${name}.mjs`),
    }, new Map()).then(() => "no error", (error: Error) => error.message);
    assertStringIncludes(local, `${file}:${line}:`);
    assertStringIncludes(local, message);
  }
});

Deno.test("trellis dev finds the files where they are, and loads a function again when one changes", async () => {
  await using project = await writeTestProject({ ...await denoProjectFiles(), ...FILES });
  for (const [name, [, expected]] of Object.entries(FUNCTIONS)) {
    const outfile = join(project.root, ".trellis", `${name}.mjs`);
    const file = join(project.root, API, `${name}.get.ts`);
    const options = { name, file, root: project.root, outfile };
    const inputs = new Map<string, string>();
    const { code } = await bundleFunction(options, inputs);
    await Deno.mkdir(join(project.root, ".trellis"), { recursive: true });
    await Deno.writeTextFile(outfile, code);
    const { handler } = await importFile<{ handler(): Promise<{ body: string }> }>(outfile);
    assertEquals((await handler()).body, expected, name);
    if (name !== "url") continue;
    const page = join(project.root, API, "page.html");
    assert(inputs.has(page));
    await Deno.utime(page, new Date(), new Date(Date.now() + 5000));
    assert((await bundleFunction(options, new Map())).code !== code);
  }
});

Deno.test("trellis build refuses a package that loads native code, and keeps it with build.external", async () => {
  await using project = await writeTestProject({
    "package.json": `{ "type": "module" }`,
    "node_modules/bcrypt/package.json":
      `{ "name": "bcrypt", "main": "index.js", "dependencies": { "node-gyp-build": "1" } }`,
    "node_modules/bcrypt/index.js": `module.exports = require("node-gyp-build")(__dirname);`,
    "node_modules/node-gyp-build/package.json": `{ "name": "node-gyp-build", "main": "index.js" }`,
    "node_modules/node-gyp-build/index.js": `module.exports = (folder) => folder;`,
    "node_modules/pages/package.json": `{ "name": "pages", "type": "module", "main": "index.js" }`,
    "node_modules/pages/index.js":
      `import { readFileSync } from "node:fs"; export default readFileSync(new URL("./a.html", import.meta.url), "utf8");`,
    "node_modules/pages/a.html": "of a package",
    [`${API}/hash.get.ts`]: read("bcrypt", `\nimport bcrypt from "bcrypt";`),
    [`${API}/page.get.ts`]: read("page", `import page from "pages";`),
  });
  const { exitCode, stdout } = await project.build("--json");
  assertEquals(exitCode, 1);
  assertEquals(JSON.parse(stdout).errors, [{
    file: `${API}/hash.get.ts`,
    line: 3,
    column: 1,
    message:
      "bcrypt loads native code, which is not bundled: provide its package in a layer or the " +
      "image, and name it in build.external of trellis.config.ts",
  }]);
  await Deno.writeTextFile(
    join(project.root, "trellis.config.ts"),
    `export default { build: { external: ["bcrypt"] } };\n`,
  );
  const second = await project.build();
  assertEquals(second.exitCode, 0, second.stdout + second.stderr);
  assertEquals((await project.call("Page")).answer.body, "of a package");
});
