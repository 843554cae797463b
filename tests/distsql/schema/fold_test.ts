/** The fold beside PostgreSQL 15: after each random folder the state has to be what the catalog says. */
import { assertEquals } from "@std/assert";
import postgres from "postgres";
import { splitStatements } from "../../../sql/statement.ts";
import { type DeclaredSchema, EMPTY_SCHEMA } from "../../../distsql/schema/declared_schema.ts";
import { foldStatement } from "../../../distsql/schema/fold_statement.ts";
import { StatementReader } from "../../../sql/statement_reader.ts";
import { tokenize } from "../../../sql/tokenize.ts";
import { startPostgres } from "../../support/postgres.ts";
import { RandomDdl } from "./random_ddl.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const FOLDERS = isFull ? 400 : 10;
const STATEMENTS = 40;
const seed = testSeed;

const OWN = "IN ('public', 'app')";
const CATALOG = `
SELECT 'constraint ' || n.nspname || ' ' || t.relname || ' ' || c.conname || ' ' || c.contype::text AS line
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname ${OWN} AND c.contype IN ('c', 'f', 'p', 'u')
UNION ALL
SELECT 'index ' || n.nspname || ' ' || t.relname || ' ' || i.relname || ' ' || x.indisunique
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname ${OWN} AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = x.indexrelid AND c.contype IN ('p', 'u'))
UNION ALL
SELECT 'column ' || n.nspname || ' ' || t.relname || ' ' || a.attname || ' ' || a.attnotnull || ' ' ||
  EXISTS (SELECT FROM pg_attrdef d WHERE d.adrelid = t.oid AND d.adnum = a.attnum AND pg_get_expr(d.adbin, t.oid) NOT LIKE 'NULL%') ||
  ' ' || coalesce(en.nspname || '.' || e.typname, '-') || ' ' || a.attidentity::text
FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid JOIN pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN pg_type e ON e.oid = a.atttypid AND e.typtype = 'e' LEFT JOIN pg_namespace en ON en.oid = e.typnamespace
WHERE n.nspname ${OWN} AND t.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'view ' || n.nspname || ' ' || t.relname FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname ${OWN} AND t.relkind = 'v'
UNION ALL
SELECT 'enum ' || n.nspname || ' ' || t.typname || ' ' ||
  (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname ${OWN} AND t.typtype = 'e'
UNION ALL
SELECT 'sequence ' || n.nspname || ' ' || s.relname || ' ' || coalesce(tn.nspname || ' ' || t.relname || ' ' || a.attname, '-')
FROM pg_class s JOIN pg_namespace n ON n.oid = s.relnamespace
LEFT JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
  AND d.deptype IN ('a', 'i')
LEFT JOIN pg_class t ON t.oid = d.refobjid LEFT JOIN pg_namespace tn ON tn.oid = t.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE n.nspname ${OWN} AND s.relkind = 'S'`;

const KINDS = { primary_key: "p", unique: "u", check: "c", foreign_key: "f", exclude: "x" };

/** The state in the catalog's lines. */
function describe(state: DeclaredSchema): string[] {
  const lines: string[] = [];
  const bare = (key: string | undefined): string => (key ?? "-").replaceAll('"', "");
  for (const { schema, name, columns, constraints, indexes } of state.tables.values()) {
    for (const one of constraints) {
      lines.push(`constraint ${schema} ${name} ${one.name} ${KINDS[one.type]}`);
    }
    for (const one of indexes) lines.push(`index ${schema} ${name} ${one.name} ${one.unique}`);
    for (const one of columns) {
      const hasDefault = one.numbering === "serial" ||
        (one.default !== undefined && one.default !== "NULL");
      const identity = one.numbering === "identity" ? "d" : "";
      lines.push(
        `column ${schema} ${name} ${one.name} ${one.notNull} ${hasDefault} ${
          bare(one.enum)
        } ${identity}`,
      );
    }
  }
  for (const { schema, name } of state.views.values()) lines.push(`view ${schema} ${name}`);
  for (const { schema, name, labels } of state.enums.values()) {
    lines.push(`enum ${schema} ${name} ${labels.join(",")}`);
  }
  for (const { schema, name, ownedBy } of state.sequences.values()) {
    const table = ownedBy && state.tables.get(ownedBy.table);
    lines.push(
      `sequence ${schema} ${name} ${
        table ? `${table.schema} ${table.name} ${ownedBy.column}` : "-"
      }`,
    );
  }
  return lines.sort();
}

Deno.test("foldStatement() keeps a view of a table when a column of the table's name is dropped", () => {
  const fold = (text: string): string[] => {
    const state = splitStatements(text).reduce(
      (before, { tokens }) => foldStatement(before, new StatementReader(tokens)),
      EMPTY_SCHEMA,
    );
    return [...state.views.values()].map(({ name }) => name);
  };
  const create = "CREATE TABLE y (y int, x int);";
  const drop = "ALTER TABLE y DROP COLUMN y CASCADE";
  assertEquals(fold(`${create} CREATE VIEW v AS SELECT y.x FROM public.y; ${drop}`), ["v"]);
  assertEquals(fold(`${create} CREATE VIEW v AS SELECT x FROM y WHERE y.y > 1; ${drop}`), []);
  assertEquals(fold(`${create} CREATE VIEW v AS SELECT x, y FROM y; ${drop}`), []);
});

Deno.test(`foldStatement() declares what PostgreSQL's catalog has after random statements, seed ${seed}`, async () => {
  const server = await startPostgres();
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  let accepted = 0;
  let generated = 0;
  try {
    for (let folder = 0; folder < FOLDERS; folder++) {
      await sql.unsafe(
        "DROP SCHEMA IF EXISTS public, app CASCADE; CREATE SCHEMA public; CREATE SCHEMA app",
      );
      const ddl = new RandomDdl(createRandom(seed + folder));
      const ran: string[] = [];
      let state = EMPTY_SCHEMA;
      for (let i = 0; i < STATEMENTS; i++) {
        const statement = ddl.next();
        try {
          await sql.unsafe(statement);
        } catch {
          ddl.forgetRefused();
          continue; // what PostgreSQL refuses is not folded
        }
        ran.push(statement);
        state = foldStatement(state, new StatementReader(tokenize(statement)));
      }
      accepted += ran.length;
      const rows = await sql.unsafe(CATALOG);
      const lines = rows.map(({ line }) => String(line)).sort();
      generated += lines.filter((line) => /^(?:constraint|index|sequence)/.test(line)).length;
      const found = describe(state);
      const more = found.filter((line) => !lines.includes(line));
      const missing = lines.filter((line) => !found.includes(line));
      assertEquals(
        { more, missing },
        { more: [], missing: [] },
        `folder ${folder}:\n${ran.join(";\n")};`,
      );
    }
  } finally {
    await sql.end();
    await server.stop();
  }
  // deno-lint-ignore no-console
  console.log(
    `${FOLDERS} folders, ${accepted} statements accepted, ${generated} named objects: no difference`,
  );
});
