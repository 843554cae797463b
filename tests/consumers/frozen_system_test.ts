import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { withFaultTargets } from "../support/fault_targets.ts";
import { startPostgres } from "../support/postgres.ts";
import { makeConsumer, ROOT } from "./support/package.ts";
import { pickPackages } from "./support/pick_packages.ts";
import { findTool, IS_FULL, type Tool } from "./support/tools.ts";

const DRIVERS = [
  "drizzle-orm",
  "postgres",
  "@neondatabase/serverless",
  "@aws-sdk/client-rds-data",
  "@aws-sdk/dsql-signer",
];
const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
const installed = await pickPackages(
  DRIVERS.map((name) => imports[name].slice("npm:".length).replace("@^", "@")),
);

// the servers of the providers stay between tests
const options = { sanitizeOps: false, sanitizeResources: false };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

// Node 20 has no WebSocket for Neon
for (const tool of (IS_FULL ? ["node20", "node24"] : ["node24"]) as Tool[]) {
  Deno.test(
    `connections that end while the process is stopped cost no request on ${tool}`,
    options,
    async () => {
      const node = await findTool(tool);
      if (node === undefined) return;
      const folder = await makeConsumer(installed, { "query_client.mjs": undefined });
      const server = await startPostgres();
      try {
        await withFaultTargets(server, async ({ name, config, network }) => {
          if (tool === "node20" && name === "branching-pg") return;
          const child = new Deno.Command(join(node, "bin", "node"), {
            args: ["query_client.mjs", JSON.stringify({ config, port: network.port })],
            cwd: folder,
            env: { METRICS_DISABLED: "true" },
            stdin: "piped",
            stdout: "piped",
          }).spawn();
          const timer = setTimeout(() => child.kill("SIGKILL"), 30_000);
          const input = child.stdin.getWriter();
          const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
          async function query(): Promise<unknown> {
            await input.write(new TextEncoder().encode("\n"));
            return JSON.parse((await output.read()).value ?? '"the process ended"');
          }
          try {
            assertEquals(await query(), [{ one: 1 }], name);
            for (let round = 0; round < 2; round++) {
              const before = network.accepted;
              // what Lambda does to a sandbox between two invocations
              child.kill("SIGSTOP");
              // sockets of HTTP that lay idle for seconds are not used again, whether their end was heard or not
              if (name.includes("Data API")) network.forget();
              else network.cut();
              await pause(name.includes("Data API") ? 4200 : 700);
              const answer = query();
              child.kill("SIGCONT");
              assertEquals(await answer, [{ one: 1 }], `${name}, round ${round + 1}`);
              assert(network.accepted > before, `${name} was not cut`);
            }
          } finally {
            clearTimeout(timer);
            await input.close().catch(() => {});
            await output.cancel();
            assertEquals((await child.status).code, 0);
          }
        });
      } finally {
        await server.stop();
        await Deno.remove(folder, { recursive: true });
      }
    },
  );
}
