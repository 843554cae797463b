import { stop } from "esbuild";
import type { Browser, BrowserContext, Page } from "puppeteer-core";
import { join } from "node:path";
import { resolveConfig } from "../../../cli/config/config.ts";
import { type DevServer, startDevServer } from "../../../cli/dev/dev_server.ts";
import type { SentMail } from "../../../cli/dev/sent_mail.ts";
import { createTerminal } from "../../../cli/dev/terminal.ts";
import { createOutput } from "../../../cli/output.ts";
import config from "../../../examples/accounts/trellis.config.ts";
import { serveWeb, type WebServer } from "../../../examples/accounts/web/serve.ts";
import { launchBrowser } from "../../support/browser.ts";

const EXAMPLE = new URL("../../../examples/accounts/", import.meta.url).pathname;

/** A browser window with its own cookies. */
export interface Visitor {
  readonly page: Page;
  /** Opens the page, or a link of a mail. */
  open(url?: string): Promise<void>;
  /** Fills a form and submits it, then waits for a message. */
  submit(form: string, values: Readonly<Record<string, string>>, message: string): Promise<void>;
  /** Presses a button, then waits for a message. */
  press(button: string, message: string): Promise<void>;
  /** Waits until the page shows who is signed in. */
  isSignedInAs(email: string): Promise<void>;
  isSignedOut(): Promise<void>;
  /** Waits until an element contains a text. */
  shows(selector: string, text: string): Promise<void>;
  /** Returns the text of an element. */
  text(selector: string): Promise<string>;
  close(): Promise<void>;
}

/** The example with its page and a browser. */
export interface AccountsLab {
  readonly server: DevServer;
  readonly web: WebServer;
  visit(): Promise<Visitor>;
  /** Waits for the newest mail to an address with a subject. */
  waitForMail(to: string, subject: string): Promise<SentMail>;
  /** Calls the API of the local page. */
  askPage<T>(path: string, method?: string): Promise<T>;
  stop(): Promise<void>;
}

/** Copies the example into a temporary folder and starts it. */
export async function startAccounts(): Promise<AccountsLab> {
  // inside of the repository, so that its import map applies
  const parent = join(EXAMPLE, ".trellis");
  await Deno.mkdir(parent, { recursive: true });
  const root = await Deno.realPath(await Deno.makeTempDir({ dir: parent }));
  await copy(join(EXAMPLE, "src"), join(root, "src"));
  await copy(join(EXAMPLE, "migrations"), join(root, "migrations"));
  const port = getFreePort();
  const web = await serveWeb(0, () => `http://localhost:${port}/auth`);
  const variables = {
    AUTH_BASE_URL: `http://localhost:${port}/auth`,
    WEB_ORIGIN: web.url,
    ADMIN_EMAIL: "admin@example.com",
  };
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  const stream = { write() {} };
  const output = createOutput({ stdout: stream, stderr: stream, json: false });
  const server = await startDevServer({
    root,
    config: resolveConfig(config, "trellis.config.ts"),
    port,
    database: "embedded",
    terminal: createTerminal(output, root),
  });
  const browser = await launchBrowser();
  const url = getLocalUrl(server);

  async function askPage<T>(path: string, method = "GET"): Promise<T> {
    const response = await fetch(`${url}/_trellis/api/${path}`, { method });
    const value = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(value));
    return value;
  }

  return {
    server,
    web,
    askPage,
    visit: () => openVisitor(browser, web.url),
    async waitForMail(to, subject): Promise<SentMail> {
      for (let attempt = 0; attempt < 300; attempt++) {
        const { mails } = await askPage<{ mails: SentMail[] }>("state");
        const mail = mails.find((each) => each.to === to && each.subject === subject);
        if (mail !== undefined) return mail;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`No mail "${subject}" to ${to}`);
    },
    async stop(): Promise<void> {
      await browser.close();
      await server.stop();
      await web.stop();
      await stop();
      for (const name of Object.keys(variables)) Deno.env.delete(name);
      await Deno.remove(root, { recursive: true });
    },
  };
}

function getLocalUrl({ port }: DevServer): string {
  return `http://localhost:${port}`;
}

function getFreePort(): number {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  listener.close();
  return port;
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copy(join(from, name), join(to, name));
    else await Deno.copyFile(join(from, name), join(to, name));
  }
}

async function openVisitor(browser: Browser, home: string): Promise<Visitor> {
  const context: BrowserContext = await browser.createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);

  async function waitForStatus(message: string): Promise<void> {
    await page.waitForFunction(
      (text: string) => {
        const shown = document.getElementById("status")?.textContent ?? "";
        return shown !== "…" && shown !== "" && (shown.includes(text) || /^[A-Z_]+:/.test(shown));
      },
      {},
      message,
    );
    const shown = await getText("#status");
    if (!shown.includes(message)) throw new Error(`The page says "${shown}", not "${message}"`);
  }

  async function getText(selector: string): Promise<string> {
    return await page.$eval(selector, (element) => element.textContent ?? "");
  }

  async function shows(selector: string, text: string): Promise<void> {
    await page.waitForFunction(
      (at: string, expected: string) => document.querySelector(at)?.textContent?.includes(expected),
      {},
      selector,
      text,
    ).catch(async (cause) => {
      const shown = await getText(selector).catch(() => "nothing");
      throw new Error(`${selector} shows "${shown}", not "${text}"`, { cause });
    });
  }

  return {
    page,
    shows,
    text: getText,
    async open(url = home): Promise<void> {
      await page.goto(url, { waitUntil: "domcontentloaded" });
    },
    async submit(form, values, message): Promise<void> {
      const selector = `form[aria-label="${form}"]`;
      await page.waitForSelector(selector);
      await page.$eval(selector, (element, given) => {
        for (const [name, value] of Object.entries(given)) {
          (element as HTMLFormElement).querySelector<HTMLInputElement>(`[name="${name}"]`)!
            .value = value;
        }
        document.getElementById("status")!.textContent = "";
        (element as HTMLFormElement).requestSubmit();
      }, values);
      await waitForStatus(message);
    },
    async press(button, message): Promise<void> {
      await page.waitForFunction(
        (label: string) =>
          [...document.querySelectorAll("button")].some(({ textContent }) => textContent === label),
        {},
        button,
      );
      await page.evaluate((label: string) => {
        document.getElementById("status")!.textContent = "";
        [...document.querySelectorAll("button")].find(({ textContent }) => textContent === label)!
          .click();
      }, button);
      if (message !== "") await waitForStatus(message);
    },
    isSignedInAs: (email) => shows("#who", `Signed in as ${email}`),
    isSignedOut: () => shows("#who", "Signed out"),
    close: () => context.close(),
  };
}
