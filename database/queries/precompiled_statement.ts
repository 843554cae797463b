import type { DrizzleClient } from "../providers/provider.ts";
import type { Statement } from "../session/driver.ts";
import type { PlaceholderValues } from "../session/placeholders.ts";
import { PreparedQuery, type RowMapping, type StatementRunner } from "../session/prepared_query.ts";
import type { Cell, NotNullable } from "../session/row_mapper.ts";
import { mapToCells } from "../session/cell_mapping.ts";
import { getStatementSession } from "../session/statement_session.ts";

/** Parameter of a statement: a constant, or the name of a placeholder. */
export type PrecompiledParameter =
  | { readonly value: string | number | boolean | bigint | null }
  | {
    readonly placeholder: string;
    /** Encodes a value that is not null. */
    readonly encode?: (value: unknown) => unknown;
  };

/** Statement that was compiled ahead of time from drizzle's builders. */
export interface PrecompiledStatement {
  /** Name passed to `.prepare(name)`. */
  readonly name: string;
  /** Text with the placeholders of PostgreSQL. */
  readonly text: string;
  readonly params: readonly PrecompiledParameter[];
  /** The selected columns; `undefined` for a statement whose rows are not mapped. */
  readonly cells?: readonly Cell[];
  /** Which tables a join may not leave empty, if the query has joins. */
  readonly notNullable?: NotNullable;
  readonly metadata?: Statement["metadata"];
}

/** Returns a statement for a client. */
type PrecompiledQuery = (db: object, prepare: () => object) => object;

/**
 * Creates the replacement of a chain of drizzle's builders. The modules that `trellis build` writes
 * call it.
 *
 * @param statement The statement.
 * @returns Returns the statement for a client of this package. For other clients, and for servers
 * with a text of their own, calls the function that builds it with drizzle.
 */
export function definePrecompiledStatement(statement: PrecompiledStatement): PrecompiledQuery {
  let last: object | undefined;
  return function getPrecompiled(db, prepare) {
    const session = getStatementSession(db as DrizzleClient);
    if (session === undefined || session.statements.hasOwnText) return prepare();
    return last = session.bind(last ?? createPreparedQuery(statement));
  };
}

/** Never sends: a statement is bound to a session first. */
const NO_SESSION: StatementRunner = {
  send: () => Promise.reject(new Error("The statement belongs to no session")),
};

function createPreparedQuery(statement: PrecompiledStatement): PreparedQuery {
  const { name, text, params, cells, notNullable, metadata } = statement;
  const mapping: RowMapping = cells === undefined ? { kind: "raw" } : mapToCells(cells);
  const query = new PreparedQuery(
    NO_SESSION,
    { sql: text, params: [...params] },
    { name, metadata },
    mapping,
    (values) => params.map((param) => fill(param, values)),
  );
  query.joinsNotNullableMap = notNullable;
  return query;
}

function fill(param: PrecompiledParameter, values: PlaceholderValues): unknown {
  if ("value" in param) return param.value;
  const { placeholder, encode } = param;
  // the same message as without compilation
  if (!(placeholder in values)) {
    throw new Error(`No value for placeholder "${placeholder}" was provided`);
  }
  const value = values[placeholder];
  return value === null || encode === undefined ? value : encode(value);
}
