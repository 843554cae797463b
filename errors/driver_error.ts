import { causeChain } from "./cause_chain.ts";
import { readKnownNames } from "./known_names.ts";

/**
 * The part of a database driver's error that may be logged. PostgreSQL puts values of the statement into messages
 * (`invalid input syntax for type uuid: "…"`) and details (`Key (email)=(…) already exists`), and drizzle adds whole
 * statements with their parameters. Names of tables and constraints are kept, values are removed.
 * Source: PostgreSQL 18 documentation, appendix A (error codes) and 54.8 (error fields).
 */
export interface DriverError {
  /** SQLSTATE, five characters; `OC000` and `OC001` are Aurora DSQL's. */
  sqlState: string;
  /** The server's message, its quoted values replaced where they may come from a parameter. */
  message: string;
  /** Names from the server's answer, where it gave them. */
  names: Readonly<Record<string, string>>;
  /** The columns of the key that was violated, where the server named them in its detail. */
  columns?: readonly string[];
}

/** Options of {@link readDriverError}. */
export interface ReadDriverErrorOptions {
  /**
   * Shows the identifiers of the statement: for statements from the application's own files, such
   * as migrations. Elsewhere an identifier of dynamic SQL may hold a value.
   * @default false
   */
  showIdentifiers?: boolean;
}

/** Five characters; the system's error codes of that length (`EPIPE`, `E2BIG`) begin with E, which no SQLSTATE class does. */
const SQL_STATE = /^[0-9A-DF-Z][0-9A-Z]{4}$/;
const NAME_FIELDS = {
  schema: ["schema", "schema_name"],
  table: ["table", "table_name"],
  column: ["column", "column_name"],
  constraint: ["constraint", "constraint_name"],
} as const;

/** Integrity constraint violations: the names in their messages come from the catalog. */
const CONSTRAINT_CLASS = /^23/;
/** Classes about the server itself: their messages quote settings, roles and databases. */
const SERVER_CLASS = /^(?:08|25|28|3D|40|53|55|57|OC)/;
/** Syntax and access errors, whose messages quote identifiers; a syntax error may quote a value. */
const IDENTIFIER_CLASS = /^(?:0A|2B|3F|42(?!601))/;
/** The function of PostgreSQL that reports `RAISE`: all of its fields are free text. */
const RAISE_ROUTINE = /^exec_stmt_(?:raise|assert)$/;
const RAISED = "raised by a database function";
/** Messages of class 42 that show an identifier without quotes. */
const UNQUOTED_IDENTIFIER =
  /^(column|function|procedure|aggregate|operator|type|routine|access method) (?!")(\S.*?) (does not exist|is not unique|is ambiguous|must appear)/;
/** Beginnings of the engine's messages, for drivers that do not say which routine reported an error. */
const ENGINE_MESSAGES = [
  "duplicate key value violates|insert or update on table|update or delete on table|new row for",
  "null value in column|value .* violates|conflicting key " +
  "value|permission denied for|must be owner",
  "relation|column|table|schema|type|role|database|function|operator|constraint|index|sequence",
  'invalid |malformed |value too long|value "|date/time ' +
  "field|integer out of|numeric field|division",
  "syntax error|could not |canceling |terminating |deadlock detected|change conflicts|too many",
  "cannot |current transaction is aborted|there is no " +
  "|missing |unterminated |unrecognized |relation ",
  "remaining connection|sorry, too many|the database system|password authentication|no pg_hba",
  "unable to |schema has been updated|transaction |statement " +
  "|feature |unsupported|operation |unexpected",
];
const ENGINE_MESSAGE = new RegExp(`^(?:ERROR: {1,2})?(?:${ENGINE_MESSAGES.join("|")})`, "i");

/**
 * Returns the SQLSTATE of a value that looks like a database driver's error (postgres.js, PGlite, Neon, node-postgres, Data API).
 *
 * @param error One link of a cause chain.
 * @returns Five characters, or `undefined` when this is no driver error.
 */
export function getSqlState(error: unknown): string | undefined {
  try {
    const { code, sqlState } = error as { code?: unknown; sqlState?: unknown };
    for (const value of [code, sqlState]) {
      if (typeof value === "string" && SQL_STATE.test(value)) return value;
    }
  } catch {
    // nothing, a proxy or a getter that throws is no driver's error
  }
  return undefined;
}

/**
 * Reads a database driver's error without the values that it carries.
 *
 * @param error One link of a cause chain.
 * @param options Whether identifiers may be shown.
 * @returns The facts that may be logged, or `undefined` when this is no driver error.
 */
export function readDriverError(
  error: unknown,
  options: ReadDriverErrorOptions = {},
): DriverError | undefined {
  const sqlState = getSqlState(error);
  if (sqlState === undefined) return undefined;
  const fields = error as Record<string, unknown>;
  const routine = typeof fields.routine === "string" ? fields.routine : undefined;
  // class P0 is RAISE without an explicit code
  if (sqlState.startsWith("P0") || (routine !== undefined && RAISE_ROUTINE.test(routine))) {
    return { sqlState, message: RAISED, names: {} };
  }
  const isConstraint = CONSTRAINT_CLASS.test(sqlState);
  const names = isConstraint ? readNames(fields) : {};
  const driver: DriverError = {
    sqlState,
    message: getSafeMessage(sqlState, fields.message, routine, options),
    names,
  };
  const columns = isConstraint && names.column === undefined ? readColumns(fields) : [];
  if (columns.length > 0) driver.columns = columns;
  return driver;
}

/**
 * Returns the SQLSTATE of the nearest driver error in a cause chain.
 *
 * @param error Anything that was thrown.
 * @returns The SQLSTATE, or `undefined` if no server answered.
 */
export function findSqlState(error: unknown): string | undefined {
  return causeChain(error).map(getSqlState).find((state) => state !== undefined);
}

/**
 * Checks whether an error in a cause chain has one of the SQLSTATEs.
 *
 * @param error Anything that was thrown.
 * @param states The SQLSTATEs.
 */
export function hasSqlState(error: unknown, states: readonly string[]): boolean {
  return causeChain(error).some((link) => states.includes(getSqlState(link) ?? ""));
}

/**
 * Reads the nearest driver error in a cause chain, as {@link readDriverError} does.
 *
 * @param error Anything that was thrown.
 * @param options Whether identifiers may be shown.
 */
export function findDriverError(
  error: unknown,
  options: ReadDriverErrorOptions = {},
): DriverError | undefined {
  const link = causeChain(error).find((candidate) => getSqlState(candidate) !== undefined);
  return readDriverError(link, options);
}

/**
 * Describes the nearest driver error in a cause chain, without values.
 *
 * @param error Anything that was thrown.
 * @returns Its SQLSTATE and message, or `undefined` if no server answered.
 */
export function describeDriverError(error: unknown): string | undefined {
  const driver = findDriverError(error, { showIdentifiers: true });
  return driver && `SQLSTATE ${driver.sqlState}: ${driver.message}`;
}

function readNames(fields: Record<string, unknown>): Record<string, string> {
  const names: Record<string, string> = {};
  for (const [name, spellings] of Object.entries(NAME_FIELDS)) {
    const value = spellings.map((key) => fields[key]).find((v) =>
      typeof v === "string" && v !== ""
    );
    if (value !== undefined) names[name] = value as string;
  }
  return names;
}

function readColumns({ columns, detail }: Record<string, unknown>): readonly string[] {
  if (Array.isArray(columns)) return columns.filter((name) => typeof name === "string");
  return typeof detail === "string" ? readKeyColumns(detail) : [];
}

/** The key is the other table's, not that of the table that the error names. */
const REFERENCED = /is (?:still )?referenced from table "[^"]*"\.$/;

