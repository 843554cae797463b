/**
 * Pages of React that call the accounts example with the client, with the modules of the guide about React: one of Vite, and one
 * of Next.js, which also calls it on the server. Needs a browser.
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { packPackage } from "../consumers/support/package.ts";
import { prepare, run } from "../emulator/emulator.ts";
import { browserPath, launchBrowser } from "../support/browser.ts";
import { freePort } from "../support/free_port.ts";
import { withEnv } from "../support/with_env.ts";
import { ROOT, TRELLIS, withExample } from "./examples.ts";

const PACKAGES = [
  ...["next@16.4.6", "react@19.3.1", "react-dom@19.3.1", "vite@8.4.0"],
  ...["@tanstack/react-query@5.108.4", "openapi-fetch@0.17.0"],
  ...["typescript@5.9.3", "@types/node@20", "@types/react@19", "@types/react-dom@19"],
];
const TSCONFIG = {
  compilerOptions: {
    ...{ target: "es2022", module: "esnext", moduleResolution: "bundler", strict: true },
    ...{ noEmit: true, skipLibCheck: true, jsx: "react-jsx", types: ["node", "vite/client"] },
    ...{ lib: ["es2022", "dom", "dom.iterable"] },
  },
  exclude: ["node_modules"],
};
const ADMIN = { email: "admin@example.com", password: "correct horse battery" };

/** A framework: how its page is built, and how it is served. */
interface Framework {
  readonly build: readonly string[];
  serve(port: string): readonly string[];
}

const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  vite: {
    build: ["vite", "build"],
    serve: (port) => ["vite", "preview", "--port", port, "--strictPort", "--host", "localhost"],
  },
  next: { build: ["next", "build"], serve: (port) => ["next", "start", "--port", port] },
};

