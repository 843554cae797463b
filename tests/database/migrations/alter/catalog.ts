import type postgres from "postgres";

/** A column as the catalog has it. */
export interface ColumnState {
  name: string;
  type: string;
  notNull: boolean;
  default: string | null;
  /** `a`, `d`, or empty. */
  identity: string;
  generated: string;
}

/** A constraint as the catalog has it. */
export interface ConstraintState {
  name: string;
  /** `p`, `u`, `c` or `f`. */
  type: string;
  definition: string;
  columns: string[];
  validated: boolean;
}

/** An index that belongs to no constraint. */
export interface IndexState {
  name: string;
  definition: string;
}

/** A table as the catalog has it. */
export interface TableState {
  name: string;
  columns: ColumnState[];
  constraints: ConstraintState[];
  indexes: IndexState[];
}

const TABLES = `
SELECT c.relname AS name,
  (SELECT coalesce(json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
      'notNull', a.attnotnull, 'default', pg_get_expr(d.adbin, d.adrelid), 'identity', a.attidentity,
      'generated', a.attgenerated) ORDER BY a.attnum), '[]')
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
  (SELECT coalesce(json_agg(json_build_object('name', k.conname, 'type', k.contype, 'definition',
      pg_get_constraintdef(k.oid), 'validated', k.convalidated, 'columns',
      (SELECT coalesce(json_agg(a.attname ORDER BY u.place), '[]') FROM unnest(k.conkey) WITH ORDINALITY AS u (number, place)
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number)) ORDER BY k.conname), '[]')
    FROM pg_constraint k WHERE k.conrelid = c.oid) AS constraints,
  (SELECT coalesce(json_agg(json_build_object('name', i.relname, 'definition', pg_get_indexdef(i.oid)) ORDER BY i.relname), '[]')
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = c.oid
    AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.oid AND k.contype IN ('p', 'u', 'x'))) AS indexes
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY c.relname`;

/** Reads the tables of the schema public. */
export async function readTables(sql: postgres.Sql): Promise<TableState[]> {
  return await sql.unsafe(TABLES) as unknown as TableState[];
}

/** A name in quotes. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A CHECK of the translation that stands for NOT NULL: its column. */
function notNullColumn(constraint: ConstraintState): string | undefined {
  const [column] = constraint.columns;
  const isMade = constraint.type === "c" && constraint.columns.length === 1 &&
    constraint.validated &&
    /^CHECK \(\(\(.+ IS NOT NULL\) IS TRUE\)\)$/.test(constraint.definition);
  return isMade ? column : undefined;
}

const SMALL_INTEGERS = ["integer", "smallint"];

/**
 * A table of the provider in the words of PostgreSQL: a CHECK that stands for NOT NULL is NOT NULL.
 *
 * @param table As the catalog has it.
 * @param native The table of the same name on PostgreSQL; a bigint of an identity column takes its integer's type.
 */
export function normalize(
  table: TableState,
  native: TableState | undefined,
  hasIdentity: boolean,
): TableState {
  const checked = new Set(table.constraints.map(notNullColumn));
  return {
    name: table.name,
    columns: table.columns.map((column) => {
      const type = native?.columns.find(({ name }) => name === column.name)?.type ?? "";
      const isWidened = hasIdentity && column.type === "bigint" && SMALL_INTEGERS.includes(type);
      return {
        ...column,
        type: isWidened ? type : column.type,
        notNull: column.notNull || checked.has(column.name),
        default: /^NULL::/.test(column.default ?? "") ? null : column.default,
      };
    }),
    constraints: table.constraints.filter((one) => notNullColumn(one) === undefined),
    indexes: table.indexes,
  };
}

/** The rows of a table as text, in the order of the text. */
export async function readRows(sql: postgres.Sql, table: TableState): Promise<string[]> {
  const columns = table.columns.map(({ name }) => `t.${quote(name)}`).join(", ");
  const row = columns === "" ? "''" : `row(${columns})::text`;
  const rows = await sql.unsafe(`SELECT ${row} AS row FROM ${quote(table.name)} t ORDER BY 1`);
  return rows.map(({ row }) => String(row));
}
