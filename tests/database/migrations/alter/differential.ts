import type postgres from "postgres";
import { normalize, quote, readRows, readTables, type TableState } from "./catalog.ts";
import { createRandom, type Random } from "../../../support/random.ts";
import { FIRST_STEPS, isChange, type StepMaker, STEPS } from "./generator.ts";

/** A generated sequence: the statements that PostgreSQL took, in files. */
export interface Sequence {
  readonly seed: number;
  readonly files: readonly (readonly string[])[];
}

async function isTaken(sql: postgres.Sql, statement: string): Promise<boolean> {
  try {
    await sql.unsafe(statement);
    return true;
  } catch {
    return false;
  }
}

/**
 * Draws statements and keeps those that PostgreSQL takes; afterwards the database is as they leave it.
 *
 * @param sql An empty database.
 * @param seed What the choices come from.
 * @param steps The statements to choose from.
 */
export async function generate(
  sql: postgres.Sql,
  seed: number,
  steps: readonly StepMaker[] = STEPS,
): Promise<Sequence> {
  const random = createRandom(seed);
  const files: string[][] = [[]];
  const changes = 1 + random.below(6);
  for (let done = 0, tries = 0; done < changes && tries < 60; tries++) {
    const makers = tries < FIRST_STEPS.length ? [FIRST_STEPS[tries]] : steps;
    const statement = random.pick(makers)({ tables: await readTables(sql), random });
    if (statement === undefined || !await isTaken(sql, statement)) continue;
    if (isChange(statement)) done++;
    if (random.chance(0.15) && files.at(-1)!.length > 0) files.push([]);
    files.at(-1)!.push(statement);
  }
  // a statement that was refused may have moved a sequence
  for (const { name } of await readTables(sql)) {
    await sql.unsafe(`DROP TABLE IF EXISTS ${quote(name)} CASCADE`);
  }
  // so one that was accepted may collide with other numbers now
  const kept: string[][] = [];
  for (const statements of files) {
    const taken: string[] = [];
    for (const statement of statements) {
      if (await isTaken(sql, statement)) taken.push(statement);
    }
    kept.push(taken);
  }
  return { seed, files: kept.filter((statements) => statements.length > 0) };
}

/** What a statement gives: its row, or the class of its error. */
async function probe(sql: postgres.Sql, statement: string): Promise<string> {
  try {
    let result = "";
    await sql.begin(async (tx) => {
      const rows = await tx.unsafe(statement);
      result = `${rows.count} ${JSON.stringify(rows.map((row) => Object.values(row).map(String)))}`;
      throw new Error("undo");
    }).catch((error) => {
      if (error.message !== "undo") throw error;
    });
    return result;
  } catch (error) {
    const { code } = error as { code: string };
    // NOT NULL may be kept by a CHECK
    return code === "23514" ? "23502" : code;
  }
}

function values(table: TableState, random: Random, empty?: string): string {
  const columns = table.columns.filter(({ identity, generated }) =>
    generated === "" && identity !== "a"
  );
  const kept = columns.filter(({ name }) => name === empty || random.chance(0.85));
  const list = kept.map(({ name, type }) => name === empty ? "NULL" : getLiteral(type, random));
  if (kept.length === 0) return "DEFAULT VALUES";
  return `(${kept.map(({ name }) => quote(name)).join(", ")}) VALUES (${list.join(", ")})`;
}

function getLiteral(type: string, random: Random): string {
  const number = random.below(30) + 1;
  if (/int|numeric/.test(type)) return String(number);
  if (type === "boolean") return "true";
  if (type === "date") return `'2026-02-${String(number % 28 + 1).padStart(2, "0")}'`;
  return `'${number}'`;
}

/** Statements that try what the constraints take and refuse. */
function makeProbes(tables: readonly TableState[], random: Random): string[] {
  return tables.flatMap((table) => {
    const inserts = [undefined, undefined, ...table.columns.map(({ name }) => name)]
      .map((empty) =>
        `INSERT INTO ${quote(table.name)} ${values(table, random, empty)} RETURNING *`
      );
    return [...inserts, `DELETE FROM ${quote(table.name)}`];
  });
}

/** What PostgreSQL and the provider differ in; empty when in nothing. */
export async function compare(
  native: postgres.Sql,
  ours: postgres.Sql,
  sequence: Sequence,
): Promise<string[]> {
  const [left, all] = [await readTables(native), await readTables(ours)];
  const hasIdentity = sequence.files.flat().some((statement) => /IDENTITY/.test(statement));
  const right = all.map((table) =>
    normalize(table, left.find(({ name }) => name === table.name), hasIdentity)
  );
  const differences: string[] = [];
  const expect = (what: string, a: unknown, b: unknown): void => {
    const [x, y] = [JSON.stringify(a), JSON.stringify(b)];
    if (x !== y) differences.push(`${what}\n    PostgreSQL: ${x}\n    provider:   ${y}`);
  };
  const plain = (tables: TableState[]): unknown =>
    left === tables ? tables.map((table) => normalize(table, undefined, false)) : tables;
  const names = (tables: TableState[]): string[] => tables.map(({ name }) => name);
  expect("tables", names(left), names(right));
  const [a, b] = [plain(left) as TableState[], right];
  for (const table of a) {
    const other = b.find(({ name }) => name === table.name);
    if (other === undefined) continue;
    expect(`columns of ${table.name}`, table.columns, other.columns);
    expect(`constraints of ${table.name}`, table.constraints, other.constraints);
    expect(`indexes of ${table.name}`, table.indexes, other.indexes);
    if (differences.length === 0) {
      expect(`rows of ${table.name}`, await readRows(native, table), await readRows(ours, table));
    }
  }
  if (differences.length > 0) return differences;
  for (const statement of makeProbes(left, createRandom(sequence.seed))) {
    expect(statement, await probe(native, statement), await probe(ours, statement));
  }
  return differences;
}

/** The sequence as migration files. */
export function toFiles({ files }: Sequence): string[] {
  return files.map((statements) =>
    statements.map((statement) => `${statement};\n`).join("--> statement-breakpoint\n")
  );
}

/** The sequence as text to paste into a test. */
export function show({ seed, files }: Sequence): string {
  return `seed ${seed}\n${
    files.map((file, at) => `-- file ${at + 1}\n${file.join(";\n")};`).join("\n")
  }`;
}
