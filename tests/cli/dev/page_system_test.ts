import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../../core/async/clock.ts";
import type { Browser, Page } from "puppeteer-core";
import type { DevServer } from "../../../cli/dev/dev_server.ts";
import { browserPath, launchBrowser } from "../../support/browser.ts";
import { createTestProject, FILES, SERVED } from "./fixtures/project.ts";

const PROJECT = {
  ...FILES,
  "src/functions/api/titles.get.ts": `import { buildValidatedResponse } from "@trellis/fn/core";
import { getDrizzleClient } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
import { getRequiredEnv } from "@trellis/fn/env";
import { defineApiHandler } from "@trellis/fn/validation";
const config = { provider: "embedded-pg" as const, connectionString: getRequiredEnv("DATABASE_URL") };
export const handler = defineApiHandler()(async function listTitles({ context }) {
  const db = await getDrizzleClient(config);
  for (const id of [1, 2, 3, 4]) await db.execute(sql\`select title from notes where id = \${id}\`);
  return buildValidatedResponse(context, 200, {});
});
`,
  "migrations/0001_notes.sql":
    `create table notes (id int primary key, title text not null, token text, extra text, more text);
--> statement-breakpoint
insert into notes select n, 'Note ' || n, 'secret-' || n, 'x', 'y' from generate_series(1, 30) n;`,
};

const HELLO = "src/functions/api/hello/[name].get.ts";

interface Visit {
  readonly page: Page;
  readonly server: DevServer;
  /** Presses keys one after the other. */
  press(...keys: Parameters<Page["keyboard"]["press"]>[0][]): Promise<void>;
  /** Presses Tab until what has the focus has this name. */
  tabTo(name: RegExp): Promise<void>;
  /** Waits until an expression holds in the page. */
  until(expression: string): Promise<void>;
}

const NAME_OF_FOCUS =
  `(() => { const e = document.activeElement; return (e.getAttribute("aria-label") ?? e.labels?.[0]?.textContent ?? e.textContent).trim(); })()`;

async function visit(
  browser: Browser,
  server: DevServer,
  width: number,
  test: (visit: Visit) => Promise<void>,
) {
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on(
    "console",
    (message) => ["error", "warn"].includes(message.type()) && faults.push(message.text()),
  );
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) {
      faults.push(request.url());
    }
  });
  await page.setViewport({ width, height: 740 });
  await page.goto(`${server.url}/_trellis`, { waitUntil: "domcontentloaded" });
  const until = async (expression: string): Promise<void> =>
    void await page.waitForFunction(expression);
  const press: Visit["press"] = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await until(
    `document.querySelector("#connection").textContent === "Live" && document.title.startsWith("fixture")`,
  );
  await test({
    page,
    server,
    press,
    until,
    async tabTo(name): Promise<void> {
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press("Tab");
        if (name.test(String(await page.evaluate(NAME_OF_FOCUS)))) return;
      }
      throw new Error(`Tab leads to nothing that is named ${name}`);
    },
  });
  assertEquals(faults, []);
  await page.close();
}

async function assertFits(page: Page): Promise<void> {
  assertEquals(
    await page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
    true,
    "it scrolls sideways",
  );
}

