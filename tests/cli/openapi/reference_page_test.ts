import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import process from "node:process";
import * as z from "zod";
import { renderReferencePage } from "../../../cli/openapi/reference_page.ts";
import {
  type ApiRoute,
  buildOpenApiDocument,
  defineApiHandler,
  type DefineApiHandlerOptions,
} from "../../../validation/mod.ts";

function route(
  method: string,
  path: string,
  // deno-lint-ignore no-explicit-any
  options: DefineApiHandlerOptions<any, any, any, any>,
): ApiRoute {
  return {
    method,
    path,
    operation: defineApiHandler(options)(() => ({ statusCode: 200, body: "" })).operation,
  };
}

const EVIL = `<img src=x onerror="alert(1)">&'`;
const Note = z.object({
  title: z.string().min(1).max(200).meta({
    description: `The title, with ${EVIL}`,
    examples: ["Milk"],
  }),
  tags: z.array(z.enum(["a", "b"])).max(3).default([]),
  get children() {
    return z.array(Note).optional();
  },
}).meta({ id: "Note" });
const document = buildOpenApiDocument({
  title: `Notes ${EVIL}`,
  version: "1.0.0",
  description: "Keeps `notes`\n\nof all",
}, [
  route("GET", "/a-rather-long-path-of-an-operation/{noteId}/with-many-parts/{another}/and-more", {
    operationName: "GetNote",
    auth: "authorizer-optional",
    querySchema: z.object({
      limit: z.coerce.number().int().min(1).max(100).default(20),
      [EVIL]: z.string(),
    }),
    responseSchema: Note,
    openapi: { summary: `Get ${EVIL}`, description: EVIL, tags: ["notes"], deprecated: true },
  }),
  route("POST", "/notes", {
    operationName: "PutNote",
    schema: Note,
    responseSchema: Note,
    openapi: { tags: ["notes"] },
  }),
  route("DELETE", "/notes", { operationName: "Bare", auth: "bearer" }),
], [{ url: "https://api.example.com", description: "Production" }]);

Deno.test("renderReferencePage() gives a page without programs and addresses of others, which its own policy forbids", () => {
  const page = renderReferencePage(document);
  assert(
    !/<script|<link|<img|<iframe|\bon\w+="|@import|url\(/i.test(page.replaceAll("&#60;img", "")),
    page,
  );
  const [, style] = /<style>([^]*)<\/style>/.exec(page)!;
  const hash = createHash("sha256").update(style).digest("base64");
  assertStringIncludes(page, `content="default-src 'none'; style-src 'sha256-${hash}'"`);
  assertStringIncludes(page, "<p>Keeps <code>notes</code></p>\n<p>of all</p>");
  assertStringIncludes(page, `href="openapi.json"`);
  assertStringIncludes(
    renderReferencePage(document, { documentUrl: "../api.json" }),
    `href="../api.json"`,
  );
  assertStringIncludes(
    renderReferencePage(document, { notice: "Install `swagger-ui-dist`" }),
    "<p>Install <code>swagger-ui-dist</code></p>",
  );
});

Deno.test("renderReferencePage() shows operations under their tags, and every link leads somewhere on the page", () => {
  const page = renderReferencePage(document);
  assertEquals([...page.matchAll(/<h2 id="[^"]*">([^<]*)/g)].map(([, title]) => title), [
    "notes",
    "Other",
    "Schemas",
  ]);
  const ids = new Set([...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
  const links = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id);
  assert(links.length > 8);
  for (const link of links) assert(ids.has(link), `#${link} leads nowhere`);
  assertStringIncludes(page, `<span class="limits">1 to 200 characters</span>`);
  assertStringIncludes(page, `for example <code>&#34;Milk&#34;</code>`);
  assertStringIncludes(page, `<span class="limits">1 to 100, default <code>20</code></span>`);
});

const BROWSER = [
  process.env.CHROME_PATH,
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/usr/bin/chromium-browser",
]
  .find((path) => path !== undefined && existsSync(path));
if (BROWSER === undefined) {
  // deno-lint-ignore no-console
  console.warn("no Chromium (CHROME_PATH): the reference page is not looked at in a browser");
}

Deno.test({
  name: "renderReferencePage() fits a screen and a phone, works by keyboard, and loads nothing",
  ignore: BROWSER === undefined,
  // the browser's own pipes are closed by its end
  sanitizeResources: false,
  sanitizeOps: false,
  async fn() {
    const { default: puppeteer } = await import("puppeteer-core");
    const file = await Deno.makeTempFile({ suffix: ".html" });
    await Deno.writeTextFile(file, renderReferencePage(document));
    const browser = await puppeteer.launch({ executablePath: BROWSER!, args: ["--no-sandbox"] });
    try {
      for (const width of [1100, 400]) {
        const page = await browser.newPage();
        const seen: string[] = [];
        page.on("console", (message) => void seen.push(message.text()));
        page.on("request", (request) => void seen.push(request.url()));
        await page.setViewport({ width, height: 800 });
        await page.goto(`file://${file}`);
        assertEquals(
          seen,
          [`file://${file}`],
          "nothing else is loaded, and the policy refuses nothing of ours",
        );
        // skip link, document, groups, then the first operation
        let tag = "";
        for (let presses = 0; tag !== "SUMMARY" && presses < 20; presses++) {
          await page.keyboard.press("Tab");
          tag = await page.evaluate("document.activeElement.tagName") as string;
        }
        await page.keyboard.press("Enter");
        assertEquals(await page.evaluate("document.activeElement.parentElement.open"), true);
        assertEquals(
          await page.evaluate("getComputedStyle(document.activeElement).outlineStyle"),
          "solid",
        );
        await page.evaluate(
          "for (const each of document.querySelectorAll('details')) each.open = true",
        );
        assertEquals(
          await page.evaluate("document.documentElement.scrollWidth"),
          width,
          "nothing is wider than the screen",
        );
        await page.close();
      }
    } finally {
      await browser.close();
      await Deno.remove(file);
    }
  },
});
