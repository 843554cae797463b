import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

/** A running web server. */
export interface PageServer {
  readonly url: string;
  stop(): Promise<void>;
}

const TYPES: Readonly<Record<string, string>> = {
  "/": "text/html; charset=utf-8",
  "/style.css": "text/css; charset=utf-8",
  "/app.js": "text/javascript; charset=utf-8",
};

/**
 * Bundles the page of an example and serves it on the loopback address.
 *
 * @param folder The folder with `index.html` and `app.ts`.
 * @param port The port, 0 for a free one.
 * @param constants Texts that the page declares: `declare const API_URL: string`.
 */
export async function servePage(
  folder: URL,
  port: number,
  constants: Readonly<Record<string, string>>,
): Promise<PageServer> {
  const lines = Object.entries(constants)
    .map(([name, value]) => `const ${name} = ${JSON.stringify(value)};\n`);
  const script = lines.join("") + await bundle(fileURLToPath(new URL("app.ts", folder)));
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const contentType = TYPES[pathname];
    if (contentType === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "Content-Type": contentType, "Cache-Control": "no-store" });
    if (pathname === "/app.js") {
      response.end(script);
      return;
    }
    // the examples share their style
    const file = pathname === "/"
      ? new URL("index.html", folder)
      : new URL("style.css", import.meta.url);
    response.end(await readFile(file));
  });
  await new Promise<void>((resolve) => server.listen(port, "localhost", resolve));
  const address = server.address() as { port: number };
  return {
    url: `http://localhost:${address.port}`,
    stop(): Promise<void> {
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** Bundles a module for browsers. */
async function bundle(file: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", file],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}
