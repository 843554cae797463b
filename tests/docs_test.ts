import { assert, assertEquals, assertFalse } from "@std/assert";
import { listAnchors, listLinks, resolveLink } from "../scripts/docs/links.ts";
import { readPages, SECTIONS } from "../scripts/docs/pages.ts";
import { renderSizeTable } from "../cli/build/build_report.ts";
import { COMMANDS } from "../cli/commands/commands.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const README = Deno.readTextFileSync(`${ROOT}README.md`);
const pages = SECTIONS.flatMap(({ paths }) => paths);

function readDocs(path: string): string {
  return Deno.readTextFileSync(`${ROOT}docs/${path}`);
}

function listMarkdown(folder: string): string[] {
  return [...Deno.readDirSync(`${ROOT}${folder}`)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (path === "docs/api" || path === "docs/site") return [];
    return isDirectory ? listMarkdown(path) : name.endsWith(".md") ? [path] : [];
  });
}

const texts = [
  ...listMarkdown("docs"),
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "bench/README.md",
  "examples/accounts/README.md",
  "examples/booking/README.md",
  "examples/infra/README.md",
  "examples/notes/README.md",
  "examples/notes-node/README.md",
];

Deno.test("every page of docs is in the page list once", () => {
  const files = listMarkdown("docs").filter((path) => path !== "docs/README.md");
  assertEquals(pages.toSorted(), files.map((path) => path.slice(5)).toSorted());
});

Deno.test("every page has a title, a summary and a link in the index", () => {
  const index = readDocs("README.md");
  for (const page of SECTIONS.flatMap((section) => readPages(`${ROOT}docs`, section))) {
    assert(page.summary !== "", page.path);
    assert(index.includes(`- [${page.title}](${page.path})\n`), page.path);
  }
});

Deno.test("links lead to files and headings of the repository", () => {
  const broken: string[] = [];
  for (const path of texts) {
    for (const { target, anchor } of listLinks(Deno.readTextFileSync(`${ROOT}${path}`))) {
      const file = resolveLink(path, target);
      if (file === undefined) continue;
      const found = exists(`${ROOT}${file}`);
      const isAnchorFound = !found || anchor === "" || !file.endsWith(".md") ||
        listAnchors(Deno.readTextFileSync(`${ROOT}${file}`)).has(anchor);
      if (!found || !isAnchorFound) broken.push(`${path}: ${target}${anchor && `#${anchor}`}`);
    }
  }
  assertEquals(broken, []);
});

Deno.test("links of the README are absolute, because npm and JSR show the same text", () => {
  const relative = listLinks(README).filter(({ target }) => !target.startsWith("https://"));
  assertEquals(relative, []);
});

Deno.test("the README clones the repository before the commands that CONTRIBUTING.md starts with", () => {
  const [clone, ...commands] = listFirstCommands(README);
  assert(clone.startsWith("git clone https://github.com/trellis-fn/trellis.git"));
  const contributing = Deno.readTextFileSync(`${ROOT}CONTRIBUTING.md`);
  assertEquals(commands, listFirstCommands(contributing).slice(0, 2));
});

Deno.test("the guide of the database lists the checks of check all in their order", () => {
  const { description } = COMMANDS.find(({ name }) => name === "check all")!;
  const [, list] = description.join(" ").replace(/\s+/g, " ").match(
    /^Runs (generate\s+permissions [^.]*)\./,
  )!;
  const [, table] = readDocs("guides/database.md").match(/^check +state\n([^]*?)```/m)!;
  const listed = table.trim().split("\n").map((line) => line.split("  ")[0]);
  assertEquals(listed, list.split(/,\s+/).map((command) => command.replace(" --check", "")));
});

Deno.test("guides show the columns of the table that build prints", () => {
  const [columns] = renderSizeTable([], (text) => text).map((line) => line.split(/ {2,}/));
  for (const page of ["getting_started.md", "guides/bundling.md"]) {
    const [line] = readDocs(page).match(/^function +size.*$/m)!;
    assertEquals(line.split(/ {2,}/), columns, page);
  }
});

Deno.test("guides call trellis as a project that npm installed it into can", () => {
  const guides = texts.filter((path) =>
    /^(README|docs\/(getting_started|guides|tasks))/.test(path)
  );
  const bare = guides.filter((path) =>
    /^(?:\$ )?trellis /m.test(Deno.readTextFileSync(`${ROOT}${path}`))
  );
  assert(guides.length > 25);
  assertEquals(bare, []);
});

Deno.test("pages clone databases only into the folder that new projects ignore", () => {
  const folders = texts.flatMap((path) =>
    [...Deno.readTextFileSync(`${ROOT}${path}`).matchAll(/ --(?:to-)?folder ([^\s`|]+)/g)]
      .map(([, folder]) => folder)
  );
  const clones = folders.filter((folder) => !folder.startsWith("<"));
  assert(clones.length > 2);
  assertEquals(clones.filter((folder) => !folder.startsWith(".trellis/")), []);
});

Deno.test("listAnchors() gives the anchors that GitHub makes of headings", () => {
  const text = "# A page\n\n## `a` and B, c\n\n```sh\n# no heading\n```\n\n### [Link](x.md) (1)\n";
  assertEquals([...listAnchors(text)], ["a-page", "a-and-b-c", "link-1"]);
});

Deno.test("listLinks() leaves out code", () => {
  const text = "[a](b.md#c) `[x](y)`\n\n```ts\n[x](y)\n```\n\n![i](d.png)\n";
  assertEquals(listLinks(text), [
    { target: "b.md", anchor: "c" },
    { target: "d.png", anchor: "" },
  ]);
});

Deno.test("resolveLink() maps addresses of the repository to its files", () => {
  const main = "https://github.com/trellis-fn/trellis/blob/main";
  assertEquals(resolveLink("README.md", `${main}/docs/a.md`), "docs/a.md");
  assertEquals(resolveLink("docs/guides/a.md", "../b.md"), "docs/b.md");
  assertEquals(resolveLink("docs/a.md", ""), "docs/a.md");
  assertFalse(resolveLink("docs/a.md", "https://example.com/a") !== undefined);
});

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

function listFirstCommands(text: string): string[] {
  const [, commands] = /```sh\n([\s\S]*?)```/.exec(text)!;
  return commands.trim().split("\n").map((line) => line.replace(/\s+#.*$/, ""));
}
