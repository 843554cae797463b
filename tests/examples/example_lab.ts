import { stop } from "esbuild";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { resolveConfig, type TrellisConfig } from "../../cli/config/config.ts";
import { type DevServer, startDevServer } from "../../cli/dev/dev_server.ts";
import type { SentMail } from "../../cli/dev/functions/recorder.ts";
import { createTerminal } from "../../cli/dev/terminal.ts";
import { createOutput } from "../../cli/terminal/output.ts";
import { type PageServer, servePage } from "../../examples/serve_page.ts";
import { launchBrowser } from "../support/browser.ts";
import { openVisitor, type Visitor } from "./visitor.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url);
const TESTS = new URL("./", import.meta.url);

/** What of an example is started. */
export interface ExampleOptions {
  /** Name of its folder. */
  readonly name: string;
  readonly config: TrellisConfig;
  /** Folder beside this file whose `src` and `migrations` are added. */
  readonly additions?: string;
  /** Variables of the functions, besides the origin of the page and the address of the auth routes. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Returns the constants of the page. */
  getConstants(apiUrl: string): Record<string, string>;
}

/** An example with its page and a browser. */
export interface ExampleLab {
  readonly server: DevServer;
  readonly web: PageServer;
  /** Address of the API. */
  readonly url: string;
  visit(): Promise<Visitor>;
  /** Waits for the newest mail to an address with a subject. */
  waitForMail(to: string, subject: string): Promise<SentMail>;
  /** Calls the API of the local page. */
  askPage<T>(path: string, method?: string): Promise<T>;
  stop(): Promise<void>;
}

/** Copies an example into a temporary folder and starts it. */
export async function startExample(options: ExampleOptions): Promise<ExampleLab> {
  const example = new URL(`${options.name}/`, EXAMPLES);
  // inside of the repository, so that its import map applies
  const parent = fileURLToPath(new URL(".trellis", example));
  await Deno.mkdir(parent, { recursive: true });
  const root = await Deno.realPath(await Deno.makeTempDir({ dir: parent }));
  const sources = options.additions === undefined
    ? [example]
    : [example, new URL(`${options.additions}/`, TESTS)];
  for (const source of sources) {
    for (const folder of ["src", "migrations"]) {
      await copy(fileURLToPath(new URL(folder, source)), join(root, folder));
    }
  }
  const port = getFreePort();
  const url = `http://localhost:${port}`;
  const web = await servePage(new URL("web/", example), 0, options.getConstants(url));
  const variables = {
    AUTH_BASE_URL: `${url}/auth`,
    WEB_ORIGIN: web.url,
    ...options.variables,
  };
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  const stream = { write() {} };
  const output = createOutput({ stdout: stream, stderr: stream, json: false });
  const server = await startDevServer({
    root,
    config: resolveConfig(options.config, "trellis.config.ts"),
    port,
    database: "embedded",
    terminal: createTerminal(output, root),
  });
  const browser = await launchBrowser();

  async function askPage<T>(path: string, method = "GET"): Promise<T> {
    const response = await fetch(`${url}/_trellis/api/${path}`, { method });
    const value = await response.json();
    if (!response.ok) throw new Error(JSON.stringify(value));
    return value;
  }

  return {
    server,
    web,
    url,
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
