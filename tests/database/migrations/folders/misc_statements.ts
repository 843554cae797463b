import { type Draft, id, type Maker, type Model, type ModelTable, newName, path } from "./model.ts";
import { castLiteral, getLiteral, isKeyable, writeType } from "./values.ts";

/** A table with one of its columns, as written. */
interface Target {
  readonly table: ModelTable;
  /** The table, at times with its schema. */
  readonly at: string;
  readonly column: ModelTable["columns"][number];
  readonly col: string;
}

function target(model: Model): Target | undefined {
  if (model.tables.length === 0) return undefined;
  const table = model.random.pick(model.tables);
  const column = model.random.pick(table.columns);
  return { table, at: path(model, table.name), column, col: id(model, column.name) };
}

/** Statements about a table that only have to be taken: nothing of the model depends on them. */
const ON_TABLE: readonly ((model: Model, target: Target) => string | undefined)[] = [
  (model, { at }) => `GRANT SELECT ON ${at} TO ${model.random.pick(["public", "CURRENT_USER"])}`,
  (_model, { at }) => `REVOKE ALL ON TABLE ${at} FROM public`,
  (_model, { at }) => `ALTER TABLE ${at} SET (fillfactor = 70)`,
  (_model, { at, col }) => `ALTER TABLE ${at} ALTER COLUMN ${col} SET STATISTICS 200`,
  (_model, { at, col }) => `ALTER TABLE ${at} ALTER COLUMN ${col} SET STORAGE PLAIN`,
  (_model, { at }) => `ALTER TABLE ${at} OWNER TO CURRENT_USER`,
  (_model, { at }) => `ALTER TABLE ${at} REPLICA IDENTITY FULL`,
  (_model, { at }) => `ANALYZE ${at}`,
  (_model, { at }) => `LOCK TABLE ${at} IN SHARE MODE`,
  (model, { at, table }) =>
    table.columns.length < 2
      ? undefined
      : `CREATE STATISTICS ${id(model, newName(model, "st_"))} ON ${
        table.columns.slice(0, 2).map((one) => id(model, one.name)).join(", ")
      } FROM ${at}`,
  (model, { at, col, column }) =>
    isKeyable(column.type)
      ? `ALTER TABLE ${at} ADD CONSTRAINT ${
        id(model, newName(model, "df_"))
      } UNIQUE (${col}) DEFERRABLE INITIALLY DEFERRED`
      : undefined,
  (model, { at, col, column }) =>
    `ALTER TABLE ${at} ADD CONSTRAINT ${
      id(model, newName(model, "any_"))
    } CHECK (${col} = ANY (ARRAY[${getLiteral(model, column.type, 1)}, ${
      getLiteral(model, column.type, 2)
    }]) OR ${col} IS NOT NULL OR ${col} IS NULL)`,
  (model, { at, col, column }) =>
    `ALTER TABLE ${at} ADD CONSTRAINT ${id(model, newName(model, "nv_"))} CHECK (${col} <> ${
      getLiteral(model, column.type, 77)
    }) NOT VALID`,
  (model, { at, col }) =>
    `SELECT ${col}, array_agg(1) FROM ${at} GROUP BY ${col} HAVING count(*) > ${
      model.random.below(3)
    }`,
  (_model, { at, col }) => `SELECT ${col} FROM ${at} FOR UPDATE`,
  (_model, { at, col }) => `SELECT unnest(ARRAY[${col}]) FROM ${at}`,
  (_model, { at, col }) => `SELECT ${col}::text::inet FROM ${at} WHERE false`,
  (_model, { at }) =>
    `WITH gone AS (DELETE FROM ${at} WHERE false RETURNING *) SELECT count(*) FROM gone`,
  (model, { at, col }) =>
    `CREATE INDEX ${id(model, newName(model, "ix_"))} ON ${at} (${col} DESC, ${col})`,
  (model, { at, col, column }) =>
    column.type === "text"
      ? `CREATE INDEX ${
        id(model, newName(model, "ix_"))
      } ON ${at} (${col} text_pattern_ops) WITH (fillfactor = 80)`
      : undefined,
  (model, { at, col }) =>
    `CREATE INDEX ${id(model, newName(model, "ix_"))} ON ${at} USING brin (${col})`,
  (_model, { at, col }) => `CREATE INDEX ON ${at} (${col})`,
  (model, { at, col, column }) =>
    ["timestamptz", "date"].includes(column.type)
      ? `CREATE INDEX ${id(model, newName(model, "ix_"))} ON ${at} (extract(year FROM ${col}${
        column.type === "date" ? "" : " AT TIME ZONE 'UTC'"
      }))`
      : undefined,
];

