import type { PGlite, Transaction } from "@electric-sql/pglite";
import {
  type Catalog,
  type CatalogColumn,
  type CatalogPolicy,
  type CatalogRule,
  type CatalogTable,
  quoteTable,
} from "./catalog.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { qualify, quoteName } from "../../sql/quote.ts";
import { groupBy } from "../../core/lists/group_by.ts";

/** The part of a database that queries need. */
export interface Queryable {
  /** Runs one statement without parameters. */
  query<Row>(text: string): Promise<{ rows: Row[] }>;
}

/** Excludes the catalogs of PostgreSQL, and the schemas of dropped objects that are kept. */
export const OWN: string = `n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
  AND n.nspname NOT LIKE '\\_\\_orm\\_kept\\_%'`;
/** Excludes also the tables of migration runners and objects of extensions. */
export const OWN_CLASS: string = `${OWN} AND c.relname NOT LIKE '\\_\\_orm\\_%'
  AND (n.nspname, c.relname) <> ('drizzle', '__drizzle_migrations')
  AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.objid = c.oid AND e.deptype = 'e')`;

const SEQUENCE_OPTIONS =
  `format('INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s',
  s.seqincrement, s.seqmin, s.seqmax, s.seqstart, s.seqcache,
  CASE WHEN s.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END)`;

/**
 * The sequence `o.objid` is that of an identity column, or the default of the column that owns it
 * uses it.
 */
const FILLS_ITS_COLUMN = `(o.deptype = 'i' OR o.deptype = 'a' AND EXISTS (
  SELECT FROM pg_attrdef u JOIN pg_depend x ON x.classid = 'pg_attrdef'::regclass AND x.objid = u.oid
  WHERE u.adrelid = o.refobjid AND u.adnum = o.refobjsubid AND x.refobjid = o.objid))`;

const COLUMNS = `SELECT c.oid::text AS id, n.nspname AS schema, c.relname AS table,
  c.relrowsecurity AS "hasRowSecurity", a.attname AS name,
  format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS "isRequired",
  CASE WHEN a.attcollation <> t.typcollation THEN a.attcollation::regcollation::text END
    AS collation,
  CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END AS identity,
  CASE WHEN a.attidentity <> '' THEN s.options END AS sequence,
  s.options IS NOT NULL AND a.attidentity = '' AS "isSerial", s.object AS "ownSequence",
  pg_get_expr(d.adbin, d.adrelid, true) AS expression, a.attgenerated AS kind,
  a.attinhcount > 0 AS "isInherited"
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  AND a.attname NOT LIKE '\\_\\_orm\\_kept\\_%'
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN LATERAL (
  SELECT ${SEQUENCE_OPTIONS} AS options,
    json_build_object('schema', qn.nspname, 'name', q.relname) AS object
  FROM pg_depend o JOIN pg_sequence s ON s.seqrelid = o.objid
  JOIN pg_class q ON q.oid = o.objid JOIN pg_namespace qn ON qn.oid = q.relnamespace
  WHERE o.refobjid = c.oid AND o.refobjsubid = a.attnum AND ${FILLS_ITS_COLUMN} LIMIT 1
) s ON true
WHERE c.relkind IN ('r', 'p') AND ${OWN_CLASS}
ORDER BY n.nspname, c.relname, a.attnum`;

const CONSTRAINTS = `SELECT c.oid::text AS id, r.conname AS name, r.contype AS type,
  pg_get_constraintdef(r.oid, true) AS definition,
  CASE WHEN f.relname IS NULL THEN NULL WHEN fn.nspname = 'public' THEN f.relname
    ELSE fn.nspname || '.' || f.relname END AS references,
  r.coninhcount > 0 AS "isInherited"
FROM pg_constraint r
JOIN pg_class c ON c.oid = r.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_class f ON f.oid = r.confrelid
LEFT JOIN pg_namespace fn ON fn.oid = f.relnamespace
WHERE r.contype IN ('p', 'f', 'c', 'x') AND ${OWN_CLASS}
ORDER BY r.conname`;

// a unique index and a unique constraint are compared as the same: both reject the same rows
const INDEXES = `SELECT c.oid::text AS id, i.relname AS name,
  -- an index of a partitioned table has those of the partitions
  regexp_replace(pg_get_indexdef(i.oid, 0, true), CASE c.relkind WHEN 'p' THEN ' ON ONLY ' ELSE ' ON ' END,
    ' ON ') AS definition, quote_ident(i.relname) AS quoted,
  pg_get_constraintdef(r.oid, true) AS unique, i.relispartition AS "isInherited"
FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_class c ON c.oid = x.indrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_constraint r ON r.conindid = i.oid AND r.contype IN ('p', 'u', 'x')
WHERE coalesce(r.contype, 'u') = 'u' AND ${OWN_CLASS}
ORDER BY i.relname`;

