import { id, type Maker, type Model, type ModelTable, path } from "./model.ts";
import { castLiteral, getLiteral } from "./values.ts";

function getRow(model: Model, table: ModelTable): { names: string[]; values: string[] } {
  const given = table.columns.filter(({ isComputed, needsValue, name }) =>
    !isComputed &&
    (needsValue || table.key.includes(name) && name !== "id" || model.random.chance(0.6))
  );
  const number = ++model.count;
  return {
    names: given.map(({ name }) => id(model, name)),
    values: given.map(({ type }) => castLiteral(model, type, number)),
  };
}

export const insert: Maker = (model) => {
  if (model.tables.length === 0) return undefined;
  const table = model.random.pick(model.tables);
  const { names, values } = getRow(model, table);
  if (names.length === 0) return { sql: `INSERT INTO ${path(model, table.name)} DEFAULT VALUES` };
  const tail = model.random.chance(0.15) ? " ON CONFLICT DO NOTHING" : "";
  return {
    sql: `INSERT INTO ${path(model, table.name)} (${names.join(", ")}) VALUES (${
      values.join(", ")
    })${tail}`,
  };
};

/** Rows of numbered values. */
export const insertMany: Maker = (model) => {
  const { random, tables } = model;
  const plain = tables.filter(({ columns, key }) =>
    columns.every(({ needsValue, type, name }) =>
      !needsValue || (key.includes(name) && ["int", "text"].includes(type))
    )
  );
  if (plain.length === 0) return undefined;
  const table = random.pick(plain);
  const given = table.columns.filter(({ needsValue }) => needsValue);
  if (given.length === 0) return undefined;
  const from = 1000 + 100 * ++model.count;
  return {
    sql: `INSERT INTO ${path(model, table.name)} (${
      given.map(({ name }) => id(model, name)).join(", ")
    }) SELECT ${
      given.map(({ type }) => type === "text" ? "'n' || n" : "n").join(", ")
    } FROM generate_series(${from}, ${from + 2 + random.below(20)}) AS n`,
  };
};

export const update: Maker = (model) => {
  const { random, tables } = model;
  if (tables.length === 0) return undefined;
  const table = random.pick(tables);
  const free = table.columns.filter(({ isComputed, name }) =>
    !isComputed && !table.key.includes(name)
  );
  if (free.length === 0) return undefined;
  const found = random.pick(free);
  const col = id(model, found.name);
  const other = id(model, random.pick(table.columns).name);
  const isNumber = ["int", "bigint", "integer", "numeric(12, 2)"].includes(found.type);
  const value = isNumber && random.chance(0.5)
    ? `${col} + 1`
    : castLiteral(model, found.type, random.below(20));
  const where = random.pick([
    "",
    ` WHERE ${other} IS NOT NULL`,
    ` WHERE ${col} IS NULL`,
    ` WHERE ${col} = ${getLiteral(model, found.type, 3)}`,
  ]);
  if (isNumber && random.chance(0.05)) {
    const target = path(model, table.name);
    return {
      sql: `UPDATE ${target} SET ${col} = ${col} * 2 / (SELECT 1 + count(*) FROM ${target})`,
    };
  }
  return { sql: `UPDATE ${path(model, table.name)} SET ${col} = ${value}${where}` };
};

export const remove: Maker = (model) => {
  const { random, tables } = model;
  if (tables.length === 0) return undefined;
  const table = random.pick(tables);
  const found = random.pick(table.columns);
  if (random.chance(0.1)) return { sql: `TRUNCATE ${path(model, table.name)}` };
  return {
    sql: `DELETE FROM ${path(model, table.name)} WHERE ${id(model, found.name)} ${
      random.chance(0.5) ? "IS NULL" : `= ${getLiteral(model, found.type, 2)}`
    }`,
  };
};

export const select: Maker = (model) => {
  if (model.views.length === 0) return undefined;
  return { sql: `SELECT count(*) FROM ${path(model, model.random.pick(model.views).name)}` };
};

/** Statements about rows, as often as they are listed. */
export const ROWS: readonly Maker[] = [
  insert,
  insert,
  insert,
  insertMany,
  insertMany,
  update,
  update,
  remove,
  select,
];
