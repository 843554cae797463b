import type { DistSqlColumn } from "../distsql/translation.ts";
import type { Clock } from "../../core/async/clock.ts";
import { notNullCheck, readNotNullCheck } from "../distsql/rules/not_null.ts";
import { deriveName } from "../distsql/sql_name.ts";
import type { SqlSession } from "../providers/provider.ts";
import { quoteName } from "./history.ts";
import { retryIdempotent } from "./retry_idempotent.ts";

/** A CHECK that stands for NOT NULL. */
export interface NotNullCheck {
  /** Its name, without quotes. */
  readonly name: string;
  /** Whether the rows that are there were checked. */
  readonly isValid: boolean;
}

/** How a column refuses NULL. */
export interface NotNullState {
  /** Whether the column itself does. */
  readonly isNative: boolean;
  /** Checks of the runner that do. */
  readonly checks: readonly NotNullCheck[];
  /** Checks by which earlier versions, and statements that were translated as text, did. */
  readonly otherChecks: readonly NotNullCheck[];
  /** The names of all constraints of the table. */
  readonly taken: ReadonlySet<string>;
}

const STATE = "SELECT a.attnotnull AS native, c.conname::text AS name, " +
  "c.convalidated AS valid, pg_get_constraintdef(c.oid) AS definition FROM pg_attribute a " +
  "LEFT JOIN pg_constraint c ON c.conrelid = a.attrelid " +
  "WHERE a.attrelid = to_regclass($1) AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped";

/**
 * Reads from the catalog how a column refuses NULL.
 *
 * @param session Where to look.
 * @param about The column.
 * @returns The state, or `undefined` when the table or the column does not exist.
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
 * Writes the statement that adds a CHECK for NOT NULL.
 *
 * @param about The column.
 * @param wanted The name that it gets when no constraint of the table has it.
 * @param state What the catalog says.
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
 * Drops the checks that stand for NOT NULL of a column.
 *
 * @param session Where they are.
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
