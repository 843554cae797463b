import { introspectTable } from "../../../database/migrations/recreation.ts";
import type { TableSchema } from "../../../distsql/schema/table_schema.ts";
import { qualify, quoteLiteral } from "../../../sql/quote.ts";
import type { CloneConnection, Run } from "./connection.ts";

/** A table, view or similar relation. */
export interface Relation {
  readonly schema: string;
  readonly name: string;
  /** `r` table, `p` partitioned, `v` view, `m` materialized view, `f` foreign table. */
  readonly kind: string;
  readonly isPartition: boolean;
  /** The estimate of the planner; 0 if unknown. */
  readonly rows: number;
  /** True if row-level security hides rows from the current role. */
  readonly isFiltered: boolean;
}

/** A sequence. */
export interface SequenceSchema {
  readonly schema: string;
  readonly name: string;
  readonly definition: string;
  /** The increment of the sequence. */
  readonly increment: string;
  /** The column that uses the sequence. */
  readonly owner?: {
    readonly schema: string;
    readonly table: string;
    readonly column: string;
    readonly isIdentity: boolean;
  };
}

/** Objects of a database other than tables, as SQL that creates them. */
export interface CatalogObjects {
  /** Schemas except `public`. */
  readonly schemas: readonly string[];
  readonly extensions: readonly string[];
  /** Enums and domains: one CREATE statement each. */
  readonly types: readonly string[];
  readonly sequences: readonly SequenceSchema[];
  /** Views in dependency order. */
  readonly views: readonly {
    readonly schema: string;
    readonly name: string;
    readonly sql: string;
  }[];
  /** Descriptions of objects that are not cloned. */
  readonly notCloned: readonly string[];
}

/** The schema of the clone's progress. */
export const CLONE_SCHEMA = "trellis_clone";

function isInUserSchema(isDistSql: boolean, alias = "n"): string {
  const own = ["information_schema", CLONE_SCHEMA, ...isDistSql ? ["sys"] : []].map(quoteLiteral)
    .join(
      ", ",
    );
  return `${alias}.nspname NOT LIKE 'pg\\_%' AND ${alias}.nspname NOT IN (${own})`;
}

function isNotFromExtension(catalog: string, oid: string): string {
  return `NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = '${catalog}'::regclass AND ` +
    `e.objid = ${oid} AND e.deptype = 'e')`;
}

/**
 * Reads the user relations of a database.
 *
 * @returns Tables, views and similar relations, sorted by schema and name.
 */
export async function readRelations({ run, isDistSql }: CloneConnection): Promise<Relation[]> {
  const filtered = isDistSql ? "false" : "c.relrowsecurity AND row_security_active(c.oid)";
  const rows = await run(
    `SELECT n.nspname::text AS schema, c.relname::text AS name, ` +
      `c.relkind::text AS kind, c.relispartition AS is_partition, ` +
      `greatest(c.reltuples, 0)::bigint::text AS rows, ${filtered} AS is_filtered ` +
      `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace ` +
      `WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${isInUserSchema(isDistSql)} AND ${
        isNotFromExtension("pg_class", "c.oid")
      } ORDER BY 1, 2`,
  );
  return rows.map((row) => ({
    schema: String(row.schema),
    name: String(row.name),
    kind: String(row.kind),
    isPartition: row.is_partition === true,
    rows: Number(row.rows),
    isFiltered: row.is_filtered === true,
  }));
}

/** Reads the definition of a table. */
export function readTable(
  { db }: CloneConnection,
  { schema, name }: Relation,
): Promise<TableSchema> {
  return introspectTable(db, qualify(schema, name));
}

/** Reads the objects other than tables. */
export async function readObjects(connection: CloneConnection): Promise<CatalogObjects> {
  const { run, isDistSql } = connection;
  const user = isInUserSchema(isDistSql);
  const schemas = await run(
    `SELECT n.nspname::text AS name FROM pg_namespace n WHERE ${user} AND n.nspname <> 'public' AND ${
      isNotFromExtension("pg_namespace", "n.oid")
    } ORDER BY 1`,
  );
  const extensions = isDistSql ? [] : await run(
    "SELECT extname::text AS name FROM pg_extension WHERE extname <> 'plpgsql' ORDER BY oid",
  );
  return {
    schemas: schemas.map(({ name }) => String(name)),
    extensions: extensions.map(({ name }) => String(name)),
    types: await readTypes(run, user),
    sequences: await readSequences(run, user),
    views: await readViews(run, user),
    notCloned: await readNotCloned(connection, user),
  };
}

async function readTypes(run: Run, user: string): Promise<string[]> {
  const enums = await run(
    `SELECT t.oid::text AS oid, n.nspname::text AS schema, t.typname::text AS name, ` +
      `string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) AS labels ` +
      `FROM pg_type t JOIN pg_namespace n ON n.oid = ` +
      `t.typnamespace JOIN pg_enum e ON e.enumtypid = t.oid ` +
      `WHERE ${user} AND ${isNotFromExtension("pg_type", "t.oid")} GROUP BY 1, 2, 3`,
  );
  const domains = await run(
    `SELECT t.oid::text AS oid, n.nspname::text AS schema, t.typname::text AS name, ` +
      `format_type(t.typbasetype, t.typtypmod) AS base, ` +
      `t.typdefault AS def, t.typnotnull AS not_null, ` +
      `(SELECT string_agg('CONSTRAINT ' || quote_ident(con.conname) || ' ' || ` +
      `pg_get_constraintdef(con.oid), ' ' ORDER BY con.conname) ` +
      `FROM pg_constraint con WHERE con.contypid = t.oid AND con.contype = 'c') AS checks ` +
      `FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace ` +
      `WHERE t.typtype = 'd' AND ${user} AND ${isNotFromExtension("pg_type", "t.oid")}`,
  );
  const made = [
    ...enums.map((row) => ({
      oid: Number(row.oid),
      sql: `CREATE TYPE ${qualify(String(row.schema), String(row.name))} AS ENUM (${row.labels})`,
    })),
    ...domains.map((row) => ({
      oid: Number(row.oid),
      sql: [
        `CREATE DOMAIN ${qualify(String(row.schema), String(row.name))} AS ${row.base}`,
        ...row.def === null ? [] : [`DEFAULT ${row.def}`],
        ...row.not_null === true ? ["NOT NULL"] : [],
        ...row.checks === null ? [] : [String(row.checks)],
      ].join(" "),
    })),
  ];
  // a type only uses types with lower OIDs
  return made.sort((a, b) => a.oid - b.oid).map(({ sql }) => sql);
}