const REFUSED_ON_TABLE: readonly ((model: Model, target: Target) => string | undefined)[] = [
  (_model, { at }) => `ALTER TABLE ${at} ENABLE ROW LEVEL SECURITY`,
  (model, { at }) =>
    `CREATE RULE ${id(model, newName(model, "rule_"))} AS ON DELETE TO ${at} DO ALSO NOTHING`,
  (model, { at }) => `CREATE POLICY ${id(model, newName(model, "po_"))} ON ${at} USING (true)`,
  (model, { at, col }) =>
    `ALTER TABLE ${at} ADD CONSTRAINT ${
      id(model, newName(model, "ex_"))
    } EXCLUDE USING btree (${col} WITH =)`,
  (_model, { at, col }) => `SELECT ${col} FROM ${at} FOR SHARE`,
];

/** Statements of their own. */
const ALONE: readonly ((model: Model) => string | undefined)[] = [
  () => "CREATE EXTENSION IF NOT EXISTS plpgsql",
  () => "SET statement_timeout = '60s'",
  () => "SET client_min_messages TO warning",
  () => "SELECT pg_catalog.set_config('statement_timeout', '0', false)",
  () => "SELECT 1 AS one; SELECT 'a;b' AS two",
  () => "VACUUM",
  () => "COMMENT ON SCHEMA public IS 'the application'",
  () => "SELECT '{1,2}'::int[], 'x'::text, CAST('2026-01-01' AS date), int4range(1, 5)",
  () => "SELECT string_agg(n::text, ',') FROM generate_series(1, 3) AS n",
  (model) =>
    `CREATE TABLE ${id(model, newName(model, "un_"))} (id int PRIMARY KEY) WITH (fillfactor = 70)`,
  (model) => `CREATE UNLOGGED TABLE ${id(model, newName(model, "un_"))} (id int PRIMARY KEY)`,
  (model) =>
    `CREATE TABLE ${
      id(model, newName(model, "co_"))
    } (id int PRIMARY KEY, t text COLLATE "C", u text COLLATE "und-x-icu")`,
  (model) =>
    model.tables.length === 0
      ? undefined
      : `CREATE TABLE ${id(model, newName(model, "li_"))} (LIKE ${
        path(model, model.random.pick(model.tables).name)
      } INCLUDING DEFAULTS)`,
  (model) =>
    model.functions.length === 0
      ? undefined
      : `SELECT ${path(model, model.random.pick(model.functions))}(3)`,
  (model) =>
    `CREATE TABLE ${
      id(model, newName(model, "gen_"))
    } (id int PRIMARY KEY, b int GENERATED ALWAYS AS (id * 2) STORED)`,
];

const REFUSED_ALONE: readonly ((model: Model) => string | undefined)[] = [
  () => "SELECT to_tsvector('english', 'some words')",
  () => "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO public",
  () => "DO $$ BEGIN PERFORM 1; END $$",
  (model) => `CREATE TABLE ${id(model, newName(model, "pa_"))} (id int) PARTITION BY RANGE (id)`,
  (model) => `CREATE TABLE ${id(model, newName(model, "as_"))} AS SELECT 1 AS one`,
  (model) => `CREATE TEMP TABLE ${id(model, newName(model, "te_"))} (id int)`,
  (model) => `CREATE TABLE ${id(model, newName(model, "big_"))} (id int, a varchar(70000))`,
];

