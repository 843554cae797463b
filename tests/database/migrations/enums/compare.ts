/** What a database of PostgreSQL and the provider's differ in after the same migrations. */
import type postgres from "postgres";

const RELATIONS =
  `SELECT n.nspname::text AS schema, c.relname::text AS name, c.relkind::text AS kind
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('public', 'app') AND c.relkind IN ('r', 'v') ORDER BY 1, 2`;

/** Names of constraints and indexes; CHECKs that stand for enums and for NOT NULL are the provider's alone. */
const NAMES =
  `SELECT n.nspname || ' ' || t.relname || ' ' || c.conname || ' ' || c.contype::text AS line
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname IN ('public', 'app') AND c.conname !~ '_(enum|not_null)[0-9]*$'
UNION ALL SELECT n.nspname || ' ' || c.relname || ' ' || c.relkind::text FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname IN ('public', 'app') AND c.relkind IN ('i', 'S')
ORDER BY 1`;

const COLUMNS =
  `SELECT a.attname::text AS name, t.typtype = 'e' OR t.typname IN ('text', 'varchar') AS text
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Returns what a statement gives, undone afterwards: its rows as text, in the order of the text because a view has none
 * of its own, or whether the value or the constraint was refused.
 */
async function probe(sql: postgres.Sql, statement: string): Promise<string> {
  let result = "";
  try {
    await sql.begin(async (tx) => {
      const rows = await tx.unsafe(statement).values();
      const texts = rows.map((row) =>
        JSON.stringify((row as unknown[]).map((value) => value === null ? null : String(value)))
      );
      result = texts.sort().join();
      throw new Error("undo");
    });
  } catch (error) {
    if ((error as Error).message === "undo") return result;
    // a label that the enum has not is no value to PostgreSQL, and against a CHECK to the provider
    const code = String((error as { code: string }).code);
    return code === "22P02" || code === "23502" ? "23514" : code;
  }
  return result;
}

/**
 * Returns a query that sets the sequences back to where they are: a label that is refused takes a number of
 * them on one side only.
 */
async function planReset(sql: postgres.Sql): Promise<string> {
  const sequences = await sql.unsafe(
    `SELECT format('%I.%I', schemaname, sequencename) AS name FROM pg_sequences
      WHERE schemaname IN ('public', 'app')`,
  );
  const calls: string[] = [];
  for (const { name } of sequences) {
    const [{ last, called }] = await sql.unsafe(
      `SELECT last_value::text AS last, is_called AS called FROM ${name}`,
    );
    calls.push(`setval('${name}', ${last}, ${called})`);
  }
  return `SELECT ${calls.join(", ")}`;
}

/** Inserts with each label in each column that is text or an enum, and with none. */
async function getProbes(
  sql: postgres.Sql,
  table: string,
  labels: readonly string[],
): Promise<string[]> {
  const columns = await sql.unsafe(COLUMNS, [table]);
  const texts = columns.filter(({ text, name }) => text === true && name !== "id").map(({ name }) =>
    quote(String(name))
  );
  const inserts = texts.flatMap((column) =>
    labels.map((label) =>
      `INSERT INTO ${table} (id, ${column}) VALUES ('30000', '${label}') RETURNING *`
    )
  );
  return [`INSERT INTO ${table} (id) VALUES (DEFAULT) RETURNING *`, ...inserts];
}

/**
 * Compares tables, rows, names, and what inserts are taken.
 *
 * @param native PostgreSQL.
 * @param ours The database behind the provider's stand-in.
 * @param labels The labels to try, as they are written in a literal.
 */
export async function compare(
  native: postgres.Sql,
  ours: postgres.Sql,
  labels: readonly string[],
): Promise<string[]> {
  const differences: string[] = [];
  const expect = (what: string, a: string, b: string): void => {
    if (a !== b) differences.push(`${what}\n    PostgreSQL: ${a}\n    provider:   ${b}`);
  };
  const [left, right] = [await native.unsafe(RELATIONS), await ours.unsafe(RELATIONS)];
  expect("relations", JSON.stringify(left), JSON.stringify(right));
  expect(
    "names",
    JSON.stringify((await native.unsafe(NAMES)).map(({ line }) => line)),
    JSON.stringify((await ours.unsafe(NAMES)).map(({ line }) => line)),
  );
  if (differences.length > 0) return differences;
  const resets = [await planReset(native), await planReset(ours)];
  for (const { schema, name, kind } of left) {
    const path = `${quote(String(schema))}.${quote(String(name))}`;
    const select = `SELECT * FROM ${path}`;
    expect(select, await probe(native, select), await probe(ours, select));
    if (kind !== "r") continue;
    for (const insert of await getProbes(native, path, labels)) {
      expect(insert, await probe(native, insert), await probe(ours, insert));
      await native.unsafe(resets[0]);
      await ours.unsafe(resets[1]);
    }
  }
  return differences;
}
