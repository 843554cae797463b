import {
  type AlterAction,
  isNotValid,
  readAlterActions,
  type TableConstraint,
} from "../../distsql/engine.ts";
import { quoteName } from "../../sql/quote.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";
import type { SqlSession } from "../../sql/session.ts";
import { deriveName, readName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { type HistoryTables, readStepHashes } from "./history.ts";
import { assertNoneBegun } from "./plan.ts";
import { type MigrationStep, type PlannedMigration, toBlock, toPostgresStep } from "./steps.ts";

/** Size in bytes from which a table is changed in the online form: a smaller one is read in milliseconds. */
const ONLINE_BYTES = 1 << 20;

const TABLES = "SELECT relation, c.relkind = 'r' AS plain, c.reltuples::bigint::text AS rows, " +
  "pg_table_size(c.oid) >= $2 AS large FROM jsonb_array_elements_text($1::jsonb) AS relation " +
  "JOIN pg_class c ON c.oid = to_regclass(relation)";

/** Relation that a migration names and the database has. */
export interface PresentRelation {
  /** True for a table that is no partitioned one. */
  readonly isPlain: boolean;
  /** True if reading it takes longer than others should wait. */
  readonly isLarge: boolean;
  /** Estimated number of rows; `undefined` before the first ANALYZE. */
  readonly rows: number | undefined;
}

/**
 * Reads which relations exist, and whether they are large.
 *
 * @param relations Names as written.
 * @param session Session of the database; only read from.
 * @param largeBytes Size from which a table is large.
 */
export async function readRelations(
  relations: Iterable<string>,
  session: SqlSession,
  largeBytes: number = ONLINE_BYTES,
): Promise<ReadonlyMap<string, PresentRelation>> {
  const names = [...new Set(relations)].filter((relation) => relation !== "");
  if (names.length === 0) return new Map();
  const rows = await retryIdempotent(() =>
    session.query(TABLES, [JSON.stringify(names), largeBytes])
  );
  return new Map(rows.map((row) => [String(row.relation), {
    isPlain: row.plain === true,
    isLarge: row.large === true,
    rows: Number(row.rows) < 0 ? undefined : Number(row.rows),
  }]));
}

/**
 * Replaces statements that would stop reads or writes of a filled table while they read it: indexes
 * are built concurrently, constraints are added without a check of the rows and validated in a
 * transaction of their own, NOT NULL uses a validated CHECK, and UNIQUE an index. A file that is one
 * transaction is split at these statements. Files with only new, empty and small tables do not
 * change.
 *
 * A file that an earlier run began keeps the form in which it began.
 *
 * @param planned Pending migrations in order, for PostgreSQL.
 * @param session Session of the database; only read from.
 * @param tables Tables that record migrations.
 * @param largeBytes Size from which a table is changed in the online form.
 * @returns The migrations in the same order.
 */
export async function planOnline(
  planned: readonly PlannedMigration[],
  session: SqlSession,
  tables: HistoryTables,
  largeBytes: number = ONLINE_BYTES,
): Promise<PlannedMigration[]> {
  const names = planned.flatMap(({ steps }) => steps.flatMap(getRelation));
  const begun = await readStepHashes(session, tables);
  assertNoneBegun(begun.keys(), planned.map(({ file }) => file.tag));
  if (names.length === 0) return [...planned];
  const relations = await readRelations(names, session, largeBytes);
  return planned.map((migration) => {
    const split = splitOnline(migration, relations);
    const hashes = begun.get(migration.file.tag);
    if (hashes === undefined) {
      const isLarge = (step: MigrationStep): boolean =>
        getRelation(step).some((relation) => relations.get(relation)?.isLarge);
      return split.online.some(isLarge) ? split.migration : migration;
    }
    const began = (steps: readonly MigrationStep[]): boolean =>
      [...hashes].every(([step, hash]) => steps[step]?.hash === hash);
    const isPlain = !migration.atomic && began(migration.steps) && !began(split.migration.steps);
    // statements of an unfinished file are never run again as one transaction
    return isPlain ? migration : { ...split.migration, atomic: false };
  });
}

/** Returns the table of a statement that may have an online form. */
function getRelation({ sql, locks = [], block }: MigrationStep): string[] {
  if (block !== undefined) return [];
  if (locks.length > 0) return [locks[0].relation];
  // a validation has no lock that others notice
  if (!/\bvalidate\s+constraint\b/i.test(sql)) return [];
  const reader = parseStatement(sql);
  return [readName(reader, reader.alteredTableAt()).text];
}

interface SplitMigration {
  readonly migration: PlannedMigration;
  /** The replaced statements. */
  readonly online: readonly MigrationStep[];
}

function splitOnline(
  migration: PlannedMigration,
  relations: ReadonlyMap<string, PresentRelation>,
): SplitMigration {
  const mayChange = (step: MigrationStep): boolean =>
    getRelation(step).some((relation) => relations.get(relation)?.isPlain);
  if (migration.isWhole || !migration.steps.some(mayChange)) return { migration, online: [] };
  const made = findMade(migration.steps.map(({ sql }) => parseStatement(sql)));
  const online: MigrationStep[] = [];
  const steps: MigrationStep[] = [];
  let together: MigrationStep[] = [];
  function endTransaction(): void {
    steps.push(...(together.length > 1 ? toBlock(together) : together));
    together = [];
  }
  for (const step of migration.steps) {
    const replaced = mayChange(step) ? toOnline(step, made) : undefined;
    if (replaced !== undefined) {
      endTransaction();
      steps.push(...replaced);
      online.push(step);
    } else if (migration.atomic) together.push(step);
    else steps.push(step);
  }
  endTransaction();
  if (online.length === 0) return { migration, online };
  return { migration: { ...migration, steps, atomic: false }, online };
}

/**
 * Finds the names of the tables that a file creates or renames, which are not those of the catalog.
 *
 * @param statements The statements of the file.
 */
export function findMade(statements: readonly StatementReader[]): Set<string> {
  const made = new Set<string>();
  for (const reader of statements) {
    const at = reader.find("TABLE", 1, 4);
    if (reader.is(0, "CREATE") && at > 0) {
      made.add(readName(reader, reader.skip(at + 1, "IF", "NOT", "EXISTS")).name);
    }
    const renamed = reader.find("RENAME", 1);
    if (renamed > 0) made.add(readName(reader, renamed + 2).name);
  }
  return made;
}

/**
 * Returns the online form of a statement; `undefined` if it has none or needs none.
 *
 * @param step The statement.
 * @param made Names of the tables that its file creates or renames.
 */
export function toOnline(
  step: MigrationStep,
  made: ReadonlySet<string>,
): MigrationStep[] | undefined {
  if (step.run !== "transactional") return undefined;
  const reader = parseStatement(step.sql);
  const toStep = (sql: string): MigrationStep[] => toPostgresStep(sql, step.line);
  if (reader.is(0, "ALTER", "TABLE")) return toOnlineAlter(reader, made, toStep);
  const at = reader.skip(1, "UNIQUE");
  const nameAt = reader.skip(at + 1, "IF", "NOT", "EXISTS");
  const on = reader.nameEnd(nameAt);
  const isNamed = reader.is(0, "CREATE") && reader.is(at, "INDEX") && !reader.is(nameAt, "ON");
  if (!isNamed || !reader.is(on, "ON") || reader.is(on + 1, "ONLY")) return undefined;
  if (made.has(readName(reader, on + 1).name)) return undefined;
  return toStep(`${reader.text(0, at + 1)} CONCURRENTLY ${reader.text(at + 1, reader.size)}`);
}

/** Constraint or key that is added to existing rows. */
interface OnlineChange {
  /** Action in the first ALTER TABLE; `undefined` if there is none. */
  readonly first?: string;
  /** Name of the constraint to validate. */
  readonly validates?: string;
  /** Statements that follow, each list in a transaction. */
  readonly then: readonly (readonly string[])[];
}

function toOnlineAlter(
  reader: StatementReader,
  made: ReadonlySet<string>,
  toStep: (sql: string) => MigrationStep[],
): MigrationStep[] | undefined {
  const table = readName(reader, reader.alteredTableAt());
  if (made.has(table.name) || reader.is(table.end, "*")) return undefined;
  const head = reader.text(0, table.end);
  const actions = readAlterActions(reader);
  // the lock of the constraint before it must end first
  if (actions.every(({ kind }) => kind === "validate")) return toStep(reader.text(0, reader.size));
  const dropped = new Set(
    actions.flatMap((action) => action.kind === "drop_constraint" ? [action.name] : []),
  );
  const changes = actions.map((action) => readChange(reader, action, head, dropped));
  if (changes.every((change) => change === undefined)) return undefined;
  const first = actions.flatMap((action, at) => {
    const change = changes[at];
    if (change === undefined) return [reader.text(action.from, action.to)];
    return change.first ?? [];
  });
  const steps = first.length === 0 ? [] : toStep(`${head} ${first.join(", ")}`);
  for (const { validates, then } of changes.filter((change) => change !== undefined)) {
    if (validates !== undefined) {
      const [validate] = toStep(`${head} VALIDATE CONSTRAINT ${validates}`);
      const undo = `${head} DROP CONSTRAINT ${validates}`;
      // other actions of the statement stay, so that a later run continues with the validation
      steps.push(actions.length === 1 ? { ...validate, undo } : validate);
    }
    for (const statements of then) {
      const inner = statements.flatMap(toStep);
      steps.push(...(inner.length > 1 ? toBlock(inner) : inner));
    }
  }
  return steps;
}

function readChange(
  reader: StatementReader,
  action: AlterAction,
  head: string,
  dropped: ReadonlySet<string>,
): OnlineChange | undefined {
  const table = readName(reader, reader.alteredTableAt());
  if (action.kind === "alter_column" && action.change === "set_not_null") {
    const column = quoteName(action.column.name);
    const name = quoteName(deriveName(table.name, action.column.name, "is_not_null"));
    return {
      first: `ADD CONSTRAINT ${name} CHECK (${column} IS NOT NULL) NOT VALID`,
      validates: name,
      // the server trusts the validated CHECK and does not read the rows again
      then: [[`${head} ALTER COLUMN ${column} SET NOT NULL`, `${head} DROP CONSTRAINT ${name}`]],
    };
  }
  if (action.kind !== "add_constraint") return undefined;
  const { constraint } = action;
  const { kind, bodyFrom, bodyTo, to } = constraint;
  const name = getConstraintName(table.name, constraint);
  const isLeft = isNotValid(reader, constraint) || reader.find("ENFORCED", bodyTo, to) >= 0;
  if (name === undefined || isLeft) return undefined;
  if (kind === "check" || kind === "foreign_key") {
    const body = reader.text(bodyFrom, to);
    return { first: `ADD CONSTRAINT ${name} ${body} NOT VALID`, validates: name, then: [] };
  }
  const hasIf = reader.is(2, "IF");
  if (kind !== "unique" || hasIf || dropped.has(constraint.name?.name ?? "")) return undefined;
  const nulls = reader.findEnd("(", bodyFrom, to);
  let end = reader.next(nulls);
  if (reader.is(end, "INCLUDE")) end = reader.next(end + 1);
  if (constraint.usesIndex || end < bodyTo) return undefined;
  const key = reader.text(nulls, end);
  const index = `CREATE UNIQUE INDEX CONCURRENTLY ${name} ON ${table.text} ${key} ` +
    reader.text(bodyFrom + 1, nulls);
  const attributes = reader.text(bodyTo, to);
  const attach = `${head} ADD CONSTRAINT ${name} UNIQUE USING INDEX ${name} ${attributes}`;
  return { then: [[index.trimEnd()], [attach.trimEnd()]] };
}

/** Returns the quoted name of a constraint, by PostgreSQL's rule if the statement has none. */
function getConstraintName(
  table: string,
  { kind, name, columns }: TableConstraint,
): string | undefined {
  if (name !== undefined) return quoteName(name.name);
  const label = { foreign_key: "fkey", unique: "key" }[kind as string];
  if (label === undefined) return undefined;
  return quoteName(deriveName(table, columns.map((column) => column.name).join("_"), label));
}
