import { type Column, is, type SQL, sql } from "drizzle-orm";
import { PgArray, type PgDialect } from "drizzle-orm/pg-core";

/** What drizzle builds a relational query from. */
export type RelationalConfig = Parameters<PgDialect["buildRelationalQueryWithoutPK"]>[0];

type QueryConfig = Exclude<RelationalConfig["queryConfig"], true>;
type Extras = Record<string, SQL.Aliased>;

/** Columns whose values have more digits than a number of JavaScript. */
const EXACT = /^(?:PgBigInt|PgBigSerial|PgNumeric)/;

/**
 * Has the rows of a relation give their bigint and numeric columns as texts. drizzle 0.45.4 makes JSON of such rows, and a
 * JSON number is read as a float, which loses digits.
 *
 * @param config The query for the rows of a relation.
 * @returns A query that selects the same fields, and the columns that decode those that it casts.
 */
export function castExactColumns(
  config: RelationalConfig,
): { config: RelationalConfig; cast: Map<string, Column> } {
  const { tableConfig: { columns } } = config;
  const queryConfig: QueryConfig = config.queryConfig === true ? {} : config.queryConfig;
  const selected = selectColumns(Object.keys(columns), queryConfig.columns);
  const exact = selected.filter((key) => getCast(columns[key]) !== undefined);
  if (exact.length === 0) return { config, cast: new Map() };
  const casts = Object.fromEntries(
    exact.map((key) => [key, sql`${columns[key]}::${sql.raw(getCast(columns[key])!)}`.as(key)]),
  );
  const rest = selected.filter((key) => !exact.includes(key));
  return {
    config: {
      ...config,
      queryConfig: {
        ...queryConfig,
        columns: Object.fromEntries(rest.map((key) => [key, true])),
        extras: withCasts(queryConfig.extras, casts),
      } as QueryConfig,
    },
    cast: new Map(exact.map((key) => [key, columns[key]])),
  };
}

/** As drizzle does: columns that are named with true, else all but those that are named with false. */
function selectColumns(
  all: string[],
  named: Record<string, boolean | undefined> | undefined,
): string[] {
  const given = Object.entries(named ?? {}).filter(([key, value]) =>
    value !== undefined && all.includes(key)
  );
  if (given.length === 0) return named === undefined ? all : [];
  const isInclusive = given.some(([, value]) => value === true);
  return isInclusive
    ? given.filter(([, value]) => value === true).map(([key]) => key)
    : all.filter((key) => !given.some(([name]) => name === key));
}

function withCasts(extras: QueryConfig["extras"], casts: Extras): QueryConfig["extras"] {
  if (typeof extras !== "function") return { ...extras, ...casts };
  return (fields, operators) => ({ ...extras(fields, operators), ...casts });
}

function getCast(column: Column): string | undefined {
  if (EXACT.test(column.columnType)) return "text";
  return is(column, PgArray) && isExactArray(column) ? "text[]" : undefined;
}

function isExactArray(column: Column): boolean {
  const { baseColumn } = column as unknown as { baseColumn: Column };
  return EXACT.test(baseColumn.columnType) || (is(baseColumn, PgArray) && isExactArray(baseColumn));
}