Deno.test(
  "the page shows calls, starts functions and browses tables, by keyboard, on a phone and on a desk",
  { ...SERVED, ignore: browserPath === undefined },
  async (t) => {
    const project = await createTestProject(PROJECT);
    const server = await project.start({ database: "embedded" });
    const browser = await launchBrowser();
    const run = (name: string, width: number, test: (visit: Visit) => Promise<void>) =>
      t.step({ name, ...SERVED, fn: () => visit(browser, server, width, test) });
    try {
      for (const width of [360, 1200]) {
        await run(
          `a live request with its log line and spans, and its replay (${width} px)`,
          width,
          async (visit) => {
            const { page, press, tabTo, until } = visit;
            await (await fetch(`${server.url}/hello/width-${width}`)).body?.cancel();
            await until(
              `document.querySelector("#calls").textContent.includes("/hello/width-${width}")`,
            );
            assertMatch(
              String(await page.$eval("#announcer", (e) => e.textContent)),
              /: 200, [\d.]+ ms$/,
            );
            await tabTo(new RegExp(`GET /hello/width-${width}`));
            await press("Enter");
            await until(
              `document.querySelector(".logs")?.textContent.includes("greeting found name=width-${width}")`,
            );
            const shown = await page.$eval("#calls", (e) => e.textContent ?? "");
            assertStringIncludes(shown, "password=[REDACTED]");
            assertStringIncludes(shown, "find greeting");
            await assertFits(page);
            await tabTo(/^Replay$/);
            await press("Enter");
            await until(`document.querySelector("#calls li").textContent.includes("replayed")`);
          },
        );

        await run(`a queue's function is sent a message (${width} px)`, width, async (visit) => {
          const { page, press, tabTo, until } = visit;
          await tabTo(/^Requests$/);
          await press("ArrowRight");
          await tabTo(/SendMail/);
          await press("Enter");
          await tabTo(/^The message/);
          await page.keyboard.down("Control");
          await press("a");
          await page.keyboard.up("Control");
          await page.keyboard.type('{"to":"nobody"}');
          await assertFits(page);
          assertStringIncludes(
            await page.$eval("form pre", (e) => e.textContent ?? ""),
            `curl -d '{"to":"nobody"}'`,
          );
          await tabTo(/^Send$/);
          await press("Enter");
          await until(
            `document.querySelector("form [role=status]").textContent.includes("1 failed")`,
          );
          await tabTo(/^Show logs$/);
          await press("Enter");
          await until(
            `document.querySelector(".logs")?.textContent.includes("there is no such mailbox")`,
          );
          await assertFits(page);
        });

        await run(`a table is browsed (${width} px)`, width, async (visit) => {
          const { page, press, tabTo, until } = visit;
          await tabTo(/^Requests$/);
          await press("ArrowRight", "ArrowRight");
          await until(`document.querySelector(".tables button") !== null`);
          await tabTo(/^notes/);
          await press("Enter");
          await until(`document.querySelector("table")?.textContent.includes("Note 25")`);
          const text = await page.$eval("table", (e) => e.textContent ?? "");
          assert(!text.includes("secret-1"), "the values of a column named token are shown");
          await tabTo(/^Next$/);
          await press("Enter");
          await until(`document.querySelector("table").textContent.includes("Note 30")`);
          assertStringIncludes(
            await page.$eval(".pager", (e) => e.textContent ?? ""),
            "26 to 30 of 30",
          );
          await assertFits(page);
        });

        await run(
          `a value of a row is changed with the keyboard (${width} px)`,
          width,
          async (visit) => {
            const { page, press, tabTo, until } = visit;
            await tabTo(/^Requests$/);
            await press("ArrowRight", "ArrowRight");
            await until(`document.querySelector(".tables button") !== null`);
            await tabTo(/^notes/);
            await press("Enter");
            await tabTo(/^Change title: /);
            await press("Enter");
            await page.keyboard.type(` at ${width}`);
            await assertFits(page);
            await press("Enter");
            await until(`document.querySelector("table").textContent.includes(" at ${width}")`);
            assertMatch(await page.evaluate(NAME_OF_FOCUS) as string, /^Change title: Note 1 at /);
          },
        );

        await run(
          `statements are counted and explained, and a request is copied (${width} px)`,
          width,
          async (visit) => {
            const { page, press, tabTo, until } = visit;
            await browser.defaultBrowserContext().overridePermissions(server.url, [
              "clipboard-read",
              "clipboard-write",
              "clipboard-sanitized-write",
            ]);
            await (await fetch(`${server.url}/titles?w=${width}`)).body?.cancel();
            await tabTo(new RegExp(`GET /titles\\?w=${width}`));
            await press("Enter");
            await until(
              `document.querySelector("#calls .detail")?.textContent.includes("Statements: 4 round trips")`,
            );
            await tabTo(/N\+1.*select title from notes where id = \$1/);
            await press("Enter");
            await assertFits(page);
            await tabTo(/^Explain$/);
            await press("Enter");
            await until(
              `document.querySelector('pre[aria-label="Plan"]')?.textContent.includes("Index Cond: (id = $1)")`,
            );
            await assertFits(page);
            await tabTo(/^Copy as curl$/);
            await press("Enter");
            await until(
              `document.querySelector("#calls .actions").textContent.includes("Copied as curl")`,
            );
            assertStringIncludes(
              String(await page.evaluate("navigator.clipboard.readText()")),
              `curl '${server.url}/titles?w=${width}'`,
            );
          },
        );

        await run(`a mail is rendered (${width} px)`, width, async (visit) => {
          const { page, press, tabTo } = visit;
          const subject = `Welcome ${width}`;
          const html = `<p style="color: #063">Hello from ${width}</p>`;
          const body = JSON.stringify({ to: "ada@example.com", subject, html });
          await (await fetch(`${server.url}/_trellis/mail`, { method: "POST", body })).body
            ?.cancel();
          await page.click("#tab-mail");
          await tabTo(new RegExp(subject));
          await press("Enter");
          const frame = await page.waitForFrame((each) => each.url().includes("/_trellis/mails/"));
          // waitForFunction waits for animation frames, which a frame of another origin below the window may not run
          const text = () => frame.evaluate("document.body?.textContent ?? ''").then(String);
          for (let i = 0; i < 200 && (await text()) === ""; i++) await systemClock.sleep(50);
          assertStringIncludes(await text(), `Hello from ${width}`);
          await assertFits(page);
        });

        await run(`a held migration is applied (${width} px)`, width, async (visit) => {
          const { page, press, tabTo, until } = visit;
          const name = width === 360 ? "0002_drop" : "0003_drop";
          const column = width === 360 ? "extra" : "more";
          await project.write(
            `migrations/${name}.sql`,
            `alter table notes drop column ${column};`,
          );
          await until(`document.querySelector("#held").textContent.includes("${name}.sql")`);
          assertStringIncludes(
            await page.$eval("#held", (e) => e.textContent ?? ""),
            `line 1: alter table notes drop column ${column}: drops the column with its data`,
          );
          await assertFits(page);
          await tabTo(/^Apply$/);
          await press("Enter");
          await until(`document.querySelector("#held").hidden`);
        });

        await run(`what was sent, and the API reference (${width} px)`, width, async (visit) => {
          const { page, press, tabTo, until } = visit;
          await tabTo(/^Requests$/);
          await press("ArrowRight", "ArrowRight", "ArrowRight");
          await until(`!document.querySelector("#panel-sent").hidden`);
          const body = JSON.stringify({
            QueueUrl: `${server.url}/q/send-mail`,
            MessageBody: `{"to":"w-${width}"}`,
          });
          const headers = { "X-Amz-Target": "AmazonSQS.SendMessage" };
          await (await fetch(`${server.url}/_trellis/aws`, { method: "POST", headers, body })).body
            ?.cancel();
          await until(
            `document.querySelector("#panel-sent li")?.textContent.includes("to SendMail · done")`,
          );
          await assertFits(page);
          await press("End");
          const frame = await page.waitForFrame((each) =>
            each.url().endsWith("/_trellis/reference")
          );
          await frame.waitForSelector("#operations-hello-hello");
          await assertFits(page);
          await frame.evaluate("globalThis.mark = 1");
          const read = page.waitForResponse((each) => each.url().endsWith("/openapi.json"));
          await press("ArrowLeft", "ArrowRight");
          await read;
          assertEquals(await frame.evaluate("globalThis.mark"), 1, "it was reloaded");
          await project.write(HELLO, FILES[HELLO]!.replace("function hello(", "function hallo("));
          await press("ArrowLeft", "ArrowRight");
          await frame.waitForSelector("#operations-hello-hallo");
          await project.write(HELLO, FILES[HELLO]!);
          await page.reload();
          assertEquals(
            await page.$eval("#tab-api", (e) => e.getAttribute("aria-selected")),
            "true",
          );
        });
      }

      await run("names and roles are there for those who do not see it", 1200, async ({ page }) => {
        const unnamed = await page.evaluate(`
          [...document.querySelectorAll("button, input, textarea, iframe, [role=region]")]
            .filter((e) => !(e.getAttribute("aria-label") ?? e.title ?? "") && !e.labels?.length && !e.textContent.trim())
            .map((e) => e.outerHTML)`);
        assertEquals(unnamed, []);
        assertEquals(
          await page.$$eval("header, nav, main, h1", (all) => all.map((e) => e.tagName)),
          [
            "HEADER",
            "H1",
            "NAV",
            "MAIN",
          ],
        );
      });

      await t.step("it says when the server is gone", async () => {
        const page = await browser.newPage();
        await page.goto(`${server.url}/_trellis`, { waitUntil: "domcontentloaded" });
        await page.waitForFunction(`document.querySelector("#connection").textContent === "Live"`);
        await server.stop();
        await page.waitForFunction(
          `document.querySelector("#connection").textContent.startsWith("Not connected")`,
        );
      });
    } finally {
      await browser.close();
      await project.clean();
    }
  },
);
