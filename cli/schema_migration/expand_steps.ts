import type { PGlite } from "@electric-sql/pglite";
import { decideChange } from "../../distsql/batches/batched_change.ts";
import {
  type ColumnSync,
  isStableDefault,
  readColumnSyncs,
  renderSyncBody,
} from "../../distsql/batches/column_sync.ts";
import { readFunctions } from "../../distsql/batches/relation.ts";
import { hashText } from "../../database/migrations/files.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import type { RunSql } from "../../sql/session.ts";
import { type CatalogColumn, type CatalogTable, getLabel, quoteTable } from "./catalog.ts";
import { addColumn, isWidening } from "./column_steps.ts";
import type { OpenExpand, Step } from "./difference.ts";
import type { RenamedColumn, RenamedTable } from "./rename_steps.ts";

const RULES = `SELECT DISTINCT coalesce(r.conname, i.relname)::text AS name FROM pg_depend d
LEFT JOIN pg_constraint r ON d.classid = 'pg_constraint'::regclass AND r.oid = d.objid
LEFT JOIN pg_class i ON d.classid = 'pg_class'::regclass AND i.oid = d.objid AND i.relkind = 'i'
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refclassid = 'pg_class'::regclass AND coalesce(r.oid, i.oid) IS NOT NULL`;

function runOn(database: PGlite): RunSql {
  return async (sql) => (await database.query<Record<string, unknown>>(sql)).rows;
}

function toRegclass({ schema, name }: { schema: string; name: string }): string {
  return `${quoteLiteral(qualify(schema, name))}::regclass`;
}

/** Selects a column of a table in a query with `pg_attribute` as `a`. */
function isColumn(table: { schema: string; name: string }, column: string): string {
  return `a.attrelid = ${toRegclass(table)} ` +
    `AND a.attname = ${quoteLiteral(column)}`;
}

/** Reads the columns of a database that triggers keep equal. */
export async function readOpenExpands(database: PGlite): Promise<OpenExpand[]> {
  const run = runOn(database);
  const open: OpenExpand[] = [];
  for (const sync of await readColumnSyncs(run, await readFunctions(run))) {
    const { schema, table: name, from } = sync;
    const rows = await run(`${RULES} AND ${isColumn({ schema, name }, from)}`);
    open.push({ ...sync, rules: new Set(rows.map((row) => String(row.name))) });
  }
  return open;
}

/** Finds the pair of equal columns to which a column belongs. */
export function findExpand(
  expands: readonly OpenExpand[],
  table: { schema: string; name: string },
  column: string,
): OpenExpand | undefined {
  return expands.find((each) =>
    each.schema === table.schema && each.table === table.name &&
    (each.from === column || each.to === column)
  );
}

/** Describes columns that triggers keep equal, with the way to end that. */
export function describeExpand({ schema, table, from, to }: OpenExpand): string {
  const label = getLabel({ schema, name: table });
  return `${label}.${from} and ${label}.${to} are kept equal by triggers. When no running release ` +
    `uses ${from}, remove it: --drop ${label}.${from}`;
}

/** Returns the statements after which triggers no longer keep columns equal. */
export function endExpand({ schema, table, name }: ColumnSync): Step[] {
  const path = quoteTable({ schema, name: table });
  return [
    { sql: `DROP TRIGGER ${quoteName(`${name}_new`)} ON ${path}` },
    { sql: `DROP TRIGGER ${quoteName(`${name}_old`)} ON ${path}` },
    { sql: `DROP FUNCTION ${quoteTable({ schema, name })}()` },
  ];
}

/**
 * Plans a new column beside one that gets its name in a later release: the column, the triggers
 * that keep both equal, and the backfill. The constraints and indexes of the new column follow as
 * for any other.
 *
 * @param database The embedded database.
 * @returns The statements of a file that is no single transaction, or why there are none.
 */
export async function planExpand(
  database: PGlite,
  { table, old, next }: RenamedColumn,
): Promise<Step[] | string> {
  const label = `${getLabel(table)}.${old.name}`;
  const refuse = (reason: string) => `--expand cannot rename ${label}: ${reason}`;
  const run = runOn(database);
  const functions = await readFunctions(run);
  const problem = findDifference(old, next) ?? await findDependent(run, table, old) ??
    await findOpaque(run, old, next);
  if (problem !== undefined) return refuse(problem);
  const expression = await readDefault(database, table, old);
  if (expression !== null && !isStableDefault(expression, functions)) {
    return refuse(
      `its default ${expression} has another value for each row, so that an INSERT does not show ` +
        "which column it gives. Drop the default first, and give the value in the code",
    );
  }
  const { schema } = table;
  const name = `trellis_sync_${hashText(`${schema}.${label}=${next.name}`).slice(0, 8)}`;
  const path = quoteTable(table);
  const body = renderSyncBody({
    from: old.name,
    to: next.name,
    default: expression,
    isConverted: old.type !== next.type,
  });
  const quote = `$${name}$`;
  const trigger = (suffix: "new" | "old", events: string): Step => ({
    sql: `CREATE TRIGGER ${quoteName(`${name}_${suffix}`)} BEFORE ${events} ON ${path} ` +
      `FOR EACH ROW EXECUTE FUNCTION ${quoteTable({ schema, name })}('${suffix}')`,
  });
  const [from, to] = [quoteName(old.name), quoteName(next.name)];
  const change = `UPDATE ${path} SET ${to} = ${from} WHERE ${to} IS NULL AND ${from} IS NOT NULL`;
  const steps: Step[] = [
    { sql: "BEGIN" },
    addColumn(path, { ...next, default: null, isRequired: false }),
    ...next.default === null
      ? []
      : [{ sql: `ALTER TABLE ${path} ALTER COLUMN ${to} SET DEFAULT ${next.default}` }],
    {
      sql: `CREATE FUNCTION ${quoteTable({ schema, name })}() RETURNS trigger LANGUAGE plpgsql\n` +
        `  SET search_path = pg_catalog AS ${quote}${body}${quote}`,
    },
    trigger("old", `UPDATE OF ${from}`),
    trigger("new", `INSERT OR UPDATE OF ${to}`),
    { sql: "COMMIT" },
  ];
  // the batches need a key, and no other trigger
  const decision = await decideChange(change, run);
  if (decision?.isBatchable === false) {
    return refuse(`its rows cannot be filled in batches, because ${decision.reason}`);
  }
  return [...steps, { sql: `-- trellis: backfill\n${change}`, isBackfill: true }]
    .map((step) => ({ ...step, runsAlone: true }));
}

