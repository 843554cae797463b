import { quoteName } from "../../sql/quote.ts";
import type { RunSql } from "../../sql/session.ts";
import { getName } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import { findUnsafeExpression } from "./find_unsafe.ts";
import { VOLATILE_FUNCTIONS } from "../syntax/known_functions.ts";

/**
 * Two columns of a table that triggers keep equal while a column gets another name. A function has
 * two triggers: `<name>_new` before INSERT and before UPDATE OF the new column, and `<name>_old`
 * before UPDATE OF the old column. PostgreSQL fires them in this order.
 */
export interface ColumnSync {
  readonly schema: string;
  readonly table: string;
  /** The old column. */
  readonly from: string;
  /** The new column. */
  readonly to: string;
  /** Name of the function, which is in the schema of the table. */
  readonly name: string;
}

/** Options of {@link renderSyncBody}. */
export interface SyncBodyOptions {
  /** The old column. */
  readonly from: string;
  /** The new column. */
  readonly to: string;
  /** Default of both columns, with the names of all schemas but `pg_catalog`. */
  readonly default: string | null;
  /** True if the columns have different types. */
  readonly isConverted: boolean;
}

/**
 * Renders the function of the triggers. An UPDATE copies the column that the statement names, and
 * the new one if it names both. An INSERT copies the new column, unless that has its default.
 */
export function renderSyncBody(options: SyncBodyOptions): string {
  const [old, next] = [options.from, options.to].map((name) => `NEW.${quoteName(name)}`);
  const isUnset = options.default === null
    ? `${next} IS NULL`
    : `${next} IS NOT DISTINCT FROM (${options.default})`;
  const lines = [
    "BEGIN",
    `  IF TG_ARGV[0] = 'old' OR TG_OP = 'INSERT' AND ${isUnset} THEN`,
    `    ${next} := ${old};`,
    "  ELSE",
    `    ${old} := ${next};`,
    "  END IF;",
    ...options.isConverted
      ? [
        `  IF ${old} IS DISTINCT FROM ${next} THEN`,
        "    RAISE numeric_value_out_of_range USING MESSAGE = 'the old column cannot hold the value';",
        "  END IF;",
      ]
      : [],
    "  RETURN NEW;",
    "END",
  ];
  return `\n${lines.join("\n")}\n`;
}

/**
 * Checks that a default has one value for all rows of a statement, and depends on nothing else.
 *
 * @param expression The default as PostgreSQL prints it.
 * @param functions Names of user-defined functions.
 */
export function isStableDefault(expression: string, functions: ReadonlySet<string>): boolean {
  const reader = parseStatement(expression);
  if (findUnsafeExpression(reader, functions) !== undefined) return false;
  return reader.places.every((place, at) => {
    const name = reader.isName(at) ? getName(reader.token(at)!) : "";
    const isVolatile = VOLATILE_FUNCTIONS.has(name) && reader.is(at + 1, "(");
    return reader.tokens[place].text !== ";" && !isVolatile;
  });
}

// 23: BEFORE INSERT OR UPDATE FOR EACH ROW; 19: BEFORE UPDATE FOR EACH ROW (PostgreSQL 18, pg_trigger.h)
const SYNCS =
  `SELECT n.nspname::text AS schema, c.relname::text AS table, o.attname::text AS "from",
  w.attname::text AS "to", p.proname::text AS name, p.prosrc AS body
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'plpgsql'
JOIN pg_trigger a ON a.tgfoid = p.oid AND a.tgname = p.proname || '_new' AND a.tgtype = 23
  AND encode(a.tgargs, 'escape') = 'new\\000'
JOIN pg_trigger b ON b.tgfoid = p.oid AND b.tgname = p.proname || '_old' AND b.tgtype = 19
  AND b.tgrelid = a.tgrelid AND encode(b.tgargs, 'escape') = 'old\\000'
JOIN pg_attribute w ON w.attrelid = a.tgrelid AND w.attnum::text = a.tgattr::text
JOIN pg_attribute o ON o.attrelid = b.tgrelid AND o.attnum::text = b.tgattr::text
JOIN pg_class c ON c.oid = a.tgrelid AND c.relnamespace = p.pronamespace
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE p.proname LIKE 'trellis\\_sync\\_%' AND NOT p.prosecdef
  AND p.proconfig = ARRAY['search_path=pg_catalog']
  AND a.tgenabled = 'O' AND b.tgenabled = 'O' AND a.tgqual IS NULL AND b.tgqual IS NULL
ORDER BY n.nspname, c.relname, o.attnum`;

/**
 * Reads which columns of a database triggers keep equal. Their function must have the body that
 * {@link renderSyncBody} renders, so that a trigger is known by what it does.
 *
 * @param run Runs a query.
 * @param functions Names of the user-defined functions of the database.
 */
export async function readColumnSyncs(
  run: RunSql,
  functions: ReadonlySet<string>,
): Promise<ColumnSync[]> {
  // the query joins seven catalogs, and few databases have such a function
  if (![...functions].some((name) => name.startsWith("trellis_sync_"))) return [];
  const rows = await run(SYNCS) as unknown as (ColumnSync & { readonly body: string })[];
  return rows.flatMap(({ body, ...sync }) => isSyncBody(body, sync, functions) ? [sync] : []);
}

function isSyncBody(
  body: string,
  { from, to }: ColumnSync,
  functions: ReadonlySet<string>,
): boolean {
  return [true, false].some((isConverted) => {
    if (body === renderSyncBody({ from, to, default: null, isConverted })) return true;
    const [head, tail] = renderSyncBody({ from, to, default: MARK, isConverted }).split(MARK);
    return body.length > head.length + tail.length && body.startsWith(head) &&
      body.endsWith(tail) &&
      isStableDefault(body.slice(head.length, body.length - tail.length), functions);
  });
}

/** A text that no name and no expression contains. */
const MARK = "\0";