/**
 * Reads the column names of `Key (tenant_id, "E mail")=(…) already exists.`, which come before the values. A key with an
 * expression or an unusual name gives none.
 */
function readKeyColumns(detail: string): string[] {
  if (REFERENCED.test(detail)) return [];
  const list = /^Key \(([^()=]+)\)=\(/.exec(detail)?.[1];
  if (list === undefined) return [];
  const names = list.split(", ").map((name) => /^"([^"]+)"$/.exec(name)?.[1] ?? name);
  return names.some((name) => name.includes('"')) ? [] : names;
}

function getSafeMessage(
  sqlState: string,
  message: unknown,
  routine: string | undefined,
  { showIdentifiers = false }: ReadDriverErrorOptions,
): string {
  if (typeof message !== "string") return "";
  if (message === RAISED) return message;
  if (routine === undefined && !ENGINE_MESSAGE.test(message)) return `SQLSTATE ${sqlState}`;
  if (CONSTRAINT_CLASS.test(sqlState) || SERVER_CLASS.test(sqlState)) return message;
  if (showIdentifiers && IDENTIFIER_CLASS.test(sqlState)) return message;
  const known = readKnownNames();
  const hide = (name: string) => known.has(name) ? name : "…";
  return message
    .replace(/"((?:[^"]|"")*)"/g, (_quoted, name: string) => `"${hide(name)}"`)
    .replace(/: (?!"\u2026")\S.*$/s, ": …")
    .replace(
      UNQUOTED_IDENTIFIER,
      (_all, kind, name, rest) => `${kind} ${hideParts(name, hide)} ${rest}`,
    );
}

/** Keeps the known parts of a qualified name such as `n.title`. */
function hideParts(name: string, hide: (part: string) => string): string {
  return /^[\w.]+$/.test(name) ? name.split(".").map(hide).join(".") : "…";
}
