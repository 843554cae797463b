import type { Browser, BrowserContext, Page } from "puppeteer-core";

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

/**
 * Opens a window on a page whose messages are in the element `status`.
 *
 * @param browser The browser.
 * @param home Address of the page.
 */
export async function openVisitor(browser: Browser, home: string): Promise<Visitor> {
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
