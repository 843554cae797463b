import { sql } from "drizzle-orm";
import * as pg from "drizzle-orm/pg-core";
import { join } from "node:path";
import { planMigrationFiles } from "../../../cli/auth_schema/migration_file.ts";
import { listCreateStatements } from "../../../cli/schema_migration/create_statements.ts";
import { findDeclaredObjects } from "../../../cli/schema_migration/declared_objects.ts";
import { type Decisions, NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import {
  type Difference,
  groupSteps,
  renderStep,
} from "../../../cli/schema_migration/difference.ts";
import { readMigrationFolder } from "../../../database/migrations/folder.ts";
import type { Random } from "../../support/random.ts";

/** A column of a generated table. */
interface ColumnModel {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly hasDefault: boolean;
  readonly isUnique: boolean;
}

interface TableModel {
  readonly name: string;
  readonly schema: string | undefined;
  readonly columns: readonly ColumnModel[];
  readonly indexes: readonly string[];
  readonly check: number | undefined;
  /** Name of the referenced table. */
  readonly references: string | undefined;
  readonly onDelete: "cascade" | "set null" | undefined;
  readonly compositeUnique: boolean;
}

/** A generated schema, from which objects of drizzle are built. */
export interface SchemaModel {
  readonly moods: readonly string[];
  readonly tables: readonly TableModel[];
  /** Options of the view `first_ids` of the first table; `undefined` without the view. */
  readonly view: pg.ViewWithConfig | undefined;
  /** True for Aurora DSQL: all tables are in the schema `public`. */
  readonly isDistSql: boolean;
  /** Types that columns can have. */
  readonly types: readonly string[];
}

const VIEWS: readonly pg.ViewWithConfig[] = [
  { securityBarrier: false, checkOption: "cascaded", securityInvoker: false },
  { securityBarrier: true, checkOption: "local", securityInvoker: true },
];

type Builder = pg.PgColumnBuilderBase;
type Mood = pg.PgEnum<[string, ...string[]]>;
interface ColumnType {
  build(name: string, mood: Mood): Builder;
  /** The default; `undefined` if the type has none. */
  readonly value?: unknown;
  /** Types to which a column can change. */
  readonly next?: readonly string[];
  /** Value of the row `n` in SQL; none if the column fills itself. */
  readonly row?: string;
}

const INSTANT = "(timestamp '2026-01-01 23:30' + n * interval '1 hour')";

const TYPES: Readonly<Record<string, ColumnType>> = {
  text: { build: (name) => pg.text(name), value: "it's", next: ["varchar20"], row: "'row ' || n" },
  varchar20: {
    build: (name) => pg.varchar(name, { length: 20 }),
    value: "a",
    next: ["text", "char4"],
    row: "'row ' || n",
  },
  char4: {
    build: (name) => pg.char(name, { length: 4 }),
    value: "abcd",
    next: ["text"],
    row: "'r' || n",
  },
  smallint: {
    build: (name) => pg.smallint(name),
    value: -1,
    next: ["integer", "bigint", "identity"],
    row: "n",
  },
  integer: {
    build: (name) => pg.integer(name),
    value: 7,
    next: ["bigint", "text", "numeric", "identity"],
    row: "n",
  },
  bigint: {
    build: (name) => pg.bigint(name, { mode: "bigint" }),
    value: 9n,
    next: ["integer"],
    row: "n",
  },
  numeric: {
    build: (name) => pg.numeric(name, { precision: 9, scale: 2 }),
    value: "1.50",
    row: "n",
  },
  real: { build: (name) => pg.real(name), value: 1.5, next: ["double"], row: "n" },
  double: { build: (name) => pg.doublePrecision(name), value: 2.25, row: "n" },
  boolean: { build: (name) => pg.boolean(name), value: false, row: "n > 12" },
  uuid: {
    build: (name) => pg.uuid(name),
    value: sql`gen_random_uuid()`,
    next: ["text"],
    row: "lpad(n::text, 32, '0')::uuid",
  },
  date: {
    build: (name) => pg.date(name),
    value: sql`current_date`,
    next: ["timestamp", "timestamptz"],
    row: "date '2026-01-01' + n",
  },
  time: { build: (name) => pg.time(name), value: "10:00:00", row: "time '10:00'" },
  timestamp: {
    build: (name) => pg.timestamp(name),
    value: sql`now()`,
    next: ["timestamptz"],
    row: INSTANT,
  },
  timestamptz: {
    build: (name) => pg.timestamp(name, { withTimezone: true, precision: 3 }),
    value: sql`now()`,
    next: ["timestamp", "date"],
    row: `${INSTANT} AT TIME ZONE 'UTC'`,
  },
  interval: { build: (name) => pg.interval(name), value: "1 day", row: "interval '1 day'" },
  json: { build: (name) => pg.json(name), value: { a: 1 }, next: ["jsonb"], row: "'{}'::json" },
  jsonb: {
    build: (name) => pg.jsonb(name),
    value: { a: ["it's"] },
    next: ["json"],
    row: "'{}'::jsonb",
  },
  mood: {
    build: (name, mood) => mood(name),
    value: "calm",
    next: ["text"],
    row: "'glad'::public.mood",
  },
  texts: { build: (name) => pg.text(name).array(), value: ["a", "b c"], row: "ARRAY['a']" },
  moods: { build: (name, mood) => mood(name).array(), row: "ARRAY['glad']::public.mood[]" },
  inet: { build: (name) => pg.inet(name), row: "inet '127.0.0.1'" },
  serial: { build: (name) => pg.serial(name), next: ["identity"] },
  identity: { build: (name) => pg.integer(name).generatedAlwaysAsIdentity({ startWith: 5 }) },
  generated: { build: (name) => pg.text(name).generatedAlwaysAs(sql`(id * 2)::text`) },
};

const TYPE_NAMES = Object.keys(TYPES);
const INDEXABLE = new Set([
  "text",
  "varchar20",
  "integer",
  "bigint",
  "uuid",
  "date",
  "timestamptz",
]);

/** Types whose columns Aurora DSQL has in another form: an enum is a text with a CHECK. */
const TRANSLATED = ["mood", "inet", "serial", "json"];
const ARRAYS = ["texts", "moods"];
const DISTSQL_TYPES = TYPE_NAMES.filter((name) => ![...TRANSLATED, ...ARRAYS].includes(name));

/** Returns true if Aurora DSQL has the types of a schema as PostgreSQL has them. */
export function hasOwnTypes({ types }: SchemaModel): boolean {
  return !types.includes("mood");
}

/** Creates a schema for Aurora DSQL: half have only its own types, and few have arrays. */
export function createDistSqlSchema(random: Random): SchemaModel {
  if (random.chance(0.5)) return createSchema(random, DISTSQL_TYPES, true);
  const arrays = random.chance(0.2) ? ARRAYS : [];
  return createSchema(random, [...DISTSQL_TYPES, ...TRANSLATED, ...TRANSLATED, ...arrays], true);
}

/** Creates a schema. */
export function createSchema(
  random: Random,
  types: readonly string[] = TYPE_NAMES,
  isDistSql = false,
): SchemaModel {
  const names = ["notes", "Tags", "users"].slice(0, 1 + random.below(3));
  // a table that a view reads is not recreated
  const view = isDistSql && random.chance(0.7) ? undefined : random.pick(VIEWS);
  const moods = random.chance(0.5) ? ["calm", "glad"] : ["calm", "glad", "angry"];
  const empty: SchemaModel = { moods, tables: [], view, isDistSql, types };
  return names.reduce((schema, name) => addTable(random, schema, name), empty);
}

function addTable(random: Random, schema: SchemaModel, name: string): SchemaModel {
  const columns = Array.from(
    { length: 1 + random.below(6) },
    (_, i) => column(random, `c${i}`, schema.types),
  );
  const target = random.chance(0.5)
    ? random.pick<TableModel | undefined>(schema.tables)?.name
    : undefined;
  const indexed = columns.filter(({ type }) => INDEXABLE.has(type)).map((each) => each.name);
  const table: TableModel = {
    name,
    schema: random.chance(0.2) && !schema.isDistSql ? "app" : undefined,
    columns,
    indexes: indexed.filter(() => random.chance(0.4)),
    check: random.chance(0.4) ? (1 + random.below(3)) : undefined,
    references: target,
    onDelete: random.pick(["cascade", "set null", undefined] as const),
    compositeUnique: random.chance(0.3),
  };
  return { ...schema, tables: [...schema.tables, table] };
}

function column(random: Random, name: string, types: readonly string[]): ColumnModel {
  const type = random.pick(types);
  return {
    name,
    type,
    isRequired: random.chance(0.5),
    hasDefault: random.chance(0.5),
    isUnique: INDEXABLE.has(type) && random.chance(0.2),
  };
}

/** Changes a schema at some places. */
export function changeSchema(random: Random, schema: SchemaModel): SchemaModel {
  const [first, second, ...others] = schema.moods;
  const moods = random.pick([
    schema.moods,
    schema.moods,
    schema.moods,
    ["shy", ...schema.moods, "wild"],
    ["shy", ...schema.moods, "wild"],
    // rows have none of the others
    [first, second],
    [...others, second, first],
  ]);
  const tables = schema.tables.map((table) => changeTable(random, table, schema.types));
  const view = schema.view && random.pick(VIEWS);
  const changed = { ...schema, moods, tables, view };
  return random.chance(0.3) ? addTable(random, changed, "extra") : changed;
}

function changeTable(
  random: Random,
  table: TableModel,
  types: readonly string[],
): TableModel {
  const columns = table.columns.filter(() => !random.chance(0.15)).map((each) =>
    changeColumn(random, each, types)
  );
  if (random.chance(0.4)) {
    const added = column(random, "added", types);
    // rows have no value in a required column without a default
    columns.push(random.chance(0.8) ? { ...added, isRequired: false } : added);
  }
  const indexed = columns.filter(({ type }) => INDEXABLE.has(type)).map(({ name }) => name);
  return {
    ...table,
    columns,
    indexes: random.chance(0.5)
      ? table.indexes.filter((name) => indexed.includes(name))
      : indexed.slice(0, 2),
    check: random.chance(0.3) ? (1 + random.below(3)) : table.check,
    onDelete: random.chance(0.3) ? "cascade" : table.onDelete,
    compositeUnique: random.chance(0.2) ? !table.compositeUnique : table.compositeUnique,
  };
}

function changeColumn(random: Random, old: ColumnModel, types: readonly string[]): ColumnModel {
  const next = (TYPES[old.type].next ?? []).filter((type) => types.includes(type));
  const type = random.chance(0.3) && next.length > 0 ? random.pick(next) : old.type;
  return {
    ...old,
    type,
    isRequired: random.chance(0.2) ? !old.isRequired : old.isRequired,
    hasDefault: random.chance(0.2) ? !old.hasDefault : old.hasDefault,
    isUnique: INDEXABLE.has(type) && (random.chance(0.1) || old.isUnique),
  };
}

/** A schema in which tables and columns have other names. */
export interface RenamedSchema {
  readonly after: SchemaModel;
  /** Old and new names, as `--rename` takes them. */
  readonly renames: readonly (readonly [string, string])[];
}

/**
 * Gives other names to some columns that both schemas have. Their types stay, as `--expand` needs it
 * in most cases; other changes stay as they are.
 */
export function renameColumns(
  random: Random,
  before: SchemaModel,
  after: SchemaModel,
): RenamedSchema {
  const renames: [string, string][] = [];
  const tables = after.tables.map((table) => {
    const old = before.tables.find(({ name }) => name === table.name);
    const renamed = new Map<string, string>();
    const columns = table.columns.map((each) => {
      const own = old?.columns.find(({ name }) => name === each.name);
      if (own === undefined || !random.chance(0.3)) return each;
      renamed.set(each.name, `${each.name}_next`);
      return { ...own, name: `${each.name}_next` };
    });
    const isIndexable = (name: string) =>
      columns.some((each) => each.name === name && INDEXABLE.has(each.type));
    const indexes = table.indexes.map((name) => renamed.get(name) ?? name).filter(isIndexable);
    for (const [from, to] of renamed) renames.push([`${labelOf(table)}.${from}`, to]);
    return { ...table, columns, indexes };
  });
  return { after: { ...after, tables }, renames };
}

/** Gives another name to some tables that both schemas have, or moves them to another schema. */
export function renameTables(
  random: Random,
  before: SchemaModel,
  after: SchemaModel,
): RenamedSchema {
  const renames: [string, string][] = [];
  const names = new Map<string, string>();
  const moved = after.tables.map((table) => {
    if (!random.chance(0.4) || !before.tables.some(({ name }) => name === table.name)) return table;
    const isMoved = !after.isDistSql && random.chance(0.5);
    const schema = isMoved ? (table.schema === undefined ? "app" : undefined) : table.schema;
    const name = isMoved && random.chance(0.5) ? table.name : `${table.name}Next`;
    names.set(table.name, name);
    const next = { ...table, schema, name };
    renames.push([labelOf(table), labelOf(next)]);
    return next;
  });
  const tables = moved.map((table) => ({
    ...table,
    references: names.get(table.references ?? "") ?? table.references,
  }));
  return { after: { ...after, tables }, renames };
}

function labelOf({ schema, name }: TableModel): string {
  return schema === undefined ? name : `${schema}.${name}`;
}

/** A query of the values of a column that a change keeps, before and after it. */
export interface KeptValues {
  readonly before: string;
  readonly after: string;
}

/** Lists the columns that a change keeps with their type, by the names of `--rename`. */
export function listKeptValues(
  before: SchemaModel,
  { after, renames }: RenamedSchema,
): KeptValues[] {
  const named = new Map(renames);
  return before.tables.flatMap((table) => {
    const label = named.get(labelOf(table)) ?? labelOf(table);
    const next = after.tables.find((each) => labelOf(each) === label);
    return next === undefined ? [] : table.columns.flatMap(({ name, type }) => {
      const to = named.get(`${labelOf(table)}.${name}`) ?? name;
      const isKept = next.columns.some((each) => each.name === to && each.type === type);
      return isKept ? [{ before: selectValues(table, name), after: selectValues(next, to) }] : [];
    });
  });
}

function selectValues({ schema = "public", name }: TableModel, column: string): string {
  return `SELECT id, "${column}"::text AS value FROM "${schema}"."${name}" WHERE id < 20 ORDER BY 1`;
}

/** Builds the objects of drizzle, as the modules of a project export them. */
export function buildSchema(
  { moods, tables, view, isDistSql, types }: SchemaModel,
): Record<string, unknown> {
  const mood = pg.pgEnum("mood", moods as [string, ...string[]]);
  const app = pg.pgSchema("app");
  const built = new Map<string, pg.PgTable>();
  for (const table of tables) {
    const define = (table.schema === undefined ? pg.pgTable : app.table) as pg.PgTableFn;
    const target = table.references === undefined ? undefined : built.get(table.references);
    const key = target === undefined ? [] : [["refId", buildReference(target, table)]];
    const columns = Object.fromEntries([
      ["id", pg.integer("id").primaryKey()],
      ...table.columns.map((each) => [each.name, buildColumn(each, mood)]),
      ...key,
    ]) as Record<string, Builder>;
    built.set(table.name, define(table.name, columns, (own) => buildRules(table, own as never)));
  }
  const [first] = built.values() as Iterable<pg.PgTable & { id: pg.PgColumn }>;
  const ids = view &&
    pg.pgView("first_ids").with(view).as((qb) => qb.select({ id: first.id }).from(first));
  return {
    ...types.includes("mood") && { mood },
    ...!isDistSql && { app },
    ...ids && { ids },
    ...Object.fromEntries(built),
  };
}

/** Returns statements that insert three rows into each table, with ids from a number on. */
export function insertRows({ tables }: SchemaModel, firstId: number): string[] {
  return tables.map(({ schema = "public", name, columns }) => {
    const filled = columns.filter(({ type }) => TYPES[type].row !== undefined);
    const names = ["id", ...filled.map((each) => `"${each.name}"`)];
    const values = ["n", ...filled.map(({ type }) => TYPES[type].row)];
    return `INSERT INTO "${schema}"."${name}" (${names}) SELECT ${values} ` +
      `FROM generate_series(${firstId}, ${firstId + 2}) AS n`;
  });
}

/** Returns queries that count values of identity columns which a table has twice. */
export function countRepeated({ tables }: SchemaModel): string[] {
  return tables.flatMap(({ schema = "public", name, columns }) =>
    columns.filter(({ type }) => type === "identity").map((each) =>
      `SELECT count("${each.name}") - count(DISTINCT "${each.name}") AS n FROM "${schema}"."${name}"`
    )
  );
}

function buildReference(target: pg.PgTable, { onDelete }: TableModel): Builder {
  return pg.integer("ref_id").references(() => (target as unknown as { id: pg.PgColumn }).id, {
    onDelete,
  });
}

function buildColumn(model: ColumnModel, mood: Mood): Builder {
  const { build, value } = TYPES[model.type];
  type Chain = Builder & {
    notNull(): Chain;
    default(value: unknown): Chain;
    unique(): Chain;
  };
  let built = build(model.name, mood) as Chain;
  if (model.isRequired) built = built.notNull();
  if (model.hasDefault && value !== undefined) built = built.default(value);
  return model.isUnique ? built.unique() : built;
}

function buildRules(
  table: TableModel,
  own: Record<string, pg.ExtraConfigColumn>,
): pg.PgTableExtraConfigValue[] {
  const [first] = table.indexes;
  return [
    ...table.indexes.map((name, index) =>
      index % 3 === 0
        ? pg.index(`${table.name}_${name}_idx`).on(own[name].desc()).concurrently()
        : index % 3 === 1
        ? pg.index(`${table.name}_${name}_idx`).on(sql`coalesce(${own[name]}) desc nulls last`)
        : pg.index(`${table.name}_${name}_idx`).on(own[name]).where(sql`${own.id} > 3`)
    ),
    ...table.check === undefined
      ? []
      : [pg.check(`${table.name}_check`, sql`${own.id} > ${sql.raw(String(table.check))}`)],
    ...table.compositeUnique && first !== undefined
      ? [pg.unique().on(own.id as never, own[first] as never)]
      : [],
  ];
}

/** Writes the files as the command does. */
export async function writeMigration(
  folder: string,
  name: string,
  { steps }: Difference,
): Promise<void> {
  const present = readMigrationFolder(folder);
  const files = groupSteps(steps).map((group) => group.map(renderStep));
  const options = { dir: "", folder, present, name, head: "", files, nowMs: 0 };
  for (const { path, text } of planMigrationFiles(options)) {
    await Deno.writeTextFile(join(folder, path), text!);
  }
}

/**
 * Writes the migration that creates a schema.
 *
 * @returns Its statements.
 */
export async function writeFirst(folder: string, schema: SchemaModel): Promise<string[]> {
  const created = listCreateStatements(findDeclaredObjects(Object.values(buildSchema(schema))));
  const steps = created.map((sql) => ({ sql }));
  await writeMigration(folder, "a", { steps, problems: [], kept: [], open: [] });
  return created;
}

/** Drops all that the new schema does not declare. */
export function dropAll(kept: readonly string[]): Decisions {
  const names = kept.filter((text) => !text.startsWith("enum "));
  const drops = new Set(names.map((text) => text.slice(text.lastIndexOf(" ") + 1)));
  return { ...NO_DECISIONS, drops };
}

/** Errors of rows: a value is missing, too long, no number, not unique. */
export const ROW_ERROR = /SQLSTATE (22001|22003|22P02|22007|22008|23502|23505|23514|42804)/;
