/** No name may leave its comment or its quotes in a generated permission file. */
import { assertEquals, assertThrows } from "@std/assert";
import { loadModule, parseSync } from "libpg-query";
import { DatabaseOperation } from "../../database/queries/table_permission.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { renderPermissionFiles } from "../../cli/grants/permission_files.ts";
import { readPermissionFiles } from "../../database/permissions/files.ts";
import { createRandom } from "../support/random.ts";
import { testSeed } from "../support/seed.ts";
import { withTempFolder } from "../support/temp_folder.ts";

await loadModule();

const OPTIONS = { dir: "permissions", terraformFile: "roles.tf", rolePrefix: "fn_" };
const PARTS = [
  ..."\n \r \r\n \u2028 \u2029 \u0085 \v \f \0 \u202e -- /* */ ' \" $$ $a$ ; \\ %".split(" "),
  "GRANT ALL ON t TO PUBLIC;",
  "name",
  " ",
];

function render(table: string, reason: string, file = "src/a.ts"): string {
  const grant = {
    table: { schema: undefined, name: table },
    operations: [DatabaseOperation.Select],
    sequences: [],
  };
  const tables = [{ ...grant, neededBy: [reason] }];
  const fn = { name: "Fn", file, usesDatabase: true, tables, sequences: [] };
  return renderPermissionFiles([fn], OPTIONS).files.get("permissions/Fn.sql")!;
}

/** Statements by PostgreSQL's own parser; the statement of the distributed engine is left out. */
function parseKinds(sql: string): string[] {
  const { stmts } = parseSync(sql.replace(/^AWS IAM GRANT .*;$/m, "")) as {
    stmts: { stmt: object }[];
  };
  return stmts.map(({ stmt }) => Object.keys(stmt)[0]);
}

Deno.test("generate permissions quotes every name", () => {
  const random = createRandom(testSeed);
  for (let round = 0; round < 2000; round++) {
    const pick = () =>
      Array.from({ length: 1 + random.below(6) }, () => random.pick(PARTS)).join("");
    const [reason, file, table] = [pick(), pick(), `t${pick()}`.replaceAll("\0", "")];
    const sql = render(table, reason, file);
    assertEquals(
      parseKinds(sql),
      ["CreateRoleStmt", "GrantStmt"],
      JSON.stringify({ reason, file, table }),
    );
  }
});

Deno.test("generate permissions writes no text that is replaced as a variable", async () => {
  await withTempFolder({}, async (folder) => {
    await Deno.writeTextFile(
      `${folder}/a.sql`,
      render("t", "${HOME}\nDROP TABLE t;", "${HOME}.ts"),
    );
    const env = { AWS_ACCOUNT_ID: "1", RESOURCE_PREFIX: "p", HOME: "x" };
    const kinds = readPermissionFiles(folder, env).map(({ action }) => action.kind);
    assertEquals(kinds, ["create_role", "grant", "iam_grant"]);
  });
});

Deno.test("generate permissions rejects a table name with a variable", () => {
  assertThrows(() => render("t_${HOME}", "q"), ConfigurationError, "rename the table");
});
