import { type Column, type SQL, sql } from "drizzle-orm";
import type { PgDialect } from "drizzle-orm/pg-core";
import { isKind } from "./drizzle_table.ts";

/** Configuration from which drizzle builds a relational query. */
export type RelationalConfig = Parameters<PgDialect["buildRelationalQueryWithoutPK"]>[0];

type QueryConfig = Exclude<RelationalConfig["queryConfig"], true>;
type Extras = Record<string, SQL.Aliased>;

/** Columns whose values have more digits than a JavaScript number. */
const EXACT = /^(?:PgBigInt|PgBigSerial|PgNumeric)/;

/**
 * Casts bigint and numeric columns in the rows of a relation to text. drizzle 0.45.4 reads such
 * rows as JSON, where numbers become floats and lose digits.
 *
 * @param config The query for the rows of a relation.
 * @returns A query that selects the same fields, and the decoders of the cast columns.
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

/**
 * Selects columns as drizzle does: those named with true, else all except those named with false.
 */
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
  return isKind(column, "PgArray") && isExactArray(column) ? "text[]" : undefined;
}

function isExactArray(column: Column): boolean {
  const { baseColumn } = column as Column & { baseColumn: Column };
  return EXACT.test(baseColumn.columnType) ||
    (isKind(baseColumn, "PgArray") && isExactArray(baseColumn));
}