/** One of the statements that can run, or, now and then, one that the distributed engine cannot run. */
function pick<T>({ random }: Model, taken: readonly T[], refused: readonly T[]): T {
  return random.pick(random.chance(0.1) ? refused : taken);
}

const onTable: Maker = (model) => {
  const found = target(model);
  const sql = found && pick(model, ON_TABLE, REFUSED_ON_TABLE)(model, found);
  return sql === undefined ? undefined : { sql };
};

const alone: Maker = (model) => {
  const sql = pick(model, ALONE, REFUSED_ALONE)(model);
  return sql === undefined ? undefined : { sql };
};

/** Renames of views, indexes and sequences. */
const rename: Maker = (model): Draft | undefined => {
  const { random } = model;
  const name = newName(model, "re_");
  const kinds = ["VIEW", "INDEX", "SEQUENCE"] as const;
  const kind = random.pick(kinds);
  if (kind === "SEQUENCE") {
    if (model.sequences.length === 0) return undefined;
    const at = random.below(model.sequences.length);
    return {
      sql: `ALTER SEQUENCE ${path(model, model.sequences[at])} RENAME TO ${id(model, name)}`,
      apply: () => void (model.sequences[at] = name),
    };
  }
  const list = kind === "VIEW" ? model.views : model.indexes;
  if (list.length === 0) return undefined;
  const found = random.pick(list);
  const head = random.chance(0.3) ? "ALTER TABLE" : `ALTER ${kind}`;
  return {
    sql: `${head} ${path(model, found.name)} RENAME TO ${id(model, name)}`,
    apply: () => void (found.name = name),
  };
};

/** A view of a view, and a view of two tables. */
const viewOfViews: Maker = (model) => {
  const { random, views, tables } = model;
  const name = newName(model, "view_");
  if (views.length > 0 && random.chance(0.5)) {
    const view = random.pick(views);
    return {
      sql: `CREATE VIEW ${path(model, name)} AS SELECT * FROM ${path(model, view.name)}`,
      apply: () => void views.push({ name, table: view.table }),
    };
  }
  if (tables.length < 2) return undefined;
  const [a, b] = [random.pick(tables), random.pick(tables)];
  const list = [a, b].map((table, at) =>
    `t${at}.${id(model, random.pick(table.columns).name)} AS c${at}`
  ).join(", ");
  return {
    sql: `CREATE VIEW ${path(model, name)} AS SELECT ${list} FROM ${
      path(model, a.name)
    } AS t0 CROSS JOIN ${path(model, b.name)} AS t1`,
    apply: () => void views.push({ name, table: a.name }),
  };
};

/** A check or a default that names a type or a function of the folder. */
const useOwn: Maker = (model) => {
  const found = target(model);
  if (found === undefined) return undefined;
  const { random, functions } = model;
  const { at, col, column } = found;
  const cast = castLiteral(model, column.type, 3);
  if (functions.length > 0 && ["int", "integer"].includes(column.type)) {
    return {
      sql: `ALTER TABLE ${at} ALTER COLUMN ${col} SET DEFAULT ${
        path(model, random.pick(functions))
      }(4)`,
    };
  }
  return {
    sql: random.chance(0.5)
      ? `ALTER TABLE ${at} ADD CONSTRAINT ${
        id(model, newName(model, "ck_"))
      } CHECK (${col} IS NULL OR ${col} = ${col} OR ${col} = CAST(${
        getLiteral(model, column.type, 2)
      } AS ${writeType(model, column.type)}))`
      : `ALTER TABLE ${at} ALTER COLUMN ${col} SET DEFAULT (${cast})`,
  };
};

/** Statements of other kinds, as often as they are listed. */
export const MISC: readonly Maker[] = [
  onTable,
  onTable,
  alone,
  rename,
  rename,
  viewOfViews,
  useOwn,
  useOwn,
];
