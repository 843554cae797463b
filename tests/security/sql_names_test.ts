import { assert, assertEquals, assertRejects } from "@std/assert";
import { getMigrationStatus } from "../../database/migrate.ts";
import {
  adaptForStandardPg,
  applyAlterToSchema,
  applyPermissions,
  assertRowExists,
  assertRowsExist,
  executeRecreation,
  executeRows,
  generateRecreationPlan,
  introspectTable,
  markMigrationApplied,
  runMigrations,
  sanitizeForDistSql,
  validatePermissions,
} from "../../database/mod.ts";
import { listTables, readRows } from "../../cli/dev/table_browser.ts";
import { sql } from "../../database/orm.ts";
import { AppError, ConfigurationError, ForeignKeyViolationError } from "../../errors/mod.ts";
import { createTestDatabase, type TestDatabase } from "../../testing/mod.ts";
import { withTempFolder } from "../support/temp_folder.ts";

/** Names that end a quoted name, a literal, a dollar quote or a line, and drop a table if they are executed. */
const NAMES = [
  `a"; DROP TABLE victim; --`,
  `a'; DROP TABLE victim; --`,
  `a\\'; DROP TABLE victim; --`,
  `a\\"; DROP TABLE victim; --`,
  `$$; DROP TABLE victim; $$`,
  `a\n; DROP TABLE victim; --`,
  `a" (id int); DROP TABLE victim; /*`,
  `--> statement-breakpoint`,
  `$1`,
  `?`,
  `select`,
  `Ünï ''code''`,
];
const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
type Database = TestDatabase<Record<string, unknown>>;
const options = { sanitizeOps: false, sanitizeResources: false };

let database: Database | undefined;

/** One database for the file, with a table that every attack wants to drop. */
async function open(): Promise<Database> {
  if (database === undefined) {
    database = await createTestDatabase();
    await script(`CREATE TABLE victim (id int PRIMARY KEY); INSERT INTO victim VALUES (1)`);
    globalThis.addEventListener("unload", () => void database!.close());
  }
  return database;
}

/** Sends a text that may hold several statements, as an attack would. */
async function script(text: string): Promise<void> {
  const { $client } = (await open()).db as unknown as {
    $client: { exec(text: string): Promise<unknown> };
  };
  await $client.exec(text);
}

async function rows(text: string): Promise<Record<string, unknown>[]> {
  return await executeRows((await open()).db, sql.raw(text));
}

async function assertUntouched(what: string): Promise<void> {
  const found = await rows(
    `SELECT to_regclass('public.victim')::text AS victim, (SELECT count(*)::int FROM pg_roles WHERE rolname = 'evil') AS evil`,
  );
  assertEquals(found, [{ victim: "victim", evil: 0 }], what);
}

Deno.test(
  "the attacks of this file succeed if names are not quoted",
  options,
  async () => {
    await open();
    await rows("CREATE TABLE bait (id int)");
    await script(`CREATE TABLE "a" (id int); DROP TABLE bait; --"`);
    assertEquals(await rows("SELECT to_regclass('public.bait') AS there"), [{ there: null }]);
  },
);

