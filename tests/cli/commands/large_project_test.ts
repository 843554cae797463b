// deno-lint-ignore-file no-console
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeLargeProject } from "../fixtures/large_project.ts";

const MAIN = fileURLToPath(new URL("../../../cli/main.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../../../deno.json", import.meta.url));

const FUNCTIONS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 1000 : 60;
const QUERIES = 0.3 * FUNCTIONS;

const OF_SESSION_CHECKS = [
  'sessions SELECT ("created_at", "expires_at", "id", "token", "updated_at", "user_id"), UPDATE ("expires_at", "updated_at")',
  'users SELECT ("email", "email_verified", "id", "image", "name")',
];

Deno.test(`generate permissions on ${FUNCTIONS} functions, ${QUERIES} queries and 40 tables`, async (test) => {
  const root = await Deno.makeTempDir({ prefix: "trellis-large-" });
  const expected = await writeLargeProject(root, {
    functions: FUNCTIONS,
    queries: QUERIES,
    tables: 40,
  });
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", CONFIG, MAIN, "generate", "permissions", "--project", root],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1" },
  });
  try {
    await test.step("leaves no half-written file when it is interrupted", async () => {
      const child = command.spawn();
      const stdout = new Response(child.stdout).text();
      let isInterrupted = false;
      // the first line of progress comes after a second; a fast machine may be done before
      for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
        if (isInterrupted || !chunk.includes("Reading functions")) continue;
        isInterrupted = true;
        child.kill("SIGINT");
      }
      // what was done before the signal was heard is done
      assert((isInterrupted ? [130, 0] : [0]).includes((await child.status).code));
      await stdout;
      const entries = await Array.fromAsync(Deno.readDir(join(root, "permissions"))).catch(
        () => [],
      );
      for (const { name } of entries) {
        assertMatch(
          await Deno.readTextFile(join(root, "permissions", name)),
          /^-- Generated[^]*AWS IAM GRANT .*;\n$/,
        );
      }
    });

    await test.step("gives each function what it needs", async () => {
      const startedAt = performance.now();
      const { code, stdout } = await command.output();
      const seconds = (performance.now() - startedAt) / 1000;
      assertEquals(code, 0);
      assertStringIncludes(
        new TextDecoder().decode(stdout),
        `${FUNCTIONS} functions, ${QUERIES} queries, ${FUNCTIONS} roles`,
      );
      for (const [name, grants] of expected) {
        const sql = await Deno.readTextFile(join(root, `permissions/${name}.sql`));
        const found = [...sql.matchAll(/^GRANT (.*) ON "(.*)" TO/gm)].map(([, operations, table]) =>
          `${table} ${operations}`
        );
        const merged = new Map<string, string[]>();
        for (const grant of grants) {
          const [table, operation] = grant.split(" ");
          merged.set(table, [...merged.get(table) ?? [], operation]);
        }
        const order = ["SELECT", "INSERT", "UPDATE", "DELETE"];
        const wanted = [...merged].map(([table, operations]) =>
          `${table} ${order.filter((each) => operations.includes(each)).join(", ")}`
        );
        assertEquals(found.sort(), [...OF_SESSION_CHECKS, ...wanted].sort(), name);
      }
      console.info(`${seconds.toFixed(1)} s by the clock`);
    });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
