/**
 * What a database driver's error may show in a log: PostgreSQL puts values of the statement into messages
 * (`invalid input syntax for type uuid: "…"`), details (`Key (email)=(…) already exists`) and, through drizzle,
 * whole statements with their parameters. Names of tables and constraints help whoever is paged; values must not leave.
 * Source: PostgreSQL 18 documentation, appendix A (error codes) and 54.8 (error fields).
 */
export interface DriverError {
  /** SQLSTATE, five characters; `OC000` and `OC001` are Aurora DSQL's. */
  sqlState: string;
  /** The server's message, its quoted values replaced where they may come from a parameter. */
  message: string;
  /** Names from the server's answer, where it gave them. */
  names: Readonly<Record<string, string>>;
}

/** Five characters; the system's error codes of that length (`EPIPE`, `E2BIG`) begin with E, which no SQLSTATE class does. */
const SQL_STATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/;
const NAME_FIELDS = {
  schema: ["schema", "schema_name"],
  table: ["table", "table_name"],
  column: ["column", "column_name"],
  constraint: ["constraint", "constraint_name"],
} as const;

/** Classes whose messages quote names (tables, constraints, functions), never values. */
const QUOTES_NAMES_ONLY = /^(?:08|0A|23|25|28|2B|3D|3F|40|53|55|57|OC)|^42(?!601)/;

/**
 * The SQLSTATE of a value that looks like a database driver's error (postgres.js, PGlite, Neon, node-postgres, Data API).
 *
 * @param error One link of a cause chain.
 * @returns Five characters, or `undefined` when this is no driver error.
 */
export function sqlStateOf(error: unknown): string | undefined {
  try {
    const { code, sqlState } = error as { code?: unknown; sqlState?: unknown };
    for (const value of [code, sqlState]) if (typeof value === "string" && SQL_STATE.test(value)) return value;
  } catch {
    // nothing, a proxy or a getter that throws is no driver's error
  }
  return undefined;
}

/**
 * Reads a database driver's error without the values that it carries.
 *
 * @param error One link of a cause chain.
 * @returns The facts that may be logged, or `undefined` when this is no driver error.
 *
 * @example
 * ```ts
 * import { readDriverError } from "@trellis/fn/errors";
 *
 * const error = Object.assign(new Error('invalid input syntax for type uuid: "secret"'), { code: "22P02" });
 * console.log(readDriverError(error)?.message); // invalid input syntax for type uuid: "…"
 * ```
 */
export function readDriverError(error: unknown): DriverError | undefined {
  const sqlState = sqlStateOf(error);
  if (sqlState === undefined) return undefined;
  const fields = error as Record<string, unknown>;
  const names: Record<string, string> = {};
  for (const [name, spellings] of Object.entries(NAME_FIELDS)) {
    const value = spellings.map((key) => fields[key]).find((v) => typeof v === "string" && v !== "");
    if (value !== undefined) names[name] = value as string;
  }
  return { sqlState, message: safeMessage(sqlState, fields.message), names };
}

function safeMessage(sqlState: string, message: unknown): string {
  if (typeof message !== "string") return "";
  // P0001 and its class are RAISE in a user's function: free text that may hold anything
  if (sqlState.startsWith("P0")) return "raised by a database function";
  if (QUOTES_NAMES_ONLY.test(sqlState)) return message;
  return message.replace(/"(?:[^"]|"")*"/g, '"…"').replace(/: (?!"…")\S.*$/s, ": …");
}