for (const name of NAMES) {
  const title = JSON.stringify(name);

  Deno.test(`assertRowsExist() quotes the table and the column ${title}`, options, async () => {
    const { db } = await open();
    await rows(`CREATE TABLE ${quote(`t ${name}`)} (${quote(name)} text)`);
    await rows(`INSERT INTO ${quote(`t ${name}`)} VALUES ('x')`);
    await assertRowExists(db, `t ${name}`, name, "x");
    await assertRejects(
      () => assertRowsExist(db, `t ${name}`, name, ["x", name]),
      ForeignKeyViolationError,
    );
    await assertRejects(() => assertRowExists(db, name, name, 1));
    await assertUntouched(title);
  });

  Deno.test(
    `runMigrations() quotes the schema, the table and the tag ${title}`,
    options,
    async () => {
      const { config } = await open();
      // what no file's name can have
      const text = name.replaceAll("\n", " ").replaceAll("/", "");
      const [tag, second] = [`0001_${text}`, `0002_${text}`];
      const files = {
        [`${tag}.sql`]: "SELECT 1",
        [`${second}.sql`]: "SELECT 2;\n-- trellis: no-transaction\n",
      };
      await withTempFolder(files, async (migrationsFolder) => {
        const target = {
          migrationsFolder,
          database: config,
          migrationsTable: `t ${name}`,
          migrationsSchema: `s ${name}`,
        };
        await markMigrationApplied({ ...target, tag });
        const result = await runMigrations(target);
        assertEquals(result.migrations.map((each) => each.tag), [second]);
        const status = await getMigrationStatus(target);
        assertEquals([status.applied.length, status.pending.length], [2, 0]);
        const stored = await rows(
          `SELECT tag FROM ${quote(`s ${name}`)}.${quote(`t ${name}`)} ORDER BY tag`,
        );
        assertEquals(stored.map((each) => each.tag), [tag, second]);
      });
      await assertUntouched(title);
    },
  );

  Deno.test(
    `applyPermissions() and validatePermissions() quote the role, schema, table and column ${title}`,
    options,
    async () => {
      const { config } = await open();
      const [role, table] = [`r ${name}`, `p ${name}`];
      await rows(`CREATE TABLE ${quote(table)} (${quote(name)} int)`);
      const text = `CREATE ROLE ${quote(role)} WITH LOGIN;
      GRANT SELECT (${quote(name)}), INSERT ON TABLE ${quote(table)} TO ${quote(role)};
      GRANT UPDATE ON public.${quote(table)} TO ${quote(role)} WITH GRANT OPTION;`;
      await withTempFolder({ "roles.sql": text }, async (permissionsFolder) => {
        const result = await applyPermissions({ permissionsFolder, database: config });
        assertEquals([result.applied, result.errors], [3, []]);
        const { valid, gaps } = await validatePermissions({ permissionsFolder, database: config });
        assertEquals([valid, gaps], [true, []]);
      });
      await assertUntouched(title);
    },
  );

  Deno.test(
    `a recreation quotes the table, columns, constraints and indexes ${title}`,
    options,
    async () => {
      const { db } = await open();
      const table = `c ${name}`;
      await rows(
        `CREATE TABLE ${quote(table)} (id text, ${quote(name)} text DEFAULT '1', CONSTRAINT ${
          quote(`k ${name}`)
        } PRIMARY KEY (id, ${quote(name)}), ` +
          `CONSTRAINT ${quote(`x ${name}`)} CHECK (length(${quote(name)}) < 99))`,
      );
      await rows(`CREATE INDEX ${quote(`i ${name}`)} ON ${quote(table)} (${quote(name)})`);
      await rows(
        `COMMENT ON COLUMN ${quote(table)}.${quote(name)} IS '${name.replaceAll("'", "''")}'`,
      );
      const value = name.replaceAll("'", "''");
      await rows(
        `INSERT INTO ${
          quote(table)
        } SELECT n || '${value}', n::text FROM generate_series(1, 30) AS n`,
      );
      const current = await introspectTable(db, table);
      const change = `ALTER TABLE ${quote(table)} ALTER COLUMN ${quote(name)} TYPE varchar(40)`;
      const wanted = applyAlterToSchema(current, change);
      const plan = generateRecreationPlan(current, wanted, 30);
      await executeRecreation(db, plan, undefined);
      const changed = await introspectTable(db, table);
      assertEquals(
        changed.columns.find((column) => column.name === name)?.type,
        "character varying(40)",
      );
      const [{ n }] = await rows(`SELECT count(*)::int AS n FROM ${quote(table)}`);
      assertEquals(n, 30);
      await assertUntouched(title);
    },
  );
}

Deno.test(
  "the table browser reads tables of any name, and only existing tables",
  options,
  async () => {
    const { config } = await open();
    const tables = await listTables(config);
    assert(tables.length > NAMES.length);
    for (const { schema, name } of tables) await readRows(config, schema, name, 0);
    for (const name of [...NAMES, `victim"; --`, "pg_authid"]) {
      await assertRejects(() => readRows(config, "nowhere", name, 0), AppError);
    }
    await assertUntouched("browser");
  },
);

