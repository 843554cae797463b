import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createServer } from "node:http";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "puppeteer-core";
import { writeTryItFolder } from "../../../cli/openapi/try_it_folder.ts";
import { buildOpenApiDocument, defineApiHandler } from "../../../validation/mod.ts";
import { browserPath, launchBrowser } from "../../support/browser.ts";
import { createTestProject, SERVED } from "./fixtures/project.ts";

const EXAMPLE = fileURLToPath(new URL("../../../examples/notes", import.meta.url));
const NO_NOTE = "6d5f1f0e-3b86-4a3c-9d0a-111111111111";

function readExample(folder = EXAMPLE): Record<string, string> {
  return Object.assign(
    {},
    ...Array.from(Deno.readDirSync(folder), ({ name, isDirectory }) => {
      const path = join(folder, name);
      if (isDirectory) return name === ".data" ? {} : readExample(path);
      return { [relative(EXAMPLE, path)]: Deno.readTextFileSync(path) };
    }),
  );
}

/** Opens a page, and collects its errors and its requests to other origins. */
async function openPage(browser: Browser, url: string): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on(
    "console",
    // the browser logs responses of errors, which are expected
    (message) => /Content Security Policy/.test(message.text()) && faults.push(message.text()),
  );
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== "data:" && origin !== new URL(url).origin) faults.push(request.url());
  });
  await page.goto(url);
  await page.waitForSelector(".opblock");
  return { page, faults };
}

/** Fills in the form of an operation, sends it and returns the shown response. */
async function send(page: Page, id: string, fields: Record<string, string>, body?: string) {
  const block = `[id="${id}"]`;
  if (await page.$(`${block} .execute`) === null) {
    await page.click(`${block} .opblock-summary-control`);
    await page.waitForSelector(`${block} .execute`);
  }
  const clear = await page.$(`${block} .btn-clear`);
  await clear?.click();
  const texts = Object.entries(fields).map((
    [name, text],
  ) => [`${block} tr[data-param-name="${name}"] input`, text]);
  if (body !== undefined) texts.push([`${block} textarea`, body]);
  for (const [selector, text] of texts) {
    await page.click(selector, { count: 3 });
    await page.keyboard.down("Control");
    await page.keyboard.press("a");
    await page.keyboard.up("Control");
    await page.keyboard.type(text);
  }
  await page.click(`${block} .execute`);
  const shown = await page.waitForSelector(`${block} .live-responses-table .response`);
  return await shown!.evaluate((element) => element.textContent ?? "");
}

Deno.test(
  "the API reference of trellis dev sends requests with a cookie's or a bearer token's session",
  { ...SERVED, ignore: browserPath === undefined },
  async () => {
    const project = await createTestProject(readExample());
    const browser = await launchBrowser();
    try {
      const { url } = await project.start({ database: "embedded" });
      const signUp = await fetch(`${url}/auth/sign-up/email`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({
          name: "A",
          email: "a@example.com",
          password: "correct-horse-battery",
        }),
      });
      const { user: { id }, token } = await signUp.json();

      const { page, faults } = await openPage(browser, `${url}/_trellis/reference`);
      const NOTES = "operations-notes-getNotes";
      assertMatch(await send(page, NOTES, {}), /^401/);

      // what the button "Sign in as" of the local page does
      await page.evaluate(`fetch("/_trellis/api/accounts/${id}/sign-in", { method: "POST" })`);
      const key = { "Idempotency-Key": "from-the-page" };
      const written = await send(page, "operations-notes-postNote", key, '{"title":"From here"}');
      assertMatch(written, /^201/);
      assertStringIncludes(written, "From here");
      assertStringIncludes(await send(page, NOTES, { limit: "1" }), "From here");
      const missing = await send(page, "operations-notes-getNote", { noteId: NO_NOTE });
      assertMatch(missing, /^404.*NOT_FOUND/s);

      await page.deleteCookie(...await page.cookies());
      assertMatch(await send(page, NOTES, {}), /^401/);
      await page.click(".auth-wrapper .authorize");
      await page.evaluate(`
        [...document.querySelectorAll(".auth-container")]
          .find((each) => /^session\\s/.test(each.querySelector("h4").textContent)).id = "bearer"`);
      await page.type("#bearer input", token);
      await page.click("#bearer button.authorize");
      await page.click(".close-modal");
      assertStringIncludes(await send(page, NOTES, {}), "From here");
      assertEquals(faults, []);
    } finally {
      await browser.close();
      await project.clean();
    }
  },
);

Deno.test(
  "writeTryItFolder() writes a page that sends requests to the document's servers only",
  { ignore: browserPath === undefined },
  async () => {
    const folder = await Deno.makeTempDir();
    const seen: string[] = [];
    const api = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.setHeader("Access-Control-Allow-Origin", "*");
      response.setHeader("Content-Type", "application/json");
      response.end('{"status":"all is well"}');
    });
    const files = createServer(async (request, response) => {
      const name = request.url === "/reference/" ? "index.html" : request.url!.split("/").at(-1)!;
      const type = { js: "text/javascript", css: "text/css", json: "application/json" };
      const contentType = type[name.split(".").at(-1) as keyof typeof type] ?? "text/html";
      response.setHeader("Content-Type", contentType).end(await Deno.readFile(`${folder}/${name}`));
    });
    const listen = (server: typeof api) =>
      new Promise<string>((resolve) =>
        server.listen(
          0,
          "127.0.0.1",
          () => resolve(`http://127.0.0.1:${(server.address() as { port: number }).port}`),
        )
      );
    const [apiUrl, pageUrl] = await Promise.all([listen(api), listen(files)]);
    const { operation } = defineApiHandler({ operationName: "getHealth" })(() => ({
      statusCode: 200,
      body: "",
    }));
    const document = buildOpenApiDocument(
      { title: `A <b>"shop"</b>`, version: "1" },
      [{ method: "GET", path: "/health", operation }],
      [apiUrl, "/local"],
      { version: "3.2" },
    );
    const browser = await launchBrowser();
    try {
      await writeTryItFolder(folder, ".", document);
      await writeTryItFolder(folder, ".", document);
      const { page, faults } = await openPage(browser, `${pageUrl}/reference/`);
      const answer = await send(page, "operations-health-getHealth", {});
      assertStringIncludes(answer, "all is well");
      assertEquals(seen, ["GET /health"]);
      assertEquals(faults, [`${apiUrl}/health`]);
      assertEquals(await page.title(), document.info.title);
    } finally {
      await browser.close();
      api.close();
      files.close();
      await Deno.remove(folder, { recursive: true });
    }
  },
);
