import puppeteer, { type Browser } from "puppeteer-core";

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of a browser: `$CHROME_PATH`, or a usual one; `undefined` if there is none. */
export const browserPath: string | undefined = Deno.env.get("CHROME_PATH") ??
  BROWSERS.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });

/** Starts a headless browser. */
export function launchBrowser(): Promise<Browser> {
  return puppeteer.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
}