/** Finds a difference between the columns for which the triggers are wrong. */
function findDifference(old: CatalogColumn, next: CatalogColumn): string | undefined {
  for (const column of [old, next]) {
    if (column.identity !== null || column.isSerial) return "its values come from a sequence";
    if (column.generated !== null) return "it is a generated column. Drop and add it instead";
  }
  const changes = [
    old.type !== next.type && !isWidening(old.type, next.type) ? "type" : "",
    old.collation === next.collation ? "" : "collation",
    old.default === next.default ? "" : "default",
    old.isRequired === next.isRequired ? "" : "NOT NULL",
  ].filter((word) => word !== "");
  if (changes.length === 0) return undefined;
  return `its ${
    changes.join(" and ")
  } changes too: change that in a migration before or after. Only ` +
    "a type that takes all values of the old one can change with the name";
}

const DEPENDENTS =
  `SELECT pg_describe_object(d.classid, d.objid, d.objsubid) AS what FROM pg_depend d
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
LEFT JOIN pg_constraint r ON d.classid = 'pg_constraint'::regclass AND r.oid = d.objid
LEFT JOIN pg_class i ON d.classid = 'pg_class'::regclass AND i.oid = d.objid AND d.objsubid = 0
LEFT JOIN pg_attrdef v ON d.classid = 'pg_attrdef'::regclass AND v.oid = d.objid
WHERE d.refclassid = 'pg_class'::regclass AND NOT (coalesce(i.relkind, ' ') = 'i'
  OR coalesce(r.contype, ' ') IN ('u', 'c', 'x', 'n')
  OR coalesce(r.contype, ' ') = 'f' AND r.conrelid = a.attrelid AND r.confrelid <> a.attrelid
  OR v.oid IS NOT NULL AND v.adrelid = a.attrelid AND v.adnum = a.attnum)`;

/** Finds an object that would have to be replaced with the column. */
async function findDependent(
  run: RunSql,
  table: CatalogTable,
  { name }: CatalogColumn,
): Promise<string | undefined> {
  const oid = toRegclass(table);
  const family = await run(`SELECT FROM pg_inherits WHERE ${oid} IN (inhrelid, inhparent) LIMIT 1`);
  if (family.length > 0) return "a trigger does not fire for the rows of tables that inherit";
  const [first] = await run(`${DEPENDENTS} AND ${isColumn(table, name)} ORDER BY 1 LIMIT 1`);
  return first === undefined
    ? undefined
    : `${first.what} depends on it. Write the migrations by hand`;
}

/** Finds out whether the triggers would have to compare values without an equality. */
async function findOpaque(
  run: RunSql,
  old: CatalogColumn,
  next: CatalogColumn,
): Promise<string | undefined> {
  if (old.default === null && old.type === next.type) return undefined;
  try {
    await run(`SELECT NULL::${old.type} IS DISTINCT FROM NULL::${next.type}`);
    return undefined;
  } catch (error) {
    return `PostgreSQL cannot compare its values: ${(error as Error).message}`;
  }
}

/** Reads the default of a column with the names of all schemas but `pg_catalog`. */
async function readDefault(
  database: PGlite,
  table: CatalogTable,
  { name }: CatalogColumn,
): Promise<string | null> {
  await database.exec("SET search_path = pg_catalog");
  const { rows: [row] } = await database.query<{ expression: string | null }>(
    `SELECT pg_get_expr(d.adbin, d.adrelid) AS expression FROM pg_attribute a LEFT JOIN pg_attrdef d
      ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE ${isColumn(table, name)}`,
  );
  await database.exec("RESET search_path");
  return row.expression;
}

/** Describes the migrations of a table that gets another name while the old release runs. */
export function refuseTable({ table, nextTable }: RenamedTable): string {
  const [from, to] = [quoteTable(table), quoteTable(nextTable)];
  return `--expand cannot rename the table ${
    getLabel(table)
  }, because its roles have no rights on ` +
    "a view. Write by hand, in one file: BEGIN, the statements of --rename without --expand, " +
    `CREATE VIEW ${from} WITH (security_invoker = true) AS SELECT * FROM ${to}, a GRANT on ${from} ` +
    `for each role of the running release, COMMIT. In a later migration: DROP VIEW ${from}`;
}
