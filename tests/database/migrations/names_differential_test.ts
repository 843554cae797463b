// deno-lint-ignore-file no-console -- the figures are part of the result
/** Names that PostgreSQL generates, beside those that runMigrations gives on the provider's stand-in. */
import { assertEquals } from "@std/assert";
import type postgres from "postgres";
import { withDistSqlLab } from "../../support/distsql_lab.ts";
import { randomName } from "../../distsql/schema/random_ddl.ts";
import { createRandom, type Random } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PAIRS = isFull ? 1_200 : 15;
const PAIRS_OF_A_FOLDER = 15;
const SEED = testSeed;

const NAMES = `SELECT t.relname || ' ' || c.conname || ' ' || c.contype::text AS line
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid WHERE t.relnamespace = 'public'::regnamespace
UNION ALL SELECT relname || ' ' || relkind::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('i', 'S') ORDER BY 1`;

async function readLines(sql: postgres.Sql): Promise<string[]> {
  return (await sql.unsafe(NAMES)).map(({ line }) => String(line));
}

/** Generates a folder of tables and columns whose names are easy to confuse; keeps what PostgreSQL takes. */
async function generate(native: postgres.Sql, random: Random): Promise<string[][]> {
  const files: string[][] = [[], [], []];
  const take = async (file: number, statement: string): Promise<boolean> => {
    try {
      await native.unsafe(statement);
      files[file].push(statement);
      return true;
    } catch {
      return false;
    }
  };
  const quoted = (): string => `"${randomName(random)}"`;
  const pairs: [table: string, column: string][] = [];
  while (pairs.length < PAIRS_OF_A_FOLDER) {
    const [table, column] = [quoted(), quoted()];
    const type = random.pick(["int", "int UNIQUE", "serial", "int CHECK (true)"]);
    if (await take(0, `CREATE TABLE ${table} (${column} ${type}, PRIMARY KEY (${column}))`)) {
      pairs.push([table, column]);
    }
  }
  for (const [table, column] of pairs) {
    const [other, target] = random.pick(pairs);
    const added = quoted();
    await take(
      1,
      random.pick([
        `ALTER TABLE ${table} ADD UNIQUE (${column})`,
        `ALTER TABLE ${table} ADD CHECK (${column} > 0)`,
        `ALTER TABLE ${table} ADD FOREIGN KEY (${column}) REFERENCES ${other} (${target})`,
        `ALTER TABLE ${table} ADD COLUMN ${added} int UNIQUE CHECK (${added} > 0)`,
        `ALTER TABLE ${table} ADD CHECK (${column} > 0), ADD UNIQUE (${column}), ADD CHECK (${column} < 9)`,
        `CREATE INDEX ON ${table} (${column}, lower(${column}::text))`,
      ]),
    );
  }
  // names that PostgreSQL chose are dropped by later files
  const chosen = await native.unsafe(
    `SELECT conrelid::regclass::text AS table, conname FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND contype IN ('u', 'c', 'f') ORDER BY conname`,
  );
  for (const { table, conname } of chosen.filter(() => random.chance(0.3))) {
    await take(2, `ALTER TABLE ${table} DROP CONSTRAINT "${conname}"`);
  }
  return files.filter((file) => file.length > 0);
}

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  `runMigrations() gives constraints PostgreSQL's names, seed ${SEED}`,
  options,
  async () => {
    await withDistSqlLab(async (lab) => {
      let names = 0;
      for (let done = 0; done < PAIRS; done += PAIRS_OF_A_FOLDER) {
        await lab.clear();
        const files = await generate(lab.native, createRandom(SEED + done));
        await lab.migrate(files.map((statements) => `${statements.join(";\n")};\n`));
        const lines = await readLines(lab.native);
        assertEquals(await readLines(lab.backing), lines, files.flat().join(";\n"));
        names += lines.length;
      }
      console.log(`${PAIRS} pairs of table and column: ${names} names, 0 differ`);
    });
  },
);
