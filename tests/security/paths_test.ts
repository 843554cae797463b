import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { parse } from "@cdktf/hcl2json";
import { loadModule, parseSync } from "libpg-query";
import { fileURLToPath } from "node:url";
import { readAsset } from "../../cli/dev/page_assets.ts";
import { ModulesPathError, resolveModulesPath } from "../../cli/infra/modules_path.ts";
import { MigrationError } from "../../database/migrate.ts";
import { readMigrationFiles } from "../../database/mod.ts";
import { readPermissionFiles } from "../../database/permissions/files.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { runInProcess } from "../cli/fixtures/run.ts";

const CANARY = "canary4711";

/** A folder with a file beside it that nothing may read or write. */
async function withFolder(
  test: (folder: string, outside: string) => Promise<void> | void,
): Promise<void> {
  const outside = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.mkdir(`${outside}/inside`);
    await Deno.writeTextFile(`${outside}/0009_secret.sql`, `SELECT '${CANARY}'`);
    await test(`${outside}/inside`, outside);
    assertEquals(await Deno.readTextFile(`${outside}/0009_secret.sql`), `SELECT '${CANARY}'`);
  } finally {
    await Deno.remove(outside, { recursive: true });
  }
}

function filesUnder(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap((entry) =>
    entry.isDirectory ? filesUnder(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`]
  ).sort();
}

Deno.test("readMigrationFiles() reads only files of its folder, even if the journal names others", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/0001_first.sql`, "SELECT 1");
    await Deno.mkdir(`${folder}/meta`);
    await Deno.mkdir(`${folder}/0002_folder`);
    await Deno.writeTextFile(`${folder}/0002_folder/0003_deep.sql`, "SELECT 3");
    for (
      const tag of [
        "../0009_secret",
        "..\\0009_secret",
        "/etc/passwd",
        "0009_secret\0",
        "0001_first/../../0009_secret",
      ]
    ) {
      await Deno.writeTextFile(
        `${folder}/meta/_journal.json`,
        JSON.stringify({ entries: [{ tag }] }),
      );
      const error = assertThrows(
        () => readMigrationFiles(folder),
        MigrationError,
        "does not exist",
      );
      assert(!`${error.message} ${error.cause}`.includes(CANARY));
    }
    await Deno.remove(`${folder}/meta/_journal.json`);
    assertEquals(readMigrationFiles(folder).map(({ tag }) => tag), ["0001_first"]);
  });
});

Deno.test("migration and permission files have no control characters in their names", async () => {
  for (const name of ["0001_a\nforged.sql", "0001_\x1b[2J.sql", "0001_a\r.sql", "0001_\x7f.sql"]) {
    await withFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/${name}`, "SELECT 1");
      for (
        const read of [() => readMigrationFiles(folder), () => readPermissionFiles(folder, {})]
      ) {
        const error = assertThrows(read, Error, "control character in its name");
        assert(error instanceof MigrationError || error instanceof ConfigurationError);
        assert(!/\p{Cc}/u.test(error.message.replace("\x7f", "")), error.message);
      }
    });
  }
});

Deno.test("resolveModulesPath() accepts only a folder of modules", async () => {
  await withFolder(async (folder) => {
    for (
      const modulesPath of [
        "..",
        "../..",
        "/",
        "/etc",
        "../0009_secret.sql",
        "",
        ".",
        "\0",
        "a\nb",
        "${path.root}",
      ]
    ) {
      const error = await assertRejects(
        () => resolveModulesPath({ modulesPath, projectDir: folder }),
        ModulesPathError,
      );
      assertEquals(error.code, "EXPLICIT_PATH_INVALID", modulesPath);
      assert(!error.message.includes(CANARY));
    }
    assertEquals(filesUnder(folder), []);
  });
});

Deno.test("the local server serves only its own pages", async () => {
  assert(await readAsset("index.html") !== undefined);
  for (
    const name of [
      "../page_assets.ts",
      "../../../SECURITY.md",
      "..%2f..%2fdeno.json",
      "/etc/passwd",
      "",
      "__proto__",
      "constructor",
    ]
  ) {
    assertEquals(await readAsset(name), undefined, name);
  }
});

/** Names that a file may have and that mean something in SQL, Terraform, JSON, a shell, or a path. */
const NAMES = [
  `a"; DROP TABLE victim; --`,
  "b'; DROP TABLE victim; --",
  "c${path.root}%{ if true }",
  "d$(touch canary)`id`",
  "%2e%2e%2fg",
  "h*/ forged /*",
  "i#{}//",
  "j<script>",
  "..",
  "constructor",
  "__proto__",
].map((name) => name.replaceAll("/", "∕"));

const FUNCTION = `import { defineApiHandler } from "@trellis/fn";
import { readNotes } from "../../queries.ts";
export const handler = defineApiHandler()(async () => { await readNotes(); return { statusCode: 200, body: "" }; });\n`;
const QUERIES = `import { createQueryFactory, getDrizzleClient } from "@trellis/fn/database";
const { defineQuery } = createQueryFactory(() => getDrizzleClient({ provider: "embedded-pg" }));
export const readNotes = defineQuery(
  { tables: [{ table: 'notes"; DROP TABLE victim; --', operations: ["SELECT"] }] }, async function readNotes(db) {});\n`;

Deno.test("generated files have names of letters and digits, stay in the project, and contain names as data", async () => {
  await loadModule();
  await withFolder(async (root, outside) => {
    const api = `${root}/src/functions/api`;
    await Deno.mkdir(api, { recursive: true });
    await Deno.writeTextFile(`${root}/deno.json`, '{ "name": "@acme/shop" }');
    await Deno.writeTextFile(`${root}/src/queries.ts`, QUERIES);
    for (const name of NAMES) await Deno.writeTextFile(`${api}/${name}.get.ts`, FUNCTION);
    const before = new Set(filesUnder(outside));
    const modules = fileURLToPath(new URL("../../modules", import.meta.url));
    const runs = [["permissions"], ["openapi"], ["infra", "--modules-path", modules]];
    for (const run of runs) {
      const { exitCode, stdout, stderr } = await runInProcess([
        "generate",
        ...run,
        "--project",
        root,
      ]);
      assert(
        exitCode <= 1 || /route|path|segment|name/i.test(stderr),
        `${run[0]} ${exitCode} ${stdout} ${stderr}`,
      );
    }
    const made = filesUnder(outside).filter((file) => !before.has(file));
    assert(made.length >= NAMES.length, made.join("\n"));
    for (const file of made) {
      assertMatch(file.slice(outside.length), /^\/inside\/(?:[\w-]+\/)*[\w-]+\.(?:sql|json|tf)$/);
      const text = await Deno.readTextFile(file);
      if (file.endsWith(".json")) JSON.parse(text);
      else if (file.endsWith(".tf")) await parse(file, text);
      else assertEquals(getKinds(text), ["CreateRoleStmt", "GrantStmt"], file);
    }
  });
});

/** The statements of a permission file; PostgreSQL does not know the one that maps an IAM role. */
function getKinds(text: string): string[] {
  const tree = parseSync(text.replace(/^AWS IAM GRANT .*$/m, "")) as {
    stmts: { stmt: Record<string, unknown> }[];
  };
  return tree.stmts.map(({ stmt }) => Object.keys(stmt)[0]);
}
