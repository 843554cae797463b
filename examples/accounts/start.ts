// deno-lint-ignore-file no-console
import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { serveWeb } from "./web/serve.ts";

const web = await serveWeb(3000, () => "http://localhost:8787/auth");
console.error(`The page is at ${web.url}, its mails at http://localhost:8787/_trellis#mail`);
const cli = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const project = fileURLToPath(new URL(".", import.meta.url));
const server = spawn(process.execPath, ["run", "-A", cli, "dev", "--project", project], {
  stdio: "inherit",
});
// the terminal sends Ctrl-C to both
process.on("SIGINT", () => {});
process.on("SIGTERM", () => server.kill("SIGTERM"));
server.on("exit", async (code) => {
  await web.stop();
  process.exit(code ?? 0);
});
