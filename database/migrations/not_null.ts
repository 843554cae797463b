import { type DistSqlColumn, notNullCheck, readNotNullCheck } from "../../distsql/engine.ts";
import type { Clock } from "../../core/async/clock.ts";
import { deriveName } from "../../sql/sql_name.ts";
import type { SqlSession } from "../../sql/session.ts";
import { quoteName } from "../../sql/quote.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";

/** CHECK constraint that replaces NOT NULL. */
export interface NotNullCheck {
  /** Unquoted name of the constraint. */
  readonly name: string;
  /** True if existing rows were validated. */
  readonly isValid: boolean;
}

/** Constraints that forbid NULL in a column. */
export interface NotNullState {
  /** True if the column is declared NOT NULL. */
  readonly isNative: boolean;
  /** CHECK constraints of the runner that forbid NULL. */
  readonly checks: readonly NotNullCheck[];
  /** CHECK constraints of earlier versions, or of statements that were translated as text. */
  readonly otherChecks: readonly NotNullCheck[];
  /** Names of all constraints of the table. */
  readonly taken: ReadonlySet<string>;
}

const STATE = "SELECT a.attnotnull AS native, c.conname::text AS name, " +
  "c.convalidated AS valid, pg_get_constraintdef(c.oid) AS definition FROM pg_attribute a " +
  "LEFT JOIN pg_constraint c ON c.conrelid = a.attrelid " +
  "WHERE a.attrelid = to_regclass($1) AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped";

/**
 * Reads from the catalog which constraints forbid NULL in a column.
 *
 * @param session Session to read with.
 * @param about The column.
 * @returns The state, or `undefined` if the table or column does not exist.
 */
export async function readNotNull(
  session: SqlSession,
  about: DistSqlColumn,
  clock: Clock,
): Promise<NotNullState | undefined> {
  const rows = await retryIdempotent(
    () => session.query(STATE, [about.table, about.column]),
    clock,
  );
  if (rows.length === 0) return undefined;
  const checks: NotNullCheck[] = [];
  const otherChecks: NotNullCheck[] = [];
  for (const { name, valid, definition } of rows) {
    const check = { name: String(name), isValid: valid === true };
    const read = readNotNullCheck(String(definition));
    if (read?.column !== about.column) continue;
    if (read.isOwn) checks.push(check);
    else if (/_not_null\d*$/.test(check.name)) otherChecks.push(check);
  }
  return {
    isNative: rows[0].native === true,
    checks,
    otherChecks,
    taken: new Set(rows.map(({ name }) => String(name))),
  };
}

/**
 * Returns the statement that adds a CHECK for NOT NULL.
 *
 * @param about The column.
 * @param wanted Name to use if no constraint of the table has it.
 * @param state State of the catalog.
 */
export function addNotNullSql(
  { table, column }: DistSqlColumn,
  wanted: string,
  { taken }: NotNullState,
): string {
  let name = wanted;
  const base = wanted.replace(/_not_null\d*$/, "");
  for (let count = 1; taken.has(name); count++) name = deriveName(base, "", `not_null${count}`);
  const check = notNullCheck(quoteName(column));
  return `ALTER TABLE ${table} ADD CONSTRAINT ${quoteName(name)} ${check} NOT VALID`;
}

/**
 * Drops the CHECK constraints that replace NOT NULL of a column.
 *
 * @param session Session to use.
 * @param about The column.
 */
export async function dropNotNullChecks(
  session: SqlSession,
  about: DistSqlColumn,
  clock: Clock,
): Promise<void> {
  const state = await readNotNull(session, about, clock);
  for (const { name } of [...state?.checks ?? [], ...state?.otherChecks ?? []]) {
    const sql = `ALTER TABLE ${about.table} DROP CONSTRAINT IF EXISTS ${quoteName(name)}`;
    await retryIdempotent(() => session.query(sql), clock);
  }
}
