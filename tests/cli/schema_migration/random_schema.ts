import { sql } from "drizzle-orm";
import * as pg from "drizzle-orm/pg-core";
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
}

type Builder = pg.PgColumnBuilderBase;
type Mood = pg.PgEnum<[string, ...string[]]>;
interface ColumnType {
  build(name: string, mood: Mood): Builder;
  /** The default; `undefined` if the type has none. */
  readonly value?: unknown;
  /** Types to which a column can change. */
  readonly next?: readonly string[];
}

const TYPES: Readonly<Record<string, ColumnType>> = {
  text: { build: (name) => pg.text(name), value: "it's", next: ["varchar20"] },
  varchar20: { build: (name) => pg.varchar(name, { length: 20 }), value: "a", next: ["text"] },
  char4: { build: (name) => pg.char(name, { length: 4 }), value: "abcd", next: ["text"] },
  smallint: { build: (name) => pg.smallint(name), value: -1, next: ["integer", "bigint"] },
  integer: { build: (name) => pg.integer(name), value: 7, next: ["bigint", "text", "numeric"] },
  bigint: { build: (name) => pg.bigint(name, { mode: "bigint" }), value: 9n, next: ["integer"] },
  numeric: { build: (name) => pg.numeric(name, { precision: 9, scale: 2 }), value: "1.50" },
  real: { build: (name) => pg.real(name), value: 1.5, next: ["double"] },
  double: { build: (name) => pg.doublePrecision(name), value: 2.25 },
  boolean: { build: (name) => pg.boolean(name), value: false },
  uuid: { build: (name) => pg.uuid(name), value: sql`gen_random_uuid()`, next: ["text"] },
  date: { build: (name) => pg.date(name), value: sql`current_date`, next: ["timestamp"] },
  time: { build: (name) => pg.time(name), value: "10:00:00" },
  timestamp: { build: (name) => pg.timestamp(name), value: sql`now()`, next: ["timestamptz"] },
  timestamptz: {
    build: (name) => pg.timestamp(name, { withTimezone: true, precision: 3 }),
    value: sql`now()`,
  },
  interval: { build: (name) => pg.interval(name), value: "1 day" },
  json: { build: (name) => pg.json(name), value: { a: 1 }, next: ["jsonb"] },
  jsonb: { build: (name) => pg.jsonb(name), value: { a: ["it's"] }, next: ["json"] },
  mood: { build: (name, mood) => mood(name), value: "calm", next: ["text"] },
  texts: { build: (name) => pg.text(name).array(), value: ["a", "b c"] },
  moods: { build: (name, mood) => mood(name).array() },
  inet: { build: (name) => pg.inet(name) },
  serial: { build: (name) => pg.serial(name) },
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

/** Creates a schema. */
export function createSchema(random: Random): SchemaModel {
  const names = ["notes", "Tags", "users"].slice(0, 1 + random.below(3));
  const empty: SchemaModel = { moods: ["calm", "glad"], tables: [] };
  return names.reduce((schema, name) => addTable(random, schema, name), empty);
}

function addTable(random: Random, schema: SchemaModel, name: string): SchemaModel {
  const columns = Array.from({ length: 1 + random.below(6) }, (_, i) => column(random, `c${i}`));
  const target = random.chance(0.5)
    ? random.pick<TableModel | undefined>(schema.tables)?.name
    : undefined;
  const indexed = columns.filter(({ type }) => INDEXABLE.has(type)).map((each) => each.name);
  const table: TableModel = {
    name,
    schema: random.chance(0.2) ? "app" : undefined,
    columns,
    indexes: indexed.filter(() => random.chance(0.4)),
    check: random.chance(0.4) ? (1 + random.below(3)) : undefined,
    references: target,
    onDelete: random.pick(["cascade", "set null", undefined] as const),
    compositeUnique: random.chance(0.3),
  };
  return { ...schema, tables: [...schema.tables, table] };
}

function column(random: Random, name: string): ColumnModel {
  const type = random.pick(TYPE_NAMES);
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
  const moods = random.chance(0.3) ? ["shy", ...schema.moods, "wild"] : schema.moods;
  const tables = schema.tables.map((table) => changeTable(random, table));
  const changed = { moods, tables };
  return random.chance(0.3) ? addTable(random, changed, "extra") : changed;
}

function changeTable(random: Random, table: TableModel): TableModel {
  const columns = table.columns.filter(() => !random.chance(0.15)).map((each) =>
    changeColumn(random, each)
  );
  if (random.chance(0.4)) columns.push(column(random, "added"));
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

function changeColumn(random: Random, old: ColumnModel): ColumnModel {
  const type = random.chance(0.3) ? random.pick(TYPES[old.type].next ?? [old.type]) : old.type;
  return {
    ...old,
    type,
    isRequired: random.chance(0.2) ? !old.isRequired : old.isRequired,
    hasDefault: random.chance(0.2) ? !old.hasDefault : old.hasDefault,
    isUnique: INDEXABLE.has(type) && (random.chance(0.1) || old.isUnique),
  };
}

/** Builds the objects of drizzle, as the modules of a project export them. */
export function buildSchema({ moods, tables }: SchemaModel): Record<string, unknown> {
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
  return { mood, app, ...Object.fromEntries(built) };
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
      index % 2 === 0
        ? pg.index(`${table.name}_${name}_idx`).on(own[name].desc())
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
