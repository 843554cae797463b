import { assert, assertEquals } from "@std/assert";
import { dbClone } from "../../cli/commands/db_clone.ts";
import { pg, runAll, runCommand } from "../cli/database/clone_support.ts";
import { startPostgres } from "../support/postgres.ts";
import { withEnv } from "../support/with_env.ts";

const NAMES = [
  `a"; DROP TABLE victim; --`,
  `a'; DROP TABLE victim; --`,
  `a\\'; DROP TABLE victim; --`,
  `$$; DROP TABLE victim; $$`,
  `a\n; DROP TABLE victim; --`,
  `a" (id int); DROP TABLE victim; /*`,
  `$1 ? :x`,
];
const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const text = (name: string): string =>
  name.includes("\\")
    ? `E'${name.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`
    : `'${name.replaceAll("'", "''")}'`;

/** Everything that has a name, each with a hostile one, and rows whose values are hostile too. */
function getStatements(name: string, place: number): string[] {
  const [schema, table, type] = [
    quote(`s${place} ${name}`),
    quote(`t ${name}`),
    quote(`y ${name}`),
  ];
  const own = `${schema}.${table}`;
  return [
    `CREATE SCHEMA ${schema}`,
    `CREATE TYPE ${schema}.${type} AS ENUM (${text(name)}, 'other')`,
    `CREATE SEQUENCE ${schema}.${quote(`q ${name}`)} START WITH 7`,
    `CREATE TABLE ${own} (${quote(name)} text DEFAULT ${
      text(name)
    }, kind ${schema}.${type} DEFAULT ${text(name)}, id int, ` +
    `CONSTRAINT ${quote(`k ${name}`)} PRIMARY KEY (${quote(name)}), CONSTRAINT ${
      quote(`x ${name}`)
    } CHECK (id <> -1))`,
    `INSERT INTO ${own} (${quote(name)}, id) SELECT n || ${
      text(name)
    }, n FROM generate_series(1, 20) AS n`,
    `CREATE INDEX ${quote(`i ${name}`)} ON ${own} (id)`,
    `COMMENT ON TABLE ${own} IS ${text(name)}`,
    `COMMENT ON COLUMN ${own}.${quote(name)} IS ${text(name)}`,
    `CREATE VIEW ${schema}.${quote(`v ${name}`)} AS SELECT ${quote(name)} FROM ${own}`,
    `CREATE TABLE ${schema}.child (parent text CONSTRAINT ${
      quote(`f ${name}`)
    } REFERENCES ${own} (${quote(name)}))`,
  ];
}

const SHAPE =
  "SELECT n.nspname, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace " +
  "WHERE n.nspname ~ '^s[0-9]' ORDER BY 1, 2";

Deno.test({
  name: "db clone quotes every name, and writes values as values",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const postgres = await startPostgres();
    const [from, to] = [
      await postgres.createDatabase("names_from"),
      await postgres.createDatabase("names_to"),
    ];
    await runAll(pg(from), NAMES.flatMap(getStatements));
    // what an attack would drop, in the target alone
    await runAll(pg(to), [
      "CREATE SCHEMA kept",
      "CREATE TABLE kept.victim (id int)",
      "CREATE ROLE cloner",
    ]);
    await withEnv(
      {
        FROM_URL: from,
        TO_URL: `${to}?options=${encodeURIComponent("-c search_path=public,kept")}`,
      },
      async () => {
        const { exitCode, stdout, stderr } = await runCommand(dbClone, [
          ...["--from-url-env", "FROM_URL", "--from-provider", "serverless-pg"],
          ...["--to-url-env", "TO_URL", "--to-provider", "serverless-pg", "--beside"],
        ]);
        assertEquals(exitCode, 0, stdout + stderr);
      },
    );
    assertEquals(await runAll(pg(to), [SHAPE]), await runAll(pg(from), [SHAPE]));
    assertEquals(await runAll(pg(to), ["SELECT to_regclass('kept.victim') IS NOT NULL AS there"]), [
      { there: true },
    ]);
    for (const [place, name] of NAMES.entries()) {
      const rows = `SELECT * FROM ${quote(`s${place} ${name}`)}.${quote(`t ${name}`)} ORDER BY id`;
      const cloned = await runAll(pg(to), [rows]);
      assert(cloned.length === 20);
      assertEquals(cloned, await runAll(pg(from), [rows]));
    }
  },
});
