import type postgres from "postgres";
import { CHANGES } from "./alter_statements.ts";
import {
  createDomain,
  createEnum,
  createFunction,
  createIndex,
  createOtherType,
  createSequence,
  createTable,
  createView,
} from "./create_statements.ts";
import { MISC } from "./misc_statements.ts";
import { createModel, type Maker } from "./model.ts";
import { createRandom, type Random } from "../../../support/random.ts";
import { ROWS } from "./row_statements.ts";

/** A generated folder: its files, by name. */
export interface GeneratedFolder {
  readonly seed: number;
  readonly files: Readonly<Record<string, string>>;
}

const CREATES: readonly Maker[] = [
  ...[createTable, createTable, createTable, createIndex, createIndex, createView, createSequence],
  ...[createEnum, createEnum, createDomain, createFunction],
];

function choose(random: Random, count: number): Maker {
  if (count < 2) return random.pick([createTable, createEnum, createDomain, createTable]);
  if (random.chance(0.003)) return createOtherType;
  const kind = random.below(100);
  if (kind < 28) return random.pick(CREATES);
  if (kind < 48) return random.pick(ROWS);
  if (kind < 58) return random.pick(MISC);
  return random.pick(CHANGES);
}

/**
 * Draws statements one by one and keeps those that PostgreSQL takes, so that every generated folder runs there. The
 * database is left as the folder leaves it.
 *
 * @param sql An empty database of PostgreSQL.
 * @param seed What the choices come from.
 */
export async function generateFolder(sql: postgres.Sql, seed: number): Promise<GeneratedFolder> {
  const random = createRandom(seed);
  const model = createModel(random);
  const wanted = 4 + random.below(22);
  const files: string[][] = [[]];
  for (let tries = 0, taken = 0; taken < wanted && tries < wanted * 4; tries++) {
    const draft = choose(random, taken)(model);
    if (draft === undefined || !await isTaken(sql, draft.sql)) continue;
    draft.apply?.();
    if (files.at(-1)!.length > 0 && random.chance(0.2)) files.push([]);
    files.at(-1)!.push(draft.sql);
    taken++;
  }
  const writes = random.pick([writeLikeDrizzle, writeLikePrisma, writeByHand]);
  return {
    seed,
    files: Object.fromEntries(
      files.map((
        statements,
        at,
      ) => [`${String(at).padStart(4, "0")}_step.sql`, writes(statements)]),
    ),
  };
}

function writeLikeDrizzle(statements: readonly string[]): string {
  return statements.join(";--> statement-breakpoint\n") + ";\n";
}

function writeLikePrisma(statements: readonly string[]): string {
  return statements.map((statement) => `-- ${statement.split(/\s/, 2).join(" ")}\n${statement};\n`)
    .join("\n");
}

function writeByHand(statements: readonly string[]): string {
  return `/* by hand; "with" 'quotes' */\r\n${statements.join(";\r\n\r\n")}`;
}

async function isTaken(sql: postgres.Sql, statement: string): Promise<boolean> {
  try {
    await sql.unsafe(statement);
    return true;
  } catch {
    return false;
  }
}
