import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { REPOSITORY } from "../../scripts/docs/links.ts";
import { SECTIONS } from "../../scripts/docs/pages.ts";
import {
  addIcon,
  RAW_DOCS,
  renderLlmsTxt,
  renderSiteConfig,
  renderVersions,
  toSitePage,
} from "../../scripts/docs/site_pages.ts";
import { writeSiteSources } from "../../scripts/docs_site.ts";
import { withTempFolder } from "../support/temp_folder.ts";

Deno.test("toSitePage() keeps links between pages and leads others to the repository", () => {
  const text = "[a](../guides/a.md#b) [c](../../modules/queue) [d](https://example.com) [e](#f)\n";
  assertEquals(
    toSitePage(text, "docs/tasks/page.md", "tasks/page.md"),
    `[a](../guides/a.md#b) [c](${REPOSITORY}/blob/main/modules/queue) [d](https://example.com) [e](#f)\n`,
  );
});

Deno.test("toSitePage() turns the README's absolute links into links of the site", () => {
  const raw = "https://raw.githubusercontent.com/trellis-fn/trellis/main/docs/figures/a.png";
  assertEquals(
    toSitePage(`[a](${REPOSITORY}/blob/main/docs/a.md) ![b](${raw})`, "README.md", "index.md"),
    "[a](./a.md) ![b](./figures/a.png)",
  );
});

Deno.test("toSitePage() escapes what VitePress would read as a template, except in code", () => {
  const text = 'a <name> {{ b }} `<c> {{ d }}` <a id="e"></a>\n\n```ts\nconst f = "<g>";\n```\n';
  assertEquals(
    toSitePage(text, "docs/a.md", "a.md"),
    'a &lt;name> &#123;&#123; b }} `<c> {{ d }}` <a id="e"></a>\n\n```ts\nconst f = "<g>";\n```\n',
  );
});

const GROUPS = [{
  title: "Guides",
  pages: [{ path: "guides/a.md", title: "A", summary: "About a.", text: "# A\n\nAbout a.\n" }],
}];

Deno.test("renderLlmsTxt() lists each page with its summary", () => {
  assertEquals(
    renderLlmsTxt(GROUPS, "A library.", RAW_DOCS),
    "# Trellis\n\n> A library.\n\n## Guides\n\n" +
      "- [A](https://raw.githubusercontent.com/trellis-fn/trellis/main/docs/guides/a.md): About a.\n",
  );
});

Deno.test("renderSiteConfig() puts each page into the sidebar, and sets the base", () => {
  const config = renderSiteConfig(GROUPS, "/trellis/", "1.2.3");
  assertStringIncludes(config, '"text": "1.2.3"');
  assertStringIncludes(config, '"link": "/guides/a"');
  assertStringIncludes(config, '"base": "/trellis/"');
  assertStringIncludes(config, '"href": "/trellis/favicon.svg"');
});

Deno.test("renderVersions() lists the versions, the newest first", () => {
  const names = ["1.9.0", "index.html", "1.10.0", ".git", "0.1.0", "next"];
  const links = renderVersions(names)?.match(/(?<=href="\.\/)[^"]+/g);
  assertEquals(links, ["1.10.0/", "1.9.0/", "0.1.0/"]);
  assertEquals(renderVersions(["next"]), undefined);
});

Deno.test("addIcon() links the icon, so that browsers do not request another one", () => {
  assertEquals(
    addIcon("<html><head><title>a</title></head><body></head></body></html>", "/trellis/"),
    '<html><head><title>a</title><link rel="icon" type="image/svg+xml" href="/trellis/favicon.svg">' +
      "</head><body></head></body></html>",
  );
});

Deno.test("writeSiteSources() writes every page, the start page, llms.txt and the configuration", async () => {
  await withTempFolder({}, async (folder) => {
    await writeSiteSources(folder, { base: "/" });
    const files = SECTIONS.flatMap(({ paths }) => paths);
    const others = ["index.md", "public/llms.txt", "public/favicon.svg", ".vitepress/config.mjs"];
    for (const file of [...files, ...others]) {
      assert((await Deno.stat(`${folder}/${file}`)).size > 0, file);
    }
    assertEquals(
      (await Deno.readTextFile(`${folder}/public/llms.txt`)).match(/^- \[/gm)?.length,
      files.length,
    );
  });
});
