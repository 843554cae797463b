import type { PGlite } from "@electric-sql/pglite";
import { readAlterActions } from "../../distsql/syntax/alter_action.ts";
import { hashText, type MigrationFile } from "../../database/migrations/files.ts";
import { quoteName } from "../../sql/quote.ts";
import { readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { findFirstWord } from "../../sql/text_position.ts";
import { getLabel, quoteTable } from "./catalog.ts";
import { listStatements, type ReplayedStatement, runStatement } from "./replay.ts";

/** Beginning of the names of kept columns, and of the schemas of other kept objects. */
const KEPT = "__orm_kept_";

/** A dropped column, table, enum or sequence that exists under another name. */
export interface KeptObject {
  /** `notes.body`, or `notes` */
  readonly label: string;
  /** Name of the column, or of the schema to which the object is moved. */
  readonly name: string;
  /** The statement that dropped it. */
  readonly place: string;
}

/** Options of {@link keepDropped}. */
export interface KeepOptions {
  /** The migration, or the tag of a rollback. */
  readonly tag: string;
  /**
   * Returns true for an object that is kept.
   * @default () => true
   */
  readonly keeps?: (id: string) => boolean;
  /** What cannot be done if a statement fails. */
  readonly so: string;
}

/** Replacement of a statement that drops objects. */
interface Replacement {
  readonly sql: readonly string[];
  readonly kept: readonly KeptObject[];
}

/** Returns true for the schema of a kept object. */
export function isKept(schema: string): boolean {
  return schema.startsWith(KEPT);
}

/** Returns the part of the names of kept objects that belongs to a migration. */
export function getKeptPrefix(tag: string): string {
  return `${KEPT}${hashText(tag).slice(0, 8)}_`;
}

/** Lists the names of the kept objects of a database, with the tables of columns. */
export const KEPT_OBJECTS: string =
  `SELECT a.attname AS name, n.nspname AS schema, c.relname AS table
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE a.attname LIKE '\\_\\_orm\\_kept\\_%' AND c.relkind IN ('r', 'p') AND NOT a.attisdropped
UNION ALL SELECT nspname, NULL, NULL FROM pg_namespace WHERE nspname LIKE '\\_\\_orm\\_kept\\_%'
ORDER BY 1`;

/**
 * Replaces the statements of migrations that drop columns, tables, enums and sequences: a column
 * gets another name, and another object another schema, without their constraints. The statements
 * run on the embedded database.
 *
 * @param files The migrations in order.
 * @param database The database before them.
 * @returns The migrations with the same hashes, and what is kept.
 * @throws {ConfigurationError} If PostgreSQL refuses a statement.
 */
export async function keepDropped(
  files: readonly MigrationFile[],
  database: PGlite,
  options: Omit<KeepOptions, "tag"> & {
    /** Called before each statement. */
    readonly inspect?: (statement: ReplayedStatement) => Promise<void>;
  },
): Promise<{ files: MigrationFile[]; kept: KeptObject[]; problems: string[] }> {
  const kept: KeptObject[] = [];
  const problems: string[] = [];
  const replaced: MigrationFile[] = [];
  for (const file of files) {
    let sql = "";
    let end = 0;
    for (const statement of listStatements(file)) {
      const { source, line } = statement;
      await options.inspect?.(statement);
      const replacement = await runKept(statement, database, { tag: file.tag, ...options });
      if (typeof replacement === "string") problems.push(`${file.path}:${line}: ${replacement}`);
      if (typeof replacement !== "object") continue;
      kept.push(...replacement.kept);
      sql += file.sql.slice(end, findFirstWord(source)) + replacement.sql.join(";\n") + ";";
      end = source.start + source.text.length;
    }
    // settings of a file end with it
    await database.exec("RESET ALL");
    replaced.push({ ...file, sql: sql + file.sql.slice(end) });
  }
  return { files: replaced, kept, problems };
}

/**
 * Runs a statement on the embedded database, or what replaces it.
 *
 * @returns What replaces it; `undefined` if nothing is kept, and a sentence if that is impossible.
 */
export async function runKept(
  { reader, sql, file: { path }, line }: ReplayedStatement,
  database: PGlite,
  { tag, keeps = () => true, so }: KeepOptions,
): Promise<Replacement | string | undefined> {
  const run = (text: string) => runStatement(database, { sql: text, path, line }, so);
  const dropped = readDropped(reader);
  const objects: DroppedObject[] = [];
  for (const each of dropped) objects.push(...await findObject(database, each));
  const isPossible = objects.some(({ id }) => keeps(id)) &&
    (await isAccepted(database, sql) || await areUsedByKept(database, objects));
  if (!isPossible) return void await run(sql);
  const problem = findProblem(reader, dropped);
  if (problem !== undefined) {
    await run(sql);
    return problem;
  }
  const statements: string[] = [];
  const kept: KeptObject[] = [];
  for (const object of objects) {
    const { label, id } = object;
    const name = getKeptPrefix(tag) + hashText(label).slice(0, 8);
    const next = keeps(id) ? await keepObject(database, object, name) : [object.drop];
    for (const text of next) await run(text);
    statements.push(...next);
    if (keeps(id)) kept.push({ label, name, place: `${path}:${line}` });
  }
  return { sql: statements, kept };
}

/** Checks that PostgreSQL accepts a statement; its effect is undone. */
async function isAccepted(database: PGlite, sql: string): Promise<boolean> {
  try {
    await database.transaction(async (transaction) => {
      await transaction.exec(sql);
      await transaction.rollback();
    });
    return true;
  } catch {
    return false;
  }
}

/** Checks for enums that only kept columns and tables use. */
async function areUsedByKept(
  database: PGlite,
  objects: readonly DroppedObject[],
): Promise<boolean> {
  if (!objects.every(({ kind }) => kind === "TYPE")) return false;
  const { rows } = await database.query(
    `SELECT FROM pg_depend d JOIN pg_type t ON t.oid = d.refobjid
      LEFT JOIN pg_attribute a ON d.classid = 'pg_class'::regclass AND a.attrelid = d.objid
        AND a.attnum = d.objsubid
      LEFT JOIN pg_attrdef v ON d.classid = 'pg_attrdef'::regclass AND v.oid = d.objid
      LEFT JOIN pg_class c ON c.oid = coalesce(a.attrelid, v.adrelid)
      LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_attribute o ON o.attrelid = v.adrelid AND o.attnum = v.adnum
      WHERE d.refclassid = 'pg_type'::regclass AND d.deptype = 'n'
      AND (t.oid = ANY ($1::oid[]) OR t.typelem = ANY ($1::oid[]))
      AND NOT coalesce(starts_with(n.nspname, $2), false)
      AND NOT coalesce(starts_with(coalesce(a.attname, o.attname), $2), false)`,
    [objects.map(({ id }) => id), KEPT],
  );
  return rows.length === 0;
}

/** An object that a statement drops, as written. */
interface WrittenDrop {
  readonly kind: "TABLE" | "TYPE" | "SEQUENCE" | "COLUMN";
  /** The object, or the table of a column. */
  readonly relation: string;
  readonly column?: string;
}

function readDropped(reader: StatementReader): WrittenDrop[] {
  const kind = (["TABLE", "TYPE", "SEQUENCE"] as const).find((word) => reader.is(0, "DROP", word));
  if (kind !== undefined) {
    return reader.list(reader.skip(2, "IF", "EXISTS"), reader.size)
      .map(([from]) => ({ kind, relation: readName(reader, from).text }));
  }
  if (!reader.is(0, "ALTER", "TABLE")) return [];
  const relation = readName(reader, reader.alteredTableAt()).text;
  return readAlterActions(reader).flatMap((action) =>
    action.kind === "drop_column" ? { kind: "COLUMN", relation, column: action.name } : []
  );
}

function findProblem(
  reader: StatementReader,
  dropped: readonly WrittenDrop[],
): string | undefined {
  if (reader.is(reader.size - 1, "CASCADE")) {
    return "CASCADE drops objects that cannot be kept: drop them in statements of their own, " +
      "without CASCADE";
  }
  const isMixed = dropped[0].kind === "COLUMN" && readAlterActions(reader).length > dropped.length;
  return isMixed
    ? "write DROP COLUMN in a statement of its own, so that it can be kept"
    : undefined;
}

/** An object of the database that a statement drops. */
interface DroppedObject {
  readonly kind: WrittenDrop["kind"];
  /** Its number, as in {@link readIdentities}. */
  readonly id: string;
  readonly schema: string;
  /** Name of the object, or of the table of a column. */
  readonly name: string;
  readonly column?: string;
  readonly label: string;
  /** The statement that drops it alone. */
  readonly drop: string;
}

async function findObject(
  database: PGlite,
  { kind, relation, column }: WrittenDrop,
): Promise<DroppedObject[]> {
  const isType = kind === "TYPE";
  const { rows: [found] } = await database.query<{ id: string; schema: string; name: string }>(
    isType
      ? `SELECT t.oid::text AS id, n.nspname AS schema, t.typname AS name FROM pg_type t
        JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = to_regtype($1) AND t.typtype = 'e'`
      : `SELECT c.oid::text AS id, n.nspname AS schema, c.relname AS name FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)`,
    [relation],
  );
  if (found === undefined) return [];
  if (column === undefined) {
    return [{
      kind,
      ...found,
      label: getLabel(found),
      drop: `DROP ${kind} ${quoteTable(found)}`,
    }];
  }
  const { rows: [own] } = await database.query<{ number: number }>(
    `SELECT attnum AS number FROM pg_attribute
      WHERE attrelid = $1 AND attname = $2 AND attgenerated = '' AND NOT attisdropped`,
    [found.id, column],
  );
  if (own === undefined) return [];
  return [{
    kind,
    ...found,
    id: `${found.id}.${own.number}`,
    column,
    label: `${getLabel(found)}.${column}`,
    drop: `ALTER TABLE ${quoteTable(found)} DROP COLUMN ${quoteName(column)}`,
  }];
}

/** A table with a partitioned table or a table from which it inherits. */
export interface Parent {
  /** The table's number. */
  readonly id: string;
  /** The table, quoted. */
  readonly table: string;
  /** Its parent, quoted. */
  readonly parent: string;
  /** Values of a partition; `null` for a table that inherits. */
  readonly bound: string | null;
}

/** Lists the partitions and the tables that inherit, or the parents of one table. */
export async function readParents(database: PGlite, id?: string): Promise<Parent[]> {
  const { rows } = await database.query<Parent>(
    `SELECT c.oid::text AS id, c.oid::regclass::text AS table, i.inhparent::regclass::text AS parent,
      pg_get_expr(c.relpartbound, c.oid) AS bound
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE c.relkind IN ('r', 'p') AND c.oid = coalesce($1, c.oid) ORDER BY i.inhrelid, i.inhseqno`,
    [id ?? null],
  );
  return rows;
}

/** Returns the statement that ends a relation to a parent. */
export function separate({ table, parent, bound }: Parent): string {
  return bound === null
    ? `ALTER TABLE ${table} NO INHERIT ${parent}`
    : `ALTER TABLE ${parent} DETACH PARTITION ${table}`;
}

/** Returns the statement that makes a table a partition of its parent, or inherit from it. */
export function join({ table, parent, bound }: Parent): string {
  return bound === null
    ? `ALTER TABLE ${table} INHERIT ${parent}`
    : `ALTER TABLE ${parent} ATTACH PARTITION ${table} ${bound}`;
}

/** Returns the statements that keep an object under another name. */
async function keepObject(
  database: PGlite,
  object: DroppedObject,
  name: string,
): Promise<string[]> {
  const { kind, column, schema } = object;
  const path = quoteTable(object);
  const [id, number = null] = object.id.split(".");
  const alter = `ALTER TABLE ${path}`;
  if (column === undefined) {
    const parents = kind === "TABLE" ? await readParents(database, id) : [];
    // a foreign key would go on to protect rows of another table
    const { rows } = kind !== "TABLE" ? { rows: [] } : await database.query<{ name: string }>(
      `SELECT conname AS name FROM pg_constraint
        WHERE contype = 'f' AND conrelid = $1 AND confrelid <> $1 ORDER BY 1`,
      [id],
    );
    const { rows: owned } = kind !== "SEQUENCE" ? { rows: [] } : await database.query(
      "SELECT FROM pg_depend WHERE objid = $1 AND refobjsubid > 0 AND deptype = 'a'",
      [id],
    );
    return [
      // a sequence stays in the schema of the table that owns it
      ...owned.map(() => `ALTER SEQUENCE ${path} OWNED BY NONE`),
      // the rows of a kept table would go on to be rows of the parent
      ...parents.map(separate),
      ...rows.map((key) => `${alter} DROP CONSTRAINT ${quoteName(key.name)}`),
      `CREATE SCHEMA ${quoteName(name)}`,
      `ALTER ${kind} ${path} SET SCHEMA ${quoteName(name)}`,
    ];
  }
  const { rows } = await database.query<{ constraint: string | null; index: string | null }>(
    `SELECT DISTINCT r.conname AS constraint, i.relname AS index FROM pg_depend d
      LEFT JOIN pg_constraint r ON d.classid = 'pg_constraint'::regclass AND r.oid = d.objid
      LEFT JOIN pg_class i ON d.classid = 'pg_class'::regclass AND i.oid = d.objid AND i.relkind = 'i'
      WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND d.refobjsubid = $2
      AND d.deptype = 'a' AND coalesce(r.contype, ' ') <> 'n' AND coalesce(r.oid, i.oid) IS NOT NULL
      ORDER BY 1, 2`,
    [id, number],
  );
  // a sequence with the old name would change that of a new column
  const { rows: sequences } = await database.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_depend d JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S'
      WHERE d.refclassid = 'pg_class'::regclass AND d.classid = 'pg_class'::regclass
      AND d.refobjid = $1 AND d.refobjsubid = $2`,
    [id, number],
  );
  const { rows: [{ isRequired }] } = await database.query<{ isRequired: boolean }>(
    `SELECT attnotnull AND NOT atthasdef AND attidentity = '' AS "isRequired"
      FROM pg_attribute WHERE attrelid = $1 AND attnum = $2`,
    [id, number],
  );
  return [
    ...rows.map(({ constraint, index }) =>
      constraint === null
        ? `DROP INDEX ${quoteTable({ schema, name: index! })}`
        : `${alter} DROP CONSTRAINT ${quoteName(constraint)}`
    ),
    // new rows have no value
    ...isRequired ? [`${alter} ALTER COLUMN ${quoteName(column)} DROP NOT NULL`] : [],
    ...sequences.map((each) =>
      `ALTER SEQUENCE ${quoteTable({ schema, name: each.name })} RENAME TO ${quoteName(name)}`
    ),
    `${alter} RENAME COLUMN ${quoteName(column)} TO ${quoteName(name)}`,
  ];
}
