// deno-lint-ignore-file no-console
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { servePage } from "./serve_page.ts";

/**
 * Runs the API of an example on port 8787 with `trellis dev`, and its page on port 3000. Ctrl-C stops
 * both.
 *
 * @param project The folder of the example.
 * @param constants Texts that the page declares, such as the address of the API.
 */
export async function startWithPage(
  project: URL,
  constants: Readonly<Record<string, string>>,
): Promise<void> {
  const page = await servePage(new URL("web/", project), 3000, constants);
  console.error(`The page is at ${page.url}, its mails at http://localhost:8787/_trellis#mail`);
  const cli = fileURLToPath(new URL("../cli/main.ts", import.meta.url));
  const folder = fileURLToPath(project);
  const server = spawn(process.execPath, ["run", "-A", cli, "dev", "--project", folder], {
    stdio: "inherit",
  });
  // the terminal sends Ctrl-C to both
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => server.kill("SIGTERM"));
  server.on("exit", async (code) => {
    await page.stop();
    process.exit(code ?? 0);
  });
}
