import type { Row } from "../../sql/session.ts";
import {
  type ForeignKeyAction,
  newTable,
  readView,
  type SchemaFacts,
  type TableFacts,
} from "./schema_facts.ts";
import { quoteName } from "../../sql/quote.ts";

/** Function that runs a query and returns its rows. */
export type ReadRows = (sql: string) => Promise<Row[]>;

const USER_SCHEMA = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'sys')";

/**
 * Returns SQL for the names of a relation's columns, as JSON, in the order of an array of column
 * numbers.
 */
function getNames(numbers: string, relation: string, count = "k.place"): string {
  return `(SELECT json_agg(a.attname ORDER BY k.place)::text FROM ` +
    `unnest(${numbers}) WITH ORDINALITY AS k (attnum, place) ` +
    `JOIN pg_attribute a ON a.attrelid = ${relation} AND ` +
    `a.attnum = k.attnum WHERE k.place <= ${count})`;
}

const TABLES = "SELECT c.oid::text AS oid, n.nspname::text AS schema, c.relname::text AS name, " +
  "c.relkind = 'r' AND NOT c.relhassubclass AND NOT c.relispartition AS is_plain, " +
  "c.relhasrules OR EXISTS (SELECT FROM pg_trigger t WHERE " +
  "t.tgrelid = c.oid AND NOT t.tgisinternal) AS has_triggers, " +
  "(SELECT json_agg(json_build_array(a.attname, " +
  "format_type(a.atttypid, a.atttypmod), a.attgenerated <> '', " +
  "a.attnotnull OR EXISTS (SELECT FROM pg_constraint ck WHERE " +
  "ck.conrelid = c.oid AND ck.contype = 'c' AND ck.convalidated " +
  "AND pg_get_constraintdef(ck.oid) = 'CHECK ((' || " +
  "quote_ident(a.attname) || ' IS NOT NULL))')))::text " +
  "FROM pg_attribute a WHERE a.attrelid = c.oid AND " +
  "a.attnum > 0 AND NOT a.attisdropped) AS columns " +
  `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace ` +
  `WHERE c.relkind IN ('r', 'p', 'f') AND ${USER_SCHEMA}`;

const UNIQUES =
  `SELECT i.indrelid::text AS table, x.relname::text AS name, i.indisprimary AS is_primary, ` +
  `i.indpred IS NOT NULL OR i.indexprs IS NOT NULL AS has_parts, ` +
  `i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AS is_plain, ` +
  `${getNames("i.indkey::smallint[]", "i.indrelid", "i.indnkeyatts")} AS keys, ` +
  `(SELECT json_agg(DISTINCT a.attname)::text FROM pg_depend d ` +
  `JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = ` +
  `d.refobjsubid WHERE d.classid = 'pg_class'::regclass ` +
  `AND d.objid = i.indexrelid AND d.refobjid = i.indrelid AND d.refobjsubid > 0) AS used ` +
  `FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class c ON c.oid = i.indrelid ` +
  `JOIN pg_namespace n ON n.oid = c.relnamespace ` +
  `WHERE i.indisunique AND ${USER_SCHEMA}`;

const FOREIGN_KEYS = `SELECT f.conname::text AS name, f.conrelid::text AS table, ` +
  `f.confrelid::text AS target, f.confdeltype::text AS on_delete, ` +
  `${getNames("f.confkey", "f.confrelid")} AS columns, ${
    getNames("f.conkey", "f.conrelid")
  } AS sources FROM pg_constraint f WHERE f.contype = 'f'`;

const VIEWS = `SELECT c.relname::text AS name, pg_get_viewdef(c.oid) AS sql FROM pg_class c ` +
  `JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('v', 'm') AND ${USER_SCHEMA}`;

const FUNCTIONS = `SELECT DISTINCT p.proname::text AS name FROM pg_proc p ` +
  `JOIN pg_namespace n ON n.oid = p.pronamespace WHERE ${USER_SCHEMA}`;

/**
 * Reads from the catalog the facts that decide whether a change of rows can be split into batches.
 *
 * @param read Runs a query.
 */
export async function readSchemaFacts(read: ReadRows): Promise<SchemaFacts> {
  const [path] = await read("SELECT array_to_json(current_schemas(false))::text AS schemas");
  const tables = new Map<string, TableFacts>();
  for (const row of await read(TABLES)) tables.set(String(row.oid), toTable(row));
  for (const row of await read(UNIQUES)) addUnique(tables.get(String(row.table)), row);
  const foreignKeys = (await read(FOREIGN_KEYS)).flatMap((row) => {
    const [table, target] = [tables.get(String(row.table)), tables.get(String(row.target))];
    return table === undefined || target === undefined ? [] : [{
      name: String(row.name),
      table,
      target,
      columns: namesIn(row.columns),
      from: namesIn(row.sources),
      onDelete: toAction(String(row.on_delete)),
    }];
  });
  return {
    searchPath: namesIn(path?.schemas),
    tables: [...tables.values()],
    foreignKeys,
    views: (await read(VIEWS)).map(({ name, sql }) => readView(String(name), String(sql))),
    functions: new Set((await read(FUNCTIONS)).map(({ name }) => String(name))),
  };
}

function namesIn(json: unknown): string[] {
  return typeof json === "string" ? JSON.parse(json) : [];
}

function toTable({ schema, name, is_plain, has_triggers, columns }: Row): TableFacts {
  const table = newTable(String(schema), String(name));
  table.live = `${quoteName(table.schema)}.${quoteName(table.name)}`;
  table.isPlain = is_plain === true;
  table.hasTriggers = has_triggers === true;
  const rows: [name: string, type: string, isGenerated: boolean, isNotNull: boolean][] =
    typeof columns === "string" ? JSON.parse(columns) : [];
  for (const [column, type, isGenerated, isNotNull] of rows) {
    table.types.set(column, type);
    if (isGenerated) table.generated.push(column);
    if (isNotNull) table.notNull.push(column);
  }
  return table;
}

function addUnique(table: TableFacts | undefined, row: Row): void {
  const keys = namesIn(row.keys);
  // a plain index uses the columns of its key and of INCLUDE
  const columns = row.has_parts === true ? [...new Set([...keys, ...namesIn(row.used)])] : keys;
  table?.uniques.push({
    name: String(row.name),
    columns,
    isPrimary: row.is_primary === true,
    isPlain: row.is_plain === true,
  });
}

const ACTIONS: Readonly<Record<string, ForeignKeyAction>> = { c: "cascade", n: "set", d: "set" };

function toAction(code: string): ForeignKeyAction {
  return ACTIONS[code] ?? "none";
}