/** What follows the table in CREATE POLICY, for the policy `p`. */
export const POLICY_DEFINITION: string =
  `format('AS %s FOR %s TO %s', CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
    CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE'
      WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
    (SELECT string_agg(CASE WHEN role = 0 THEN 'public' ELSE role::regrole::text END, ', ')
      FROM unnest(p.polroles) AS role)) ||
  coalesce(' USING (' || pg_get_expr(p.polqual, p.polrelid, true) || ')', '') ||
  coalesce(' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid, true) || ')', '')`;

const POLICIES = `SELECT c.oid::text AS id, p.polname AS name, ${POLICY_DEFINITION} AS definition
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE ${OWN_CLASS} ORDER BY p.polname`;

const ENUMS = `SELECT n.nspname AS schema, c.typname AS name,
  json_agg(e.enumlabel ORDER BY e.enumsortorder) AS values, format_type(c.oid, NULL) AS type
FROM pg_type c JOIN pg_namespace n ON n.oid = c.typnamespace JOIN pg_enum e ON e.enumtypid = c.oid
WHERE ${OWN} AND NOT EXISTS (SELECT FROM pg_depend x WHERE x.objid = c.oid AND x.deptype = 'e')
GROUP BY 1, 2, c.oid ORDER BY 1, 2`;

const SEQUENCES = `SELECT n.nspname AS schema, c.relname AS name,
  format_type(s.seqtypid, NULL) || ' ' || ${SEQUENCE_OPTIONS} AS definition
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE ${OWN_CLASS} AND NOT EXISTS (
  SELECT FROM pg_depend o WHERE o.objid = c.oid AND o.refobjsubid > 0 AND ${FILLS_ITS_COLUMN}
) ORDER BY 1, 2`;

const VIEWS = `SELECT n.nspname AS schema, c.relname AS name,
  c.relkind::text || pg_get_viewdef(c.oid, true) AS definition, c.relkind = 'm' AS "isMaterialized",
  a.amname AS method, t.spcname AS tablespace,
  (SELECT coalesce(json_object_agg(option_name, CASE WHEN option_value IN ('on', 'yes') THEN 'true'
    WHEN option_value IN ('off', 'no') THEN 'false' ELSE option_value END), '{}')
    FROM pg_options_to_table(c.reloptions)) AS options
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_am a ON a.oid = c.relam LEFT JOIN pg_tablespace t ON t.oid = c.reltablespace
WHERE c.relkind IN ('v', 'm') AND ${OWN_CLASS} ORDER BY 1, 2`;

const SCHEMAS = `SELECT n.nspname AS name FROM pg_namespace n WHERE ${OWN} ORDER BY 1`;

/** Reads the names of the schemas of a database, sorted. */
export async function readSchemas(database: Queryable): Promise<string[]> {
  return (await database.query<{ name: string }>(SCHEMAS)).rows.map(({ name }) => name);
}

/**
 * Reads the objects of a database that a drizzle schema can declare.
 *
 * @returns The objects, sorted by name.
 */
export async function readCatalog(database: Queryable): Promise<Catalog> {
  const read = async <Row>(text: string) => (await database.query<Row>(text)).rows;
  const columns = await read<ColumnRow>(COLUMNS);
  const constraints = await read<ConstraintRow>(CONSTRAINTS);
  const indexes = await read<IndexRow>(INDEXES);
  const rules = [
    ...constraints.map((row) => ({ id: row.id, rule: toConstraint(row) })),
    ...indexes.map((row) => ({ id: row.id, rule: toIndex(row) })),
  ];
  const rulesById = groupBy(rules, ({ id }) => id);
  const policies = await read<CatalogPolicy & { readonly id: string }>(POLICIES);
  const policiesById = groupBy(policies, ({ id }) => id);
  const tables = [...groupBy(columns, ({ id }) => id)].map(([id, rows]): CatalogTable => ({
    ...toTable(rows),
    rules: (rulesById.get(id) ?? []).map(({ rule }) => rule),
    policies: (policiesById.get(id) ?? []).map(({ name, definition }) => ({ name, definition })),
  }));
  return {
    tables,
    schemas: await readSchemas(database),
    enums: await read(ENUMS),
    sequences: await read(SEQUENCES),
    views: await read(VIEWS),
  };
}

function toTable(rows: readonly ColumnRow[]): Omit<CatalogTable, "rules" | "policies"> {
  const [{ schema, table, hasRowSecurity }] = rows;
  return { schema, name: table, hasRowSecurity, columns: rows.map(toColumn) };
}