async function readSequences(run: Run, user: string): Promise<SequenceSchema[]> {
  const rows = await run(
    `SELECT n.nspname::text AS schema, c.relname::text AS ` +
      `name, format_type(s.seqtypid, NULL) AS type, ` +
      `s.seqstart::text AS start, s.seqincrement::text AS ` +
      `increment, s.seqmin::text AS min, s.seqmax::text AS max, ` +
      `s.seqcache::text AS cache, s.seqcycle AS cycle, d.deptype::text AS kind, ` +
      `tn.nspname::text AS table_schema, t.relname::text AS table, a.attname::text AS column ` +
      `FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid ` +
      `JOIN pg_namespace n ON n.oid = c.relnamespace ` +
      `LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid ` +
      `AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i') ` +
      `LEFT JOIN pg_class t ON t.oid = d.refobjid LEFT JOIN ` +
      `pg_namespace tn ON tn.oid = t.relnamespace ` +
      `LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid ` +
      `WHERE ${user} AND ${isNotFromExtension("pg_class", "c.oid")} ORDER BY 1, 2`,
  );
  return rows.map((row) => ({
    schema: String(row.schema),
    name: String(row.name),
    increment: String(row.increment),
    definition:
      `AS ${row.type} START WITH ${row.start} INCREMENT BY ${row.increment} MINVALUE ${row.min} ` +
      `MAXVALUE ${row.max} CACHE ${row.cache}${row.cycle === true ? " CYCLE" : ""}`,
    ...row.table === null ? {} : {
      owner: {
        schema: String(row.table_schema),
        table: String(row.table),
        column: String(row.column),
        isIdentity: row.kind === "i",
      },
    },
  }));
}

async function readViews(run: Run, user: string): Promise<CatalogObjects["views"]> {
  const rows = await run(
    `SELECT n.nspname::text AS schema, c.relname::text AS ` +
      `name, pg_get_viewdef(c.oid) AS definition, ` +
      `array_to_string(c.reloptions, ', ') AS options ` +
      `FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace ` +
      `WHERE c.relkind = 'v' AND ${user} AND ${
        isNotFromExtension("pg_class", "c.oid")
      } ORDER BY c.oid`,
  );
  return rows.map((row) => ({
    schema: String(row.schema),
    name: String(row.name),
    sql: `CREATE VIEW ${qualify(String(row.schema), String(row.name))}` +
      `${row.options ? ` WITH (${row.options})` : ""} AS ${
        String(row.definition).replace(/;\s*$/, "")
      }`,
  }));
}

/** Reads objects without rows whose SQL is not portable. */
async function readNotCloned({ run, isDistSql }: CloneConnection, user: string): Promise<string[]> {
  const parts = [
    `SELECT 'function ' || p.oid::regprocedure::text AS what FROM ` +
    `pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace ` +
    `WHERE ${user} AND ${isNotFromExtension("pg_proc", "p.oid")}`,
    ...isDistSql ? [] : [
      `SELECT 'trigger ' || quote_ident(g.tgname) || ' on ' || ` +
      `g.tgrelid::regclass::text FROM pg_trigger g ` +
      `JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ` +
      `NOT g.tgisinternal AND ${user}`,
      `SELECT 'policy ' || quote_ident(p.polname) || ' on ' || ` +
      `p.polrelid::regclass::text FROM pg_policy p ` +
      `JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace ` +
      `n ON n.oid = c.relnamespace WHERE ${user}`,
      `SELECT 'row level security of ' || c.oid::regclass::text FROM pg_class c ` +
      `JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relrowsecurity AND ${user}`,
      `SELECT 'rule ' || quote_ident(r.rulename) || ' on ' || ` +
      `r.ev_class::regclass::text FROM pg_rewrite r ` +
      `JOIN pg_class c ON c.oid = r.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace ` +
      `WHERE r.rulename <> '_RETURN' AND ${user}`,
      `SELECT 'materialized view ' || c.oid::regclass::text FROM pg_class c ` +
      `JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'm' AND ${user}`,
      `SELECT 'type ' || format_type(t.oid, NULL) FROM pg_type t ` +
      `JOIN pg_namespace n ON n.oid = t.typnamespace ` +
      `LEFT JOIN pg_class c ON c.oid = t.typrelid WHERE (t.typtype ` +
      `= 'r' OR t.typtype = 'c' AND c.relkind = 'c') ` +
      `AND ${user} AND ${isNotFromExtension("pg_type", "t.oid")}`,
    ],
  ];
  return (await run(`${parts.join(" UNION ALL ")} ORDER BY 1`)).map(({ what }) => String(what));
}
