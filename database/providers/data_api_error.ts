import { readDriverError } from "../../errors/driver_error.ts";

/** Names that the Data API reports only in the text of an error. */
interface ViolatedNames {
  constraint?: string;
  table?: string;
  column?: string;
  columns?: readonly string[];
}

/** Error of the server behind the Data API, with the fields of other drivers' errors. */
export class DataApiError extends Error {
  override readonly name: string = "DataApiError";
  /** SQLSTATE. */
  readonly code: string;
  /** Violated constraint. */
  readonly constraint?: string;
  /** Table of the constraint. */
  readonly table?: string;
  /** Column, if the server reports one. */
  readonly column?: string;
  /** Columns of the violated key. */
  readonly columns?: readonly string[];

  /**
   * @param message The server's first line.
   * @param code SQLSTATE.
   * @param names The names in the server's text.
   */
  constructor(message: string, code: string, names: ViolatedNames = {}) {
    super(message);
    this.code = code;
    Object.assign(this, names);
  }
}

/** PostgreSQL's complete messages about constraints. Names have at most 63 bytes. */
const MESSAGES: Readonly<Record<string, readonly RegExp[]>> = {
  "23505": [/^duplicate key value violates unique constraint "(?<constraint>[^"\n]{1,63})"$/],
  "23P01": [/^conflicting key value violates exclusion constraint "(?<constraint>[^"\n]{1,63})"$/],
  "23503": [
    /^insert or update on table "(?<table>[^"\n]{1,63})" violates foreign key constraint "(?<constraint>[^"\n]{1,63})"$/,
    // the second table is the referencing one
    /^update or delete on table "[^"\n]{1,63}" violates foreign key constraint "(?<constraint>[^"\n]{1,63})" on table "(?<table>[^"\n]{1,63})"$/,
  ],
  "23001": [
    /^update or delete on table "[^"\n]{1,63}" violates RESTRICT setting of foreign key constraint "(?<constraint>[^"\n]{1,63})" on table "(?<table>[^"\n]{1,63})"$/,
  ],
  "23514": [
    /^new row for relation "(?<table>[^"\n]{1,63})" violates check constraint "(?<constraint>[^"\n]{1,63})"$/,
    /^value for domain [^"\n]{1,130} violates check constraint "(?<constraint>[^"\n]{1,63})"$/,
  ],
  "23502": [
    /^null value in column "(?<column>[^"\n]{1,63})" of relation "(?<table>[^"\n]{1,63})" violates not-null constraint$/,
  ],
};

/**
 * Parses an error of the Data API: `ERROR: <message>`, a line `Detail: <detail>`, and `; SQLState:
 * <code>` at the end. Message and detail may contain values. Therefore only the last SQLSTATE
 * counts, and names are read only from PostgreSQL's own messages about constraints.
 *
 * @param error The error of the SDK.
 * @returns A {@link DataApiError}, or the error itself if it has no SQLSTATE.
 */
export function readFailure(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const [text, code] = splitState(error.message);
  if (code === undefined) return error;
  const [message, ...rest] = text.replace(/^(?:ERROR|FATAL):\s*/, "").split("\n");
  return new DataApiError(message, code, readNames(code, message, rest[0]));
}

function splitState(text: string): [before: string, code: string | undefined] {
  const label = "SQLState:";
  const at = text.lastIndexOf(label);
  if (at < 0) return [text, undefined];
  const code = /^\s*([0-9A-Z]{5})(?![0-9A-Za-z])/.exec(text.slice(at + label.length))?.[1];
  return [text.slice(0, at).trimEnd().replace(/;$/, ""), code];
}

function readNames(code: string, message: string, line = ""): ViolatedNames {
  const found = MESSAGES[code]?.map((form) => form.exec(message)).find((match) => match !== null);
  if (found === undefined || found === null) return {};
  const detail = /^\s*Detail: (.*)$/.exec(line)?.[1];
  const columns = readDriverError({ code, detail })?.columns;
  return { ...found.groups, ...(columns && { columns }) };
}