/** Returns the modules that the guide shows, by their names: `api.ts` and `server_api.ts`. */
async function readGuide(): Promise<ReadonlyMap<string, string>> {
  const text = await Deno.readTextFile(join(ROOT, "docs/guides/react.md"));
  const blocks = text.matchAll(/```tsx ignore\n\/\/ (\w+\.ts)\n([^`]+)```/g);
  return new Map([...blocks].map(([, name, code]) => [name, code]));
}

/** Creates the project of a page beside its packages. */
async function createProject(parent: string, name: string): Promise<string> {
  const folder = await Deno.makeTempDir({ dir: parent });
  const pages = join(ROOT, "tests/contract/pages");
  const parts = ["sign_in.tsx", "organizations.tsx", `${name}/.`];
  await run("cp", ["-R", ...parts.map((part) => `${pages}/${part}`), folder]);
  for (const [file, code] of await readGuide()) {
    // Vite has no server components
    if (name === "next" || file === "api.ts") await Deno.writeTextFile(join(folder, file), code);
  }
  const document = join(ROOT, "examples/accounts/openapi.json");
  await Deno.writeTextFile(join(folder, "trellis.config.ts"), "export default {};");
  await run(Deno.execPath(), [
    ...[...TRELLIS, "generate", "client", "--from", document, "--project", folder],
  ]);
  await Deno.remove(join(folder, "trellis.config.ts"));
  await Deno.writeTextFile(join(folder, "package.json"), `{ "type": "module" }`);
  await Deno.writeTextFile(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
  const installed = join(folder, "node_modules/@trellis/fn");
  await Deno.mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", await packPackage(), "-C", installed, "--strip-components", "1"]);
  return folder;
}

/** Serves a page until the function ends. */
async function withPage(
  parent: string,
  folder: string,
  args: readonly string[],
  env: Record<string, string>,
  use: () => Promise<void>,
): Promise<void> {
  const [program, ...rest] = args;
  const server = new Deno.Command(join(parent, "node_modules/.bin", program), {
    args: rest,
    cwd: folder,
    env,
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    for (let attempt = 0; !await isListening(env.APP_ORIGIN); attempt++) {
      if (attempt > 300) throw new Error(`${program} does not listen`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await use();
  } finally {
    server.kill("SIGTERM");
    await server.status;
  }
}

async function isListening(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).body?.cancel();
    return true;
  } catch {
    return false;
  }
}

/** Lets the administrator sign in with a password. */
async function verifyAddress(url: string, token: string): Promise<void> {
  const headers = {
    Authorization: `Bearer ${token}`,
    "Content-Type": "application/json",
    Origin: url,
  };
  const { user } = await (await fetch(`${url}/auth/get-session`, { headers })).json();
  const body = JSON.stringify({ userId: user.id, data: { emailVerified: true } });
  const response = await fetch(`${url}/auth/admin/update-user`, { method: "POST", headers, body });
  assertEquals(response.status, 200, await response.text());
}

/** Fills in a form and submits it. */
async function submit(page: Page, form: string, values: Record<string, string>): Promise<void> {
  await page.waitForSelector(`${form} button`);
  for (const [name, value] of Object.entries(values)) {
    await page.$eval(`${form} [name=${name}]`, (field, text) => {
      (field as unknown as { value: string }).value = text;
    }, value);
  }
  await page.click(`${form} button`);
}

async function waitForText(page: Page, selector: string, text: string): Promise<void> {
  const found = `[...document.querySelectorAll(${JSON.stringify(selector)})]
    .some((each) => each.textContent.includes(${JSON.stringify(text)}))`;
  await page.waitForFunction(found);
}

const ALERT = "[role=alert]";

/** Signs in, lists and creates; each error is shown by its status. */
async function visit(browser: Browser, origin: string, hasServer: boolean): Promise<void> {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.goto(origin);
  await submit(page, "form", { ...ADMIN, password: "wrong" });
  await waitForText(page, ALERT, "Not accepted: INVALID_EMAIL_OR_PASSWORD");
  await submit(page, "form", ADMIN);
  await waitForText(page, "h1", ADMIN.email);
  const form = "form:not(#server)";
  await submit(page, form, { name: "Acme", slug: "acme" });
  await waitForText(page, "li", "Acme");
  await submit(page, form, { name: "Other", slug: "acme" });
  await waitForText(page, ALERT, "Status 400: ORGANIZATION_ALREADY_EXISTS");
  if (hasServer) {
    await submit(page, "#server", { name: "Branch", slug: "branch" });
    await waitForText(page, "output", "Created Branch");
    await submit(page, "#server", { name: "Other", slug: "branch" });
    await waitForText(page, "output", "Status 400");
    // the list is part of the page that the server renders
    const html = await (await page.reload())!.text();
    assertEquals([html.includes("<li>Acme</li>"), html.includes("<li>Branch</li>")], [true, true]);
  }
  // another visitor has no session
  const other = await (await browser.createBrowserContext()).newPage();
  await other.goto(origin);
  await other.waitForSelector("[name=password]");
  await context.close();
}

for (const [name, { build, serve }] of Object.entries(FRAMEWORKS)) {
  Deno.test({
    name: `a page of ${name} signs in, lists, creates and shows errors by status`,
    ignore: browserPath === undefined,
    async fn() {
      const parent = await prepare("trellis-contract-pages", async (draft) => {
        await Deno.writeTextFile(`${draft}/package.json`, `{ "type": "module" }`);
        await run("npm", ["install", "--silent", "--no-audit", "--no-fund", ...PACKAGES], draft);
      });
      const folder = await createProject(parent, name);
      const port = String(freePort());
      const origin = `http://localhost:${port}`;
      const browser = await launchBrowser();
      try {
        await run(join(parent, "node_modules/.bin/tsc"), ["-p", folder], folder);
        await withEnv({ WEB_ORIGIN: origin }, () =>
          withExample("accounts", async (url, token) => {
            await verifyAddress(url, token);
            const env = { API_URL: url, APP_ORIGIN: origin, NEXT_TELEMETRY_DISABLED: "1" };
            const [program, ...args] = build;
            await withEnv(env, () => run(join(parent, "node_modules/.bin", program), args, folder));
            await withPage(parent, folder, serve(port), env, () =>
              visit(browser, origin, name === "next"));
          }));
      } finally {
        await browser.close();
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}