interface ColumnRow extends Omit<CatalogColumn, "default" | "generated"> {
  readonly id: string;
  readonly schema: string;
  readonly table: string;
  readonly hasRowSecurity: boolean;
  readonly expression: string | null;
  /** `s` and `v` for generated columns. */
  readonly kind: string;
}

function toColumn(row: ColumnRow): CatalogColumn {
  const { name, type, isRequired, collation, identity, sequence, expression } = row;
  const { isSerial, ownSequence, isInherited } = row;
  const isGenerated = row.kind !== "";
  const storage = row.kind === "s" ? "STORED" : "VIRTUAL";
  return {
    name,
    type,
    isRequired,
    collation,
    identity,
    sequence,
    isSerial,
    ownSequence,
    default: isGenerated || isSerial ? null : expression,
    generated: isGenerated ? `GENERATED ALWAYS AS (${expression}) ${storage}` : null,
    isInherited,
  };
}

const KINDS: Readonly<Record<string, CatalogRule["kind"]>> = {
  p: "primary key",
  f: "foreign key",
  c: "check",
  x: "exclusion",
};

interface ConstraintRow {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly definition: string;
  readonly references: string | null;
  readonly isInherited: boolean;
}

/** End of the definition of a constraint that present rows may break. */
export const NOT_VALID = " NOT VALID";

function toConstraint({ type, ...row }: ConstraintRow): CatalogRule {
  const { name, definition, references, isInherited } = row;
  const key = definition.endsWith(NOT_VALID) ? definition.slice(0, -NOT_VALID.length) : definition;
  return { name, kind: KINDS[type], key, definition, references, isInherited };
}

interface IndexRow {
  readonly id: string;
  readonly name: string;
  readonly quoted: string;
  readonly definition: string;
  readonly unique: string | null;
  readonly isInherited: boolean;
}

function toIndex({ name, quoted, definition, unique, isInherited }: IndexRow): CatalogRule {
  const key = definition.replace(` INDEX ${quoted} ON `, () => " INDEX ON ");
  const suffix = unique?.includes(" DEFERRABLE") === true ? " DEFERRABLE" : "";
  return unique === null
    ? { name, kind: "index", key, definition, references: null, isInherited }
    : {
      name,
      kind: "unique",
      key: key + suffix,
      definition: unique,
      references: null,
      isInherited,
    };
}

/**
 * Reads the catalog that a database has with the objects of a schema alone. The database is not
 * changed: functions, extensions and types of the migrations stay while the statements run, and the
 * transaction is rolled back.
 *
 * @param database The database after the migrations.
 * @param created The statements that create the schema.
 * @throws {ConfigurationError} If PostgreSQL refuses a statement.
 */
export async function readSchemaCatalog(
  database: PGlite,
  have: Catalog,
  created: readonly string[],
): Promise<Catalog> {
  const present = new Set(have.schemas.map((name) => `CREATE SCHEMA ${quoteName(name)}`));
  const statements = created.filter((sql) => !present.has(sql));
  let catalog: Catalog | undefined;
  await database.transaction(async (transaction) => {
    await transaction.exec([...listRemovals(have), "SAVEPOINT removed"].join(";\n"));
    try {
      await transaction.exec(statements.join(";\n"));
    } catch {
      await transaction.exec("ROLLBACK TO removed");
      // one by one, to name the statement that PostgreSQL refuses
      for (const sql of statements) await runCreated(transaction, sql);
    }
    catalog = await readCatalog(transaction);
    await transaction.rollback();
  });
  return catalog!;
}

async function runCreated(transaction: Transaction, sql: string): Promise<void> {
  try {
    await transaction.exec(sql);
  } catch (cause) {
    const refused = `PostgreSQL refuses a statement of the schema: ${(cause as Error).message}`;
    throw new ConfigurationError(`${refused}\n${sql}`, { cause });
  }
}

/**
 * Lists the statements that remove what a schema can declare. Tables are moved into schemas of their
 * own, which takes a fifth of the time of dropping them.
 */
function listRemovals({ schemas, tables, views, sequences, enums }: Catalog): string[] {
  const drop = (kind: string, each: { schema: string; name: string }) =>
    `DROP ${kind} IF EXISTS ${qualify(each.schema, each.name)} CASCADE`;
  const getAside = (schema: string) => quoteName(`__orm_kept_aside${schemas.indexOf(schema)}`);
  return [
    ...views.map((view) => drop(view.isMaterialized ? "MATERIALIZED VIEW" : "VIEW", view)),
    ...schemas.map((schema) => `CREATE SCHEMA ${getAside(schema)}`),
    ...tables.map((table) =>
      `ALTER TABLE ${quoteTable(table)} SET SCHEMA ${getAside(table.schema)}`
    ),
    ...sequences.map((sequence) => drop("SEQUENCE", sequence)),
    ...enums.map((each) => drop("TYPE", each)),
  ];
}
