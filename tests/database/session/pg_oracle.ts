/** What the package `pg` answers, which is what every provider must answer. */
import pg from "pg";
import { parseArray } from "../../../database/session/array_literal.ts";
import { BUILT_IN_TYPES } from "../../../database/session/type_ids.ts";

/** A result of `pg`. */
export interface OracleResult {
  rows: Record<string, unknown>[];
  rowCount: number | null;
  command: string;
}

/** Runs statements with `pg`. */
export interface Oracle {
  query(text: string, values?: unknown[]): Promise<OracleResult>;
  end(): Promise<void>;
}

type Parser = (text: string) => unknown;

const asText: Parser = (text) => text;
const asUtc: Parser = (text) =>
  pg.types.getTypeParser(1184, "text")(`${text.replace(/( BC)?$/, "+00$1")}`);

/** Where the providers differ from `pg`; the guide lists the same. */
const DIFFERENCES: Readonly<Record<string, Parser>> = {
  // local midnight would be another day elsewhere; drizzle's date column is a text too
  date: asText,
  // an object of a class of pg's own; drizzle's interval column is a text too
  interval: asText,
  // pg takes the machine's time zone, drizzle UTC
  timestamp: (text) =>
    text.includes("infinity") ? pg.types.getTypeParser(1114, "text")(text) : asUtc(text),
};

function getDifference(type: number): Parser | undefined {
  for (const [name, id, arrayId] of BUILT_IN_TYPES) {
    if (type === id) return DIFFERENCES[name];
    if (type !== arrayId) continue;
    // pg reads an array of numeric as floats, and leaves arrays of rarer types as texts
    const readItem = DIFFERENCES[name] ??
      (name === "numeric" ? asText : pg.types.getTypeParser(id, "text") as Parser);
    return (text) => parseArray(text, readItem, name === "box" ? ";" : ",");
  }
  return undefined;
}

/**
 * Connects with `pg`.
 *
 * @param connectionString A real PostgreSQL.
 * @returns The oracle, to be ended by the test.
 */
export async function openOracle(connectionString: string): Promise<Oracle> {
  const client = new pg.Client({
    connectionString,
    types: {
      getTypeParser: (type: number, format?: string) =>
        getDifference(type) ?? pg.types.getTypeParser(type, format as "text"),
    },
  });
  await client.connect();
  return {
    query: (text, values) => client.query(text, values) as Promise<OracleResult>,
    end: () => client.end(),
  };
}