Deno.test("adaptForStandardPg() quotes every prefix", options, async () => {
  for (const name of NAMES) {
    for (const prefix of [`${name}_`, `${name}.`]) {
      let adapted: string;
      try {
        adapted = adaptForStandardPg(`CREATE TABLE prefixed (id int)`, prefix);
      } catch (error) {
        assert(
          error instanceof TypeError || error instanceof AppError || error instanceof RangeError,
          String(error),
        );
        continue;
      }
      await script(adapted).catch(() => {});
      await assertUntouched(adapted);
    }
  }
});

Deno.test("sanitizeForDistSql() keeps the quotes of names", options, async () => {
  for (const name of NAMES) {
    const statements = [
      `CREATE TABLE ${quote(`d ${name}`)} (${
        quote(name)
      } serial PRIMARY KEY, b text CHECK (b <> 'x'))`,
      `CREATE INDEX ${quote(`e ${name}`)} ON ${quote(`d ${name}`)} (${quote(name)})`,
      `ALTER TABLE ${quote(`d ${name}`)} ADD COLUMN ${quote(`f ${name}`)} int DEFAULT 3`,
    ];
    for (const statement of statements) {
      let text: string | null;
      try {
        text = sanitizeForDistSql(statement);
      } catch (error) {
        assert(error instanceof AppError, String(error));
        continue;
      }
      for (const part of (text ?? "").split("\n--> statement-breakpoint\n")) {
        await script(adaptForStandardPg(part)).catch(() => {});
        await assertUntouched(part);
      }
    }
  }
});

/** A value, and the places of a permission file that it fits. */
const VALUES: [value: string, fits: ("bare" | "name" | "literal")[]][] = [
  ["app_1", ["bare", "name", "literal"]],
  ["app-1", ["name", "literal"]],
  ["it's", ["name"]],
  [`a"b`, ["literal"]],
  ["a; CREATE ROLE evil", ["name", "literal"]],
  [`a"; CREATE ROLE evil; --`, ["literal"]],
  ["a'; CREATE ROLE evil; --", ["name"]],
  ["a\\", []],
  ["a$$", []],
  ["a\nCREATE ROLE evil", []],
  ["a\0", []],
  ["", []],
  ["${OTHER}", []],
];
const PLACES = {
  bare: "CREATE ROLE ${NAME};",
  name: 'CREATE ROLE "${NAME} name";',
  literal: "COMMENT ON TABLE victim IS 'of ${NAME}';",
} as const;

Deno.test(
  "${NAME} in a permission file is replaced only if the value stays one name or one literal",
  options,
  async () => {
    const { config } = await open();
    for (const [value, fits] of VALUES) {
      for (const [place, text] of Object.entries(PLACES)) {
        await withTempFolder({ "roles.sql": text }, async (permissionsFolder) => {
          const apply = () =>
            applyPermissions({
              permissionsFolder,
              database: config,
              env: { NAME: value, OTHER: "x" },
              allowOtherStatements: true,
            });
          const what = `${place}: ${JSON.stringify(value)}`;
          if (fits.includes(place as "bare")) {
            assertEquals((await apply()).errors, [], what);
          } else {
            const error = await assertRejects(apply, ConfigurationError, "NAME", what);
            // the value may be a secret that was taken for a name
            if (value.length > 3) assert(!error.message.includes(value), what);
          }
        });
        await assertUntouched(`${place}: ${value}`);
      }
    }
  },
);

Deno.test(
  "${NAME} is not replaced in comments, and rejected where it cannot be quoted",
  options,
  async () => {
    const { config } = await open();
    const env = { NAME: "x; CREATE ROLE evil" };
    await withTempFolder(
      { "a.sql": "-- ${NAME}\n/* ${NAME} */ SELECT 1;" },
      async (permissionsFolder) => {
        assertEquals(
          (await applyPermissions({
            permissionsFolder,
            database: config,
            env,
            allowOtherStatements: true,
          })).errors,
          [],
        );
      },
    );
    for (const text of ["SELECT $x$${NAME}$x$;", "SELECT E'${NAME}\\';", 'SELECT U&"${NAME}";']) {
      await withTempFolder({ "a.sql": text }, async (permissionsFolder) => {
        await applyPermissions({
          permissionsFolder,
          database: config,
          allowOtherStatements: true,
          env: { NAME: "$x$; CREATE ROLE evil; --\\'" },
        })
          .catch(() => {});
      });
      await assertUntouched(text);
    }
  },
);
