import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { checkStatements } from "../../../cli/build/check_statements.ts";
import { build } from "../../../cli/commands/build.ts";
import { generatePermissions } from "../../../cli/commands/generate_permissions.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { withAuthProject } from "../fixtures/auth_project.ts";
import { runInProcess } from "../fixtures/run.ts";

/** A project whose function calls the statement `find` of a module. */
function projectWith(statement: string): Record<string, string> {
  return {
    "src/database.ts": `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
const url = getRequiredEnv("CHECK_STATEMENTS_TEST_URL");
export const { defineStatement } = createQueryFactory(() =>
  getDrizzleClient({ provider: "postgres", connectionString: url })
);
`,
    "src/queries.ts": `import { sql } from "@trellis/fn/database/orm";
import { defineStatement } from "./database.ts";

${statement}
`,
    "src/functions/api/notes.get.ts": `import { defineApiHandler } from "@trellis/fn/validation";
import { find } from "../../queries.ts";
export const handler = defineApiHandler({})(async () => ({
  statusCode: 200,
  body: JSON.stringify(await find({ id: 1, limit: 2 })),
}));
`,
  };
}

const OPTIONS = '{ tables: [{ table: "notes", operations: ["SELECT"] }] }';
const good = `export const find = defineStatement(
  "find",
  (db, p) => db.execute(sql\`SELECT * FROM notes WHERE id = \${p.id} LIMIT \${p.limit}\`),
  ${OPTIONS},
);`;

const run = (root: string, ...args: string[]) =>
  runInProcess([...args, "--project", root], { commands: [generatePermissions, build] });

const COMMANDS = [["generate", "permissions"], ["build"]];

Deno.test("generate permissions builds every statement, without a database", async () => {
  await withAuthProject(projectWith(good), async (root) => {
    const { exitCode, stdout, stderr } = await run(root, "generate", "permissions");
    assertEquals([exitCode, stderr], [0, ""], stdout);
  });
});

Deno.test("generate permissions and build refuse a statement whose form depends on a value", async () => {
  const bad = good.replace("${p.limit}", "${p.limit + 1}");
  const clock = good.replace("${p.id}", "${new Date()}");
  for (
    const [source, reason] of [
      [bad, "p.limit decides the form of the statement, use defineQuery"],
      [clock, "the builder reads the clock, but runs once for all calls"],
    ]
  ) {
    await withAuthProject(projectWith(source), async (root) => {
      for (const command of COMMANDS) {
        const { exitCode, stdout, stderr } = await run(root, ...command);
        assertEquals(exitCode, command[0] === "build" ? 3 : 1, stderr);
        assertStringIncludes(
          stdout + stderr,
          `src/queries.ts:4: defineStatement("find"): ${reason}`,
        );
      }
    });
  }
});

Deno.test("generate permissions refuses a function whose modules cannot be loaded", async () => {
  const broken = `throw new Error("not today");\n${good}`;
  await withAuthProject(projectWith(broken), async (root) => {
    const { exitCode, stdout } = await run(root, "generate", "permissions");
    assertEquals(exitCode, 1, stdout);
    assertStringIncludes(stdout, "src/queries.ts:4: not today");
  });
});

Deno.test("checkStatements() checks only the statements that a function uses", async () => {
  const kept = `const queries = {
  find: ${good.replace("export const find = ", "").replace(/;$/, "")},
  other: defineStatement("other", (db, p) => db.execute(sql\`SELECT \${p.limit + 1}\`)),
};
export const find = queries.find;`;
  const check = (source: string) =>
    withAuthProject(projectWith(source), (root) => {
      const file = join(root, "src/functions/api/notes.get.ts");
      return checkStatements({ root, functions: [{ name: "Notes", file }] });
    });
  const { functions, warning } = await check(kept);
  assertEquals(warning, undefined);
  assertEquals(functions.get("Notes"), {
    statements: [{
      name: "find",
      place: "src/queries.ts:5",
      sql: "SELECT * FROM notes WHERE id = $1 LIMIT $2",
    }],
    unchecked: [],
  });
  await assertRejects(
    () => check(kept.replace("queries.find;", "queries.other;")),
    ConfigurationError,
    "p.limit decides the form of the statement",
  );
});
