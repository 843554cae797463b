// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertEquals } from "@std/assert";
import { applyPermissions, executeRows, getDrizzleClient } from "../../database/mod.ts";
import { closeDrizzleClient } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { runInProcess } from "../cli/fixtures/run.ts";
import { getDirectConfig, startPostgres } from "../support/postgres.ts";
import { type EndedProgram, runAndKill } from "../support/kill.ts";

/** `TRELLIS_FULL_TESTS=1` kills at many more moments. */
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PROCESS = new URL("./killed_process.ts", import.meta.url).pathname;
const EXAMPLE = new URL("../../examples/notes/", import.meta.url);

/** Runs the process and kills it some time after so many lines. */
function killAfterLines(
  args: readonly string[],
  lines: number,
  plusMs: number,
): Promise<EndedProgram> {
  const isTime = (text: string) => text.split("\n").length > lines;
  return runAndKill([PROCESS, ...args], plusMs, isTime);
}

/** Lets the process die before it gives a file its name; tells whether it did. */
async function runAndDie(args: readonly string[]): Promise<boolean> {
  const { signal } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", PROCESS, ...args],
    stdout: "null",
    stderr: "null",
  }).output();
  return signal !== null;
}

const GRANTS =
  sql`SELECT grantee, table_name, privilege_type FROM information_schema.role_table_grants
  WHERE grantee LIKE 'fn\\_%' ORDER BY 1, 2, 3`;

Deno.test("applyPermissions() that was killed is finished by the next run, which grants what one run would have", async () => {
  const postgres = await startPostgres();
  const folder = await Deno.makeTempDir();
  const TABLES = 30;
  const statements = Array.from(
    { length: TABLES },
    (_, n) => `GRANT SELECT, INSERT ON t${n} TO fn_reader;\n`,
  ).join("");
  await Deno.writeTextFile(
    `${folder}/reader.sql`,
    `CREATE ROLE fn_reader WITH LOGIN;\n${statements}`,
  );
  try {
    let killed = 0;
    const moments = isFull
      ? Array.from({ length: 30 }, (_, n) => [1 + n, n % 3] as const)
      : [[2, 0], [15, 0]] as const;
    for (const [lines, plusMs] of moments) {
      const connectionString = await postgres.createDatabase(`killed_${lines}_${plusMs}`);
      const database = getDirectConfig(connectionString);
      const db = await getDrizzleClient(database);
      for (let n = 0; n < TABLES; n++) await db.execute(sql.raw(`CREATE TABLE t${n} (id int)`));
      const config = { permissionsFolder: folder, database };
      const { isKilled, errors } = await killAfterLines(
        ["permissions", JSON.stringify(config)],
        lines,
        plusMs,
      );
      assertEquals(errors, "");
      if (isKilled) killed++;
      const before = (await executeRows(db, GRANTS)).length;
      const result = await applyPermissions(config);
      assertEquals(result.errors, []);
      const grants = await executeRows(db, GRANTS);
      assertEquals(grants.length, 2 * TABLES);
      assertEquals((await applyPermissions(config)).applied, 0);
      console.log(
        `applyPermissions() killed after ${lines} lines: ${before} of ${
          2 * TABLES
        } privileges, then all of them`,
      );
      await closeDrizzleClient(database);
      await db.execute(sql`SELECT 1`).catch(() => {});
      const clean = await getDrizzleClient(database);
      await clean.execute(sql`DROP OWNED BY fn_reader`);
      await clean.execute(sql`DROP ROLE fn_reader`);
      await closeDrizzleClient(database);
    }
    assert(killed > 0, "no run was killed in the middle");
  } finally {
    await closeDrizzleClient();
    await postgres.stop();
    await Deno.remove(folder, { recursive: true });
  }
});

/** Every file below a folder, with its text. */
async function readAll(root: string, below = ""): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { name, isDirectory } of Deno.readDir(`${root}/${below}`)) {
    if (isDirectory) Object.assign(files, await readAll(root, `${below}${name}/`));
    else files[below + name] = await Deno.readTextFile(`${root}/${below}${name}`);
  }
  return files;
}

Deno.test("a generator that was killed leaves whole files, and the next run leaves what one run would have", async () => {
  const root = await Deno.realPath(await Deno.makeTempDir());
  const fresh = ["src", "migrations", "trellis.config.ts"];
  try {
    for (const name of fresh) {
      await new Deno.Command("cp", { args: ["-r", new URL(name, EXAMPLE).pathname, root] })
        .output();
    }
    for (const what of ["permissions", "infra", "openapi"]) {
      const sources = await readAll(root);
      assertEquals((await runInProcess(["generate", what, "--project", root])).exitCode, 0);
      // the short form kills the one that writes most files
      if (!isFull && what !== "infra") continue;
      const whole = await readAll(root);
      const generated = Object.keys(whole).filter((name) => !(name in sources));
      const removeAll = () =>
        Promise.all(generated.map((name) => Deno.remove(`${root}/${name}`).catch(() => {})));
      let killed = 0, partly = 0;
      const moments = isFull ? generated.map((_, at) => at + 1) : [2, 12];
      for (const file of moments) {
        await removeAll();
        if (await runAndDie(["generate", what, root, String(file)])) killed++;
        const left = await readAll(root);
        const written = generated.filter((name) => name in left);
        if (written.length > 0 && written.length < generated.length) partly++;
        // what is there under its name is whole
        for (const name of written) {
          assertEquals(left[name], whole[name], `${name}, killed at file ${file}`);
        }
        assertEquals((await runInProcess(["generate", what, "--project", root])).exitCode, 0);
        const after = await readAll(root);
        for (const name of generated) assertEquals(after[name], whole[name]);
        const strays = Object.keys(after).filter((name) => !(name in whole));
        for (const name of strays) await Deno.remove(`${root}/${name}`);
        if (strays.length > 0) {
          console.log(`generate ${what} killed at file ${file} left ${strays.join(", ")}`);
        }
      }
      assert(partly > 0 || generated.length === 1, "no run was killed between two files");
      console.log(
        `generate ${what}: killed ${killed} of ${moments.length} runs, ${partly} of them between two files, 0 half files`,
      );
    }
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
