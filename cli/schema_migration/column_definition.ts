import { is, SQL } from "drizzle-orm";
import { type PgColumn, PgDialect, type PgSequenceOptions } from "drizzle-orm/pg-core";
import { encodeColumn } from "../../database/session/column_codec.ts";
import { getSqlType } from "../../database/session/drizzle_table.ts";
import { toParameterText } from "../../database/session/parameter_text.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import { findEnum } from "./declared_objects.ts";

const dialect = new PgDialect();

/** Renders an expression of drizzle, with its values as literals. */
export function renderSql(expression: SQL): string {
  return dialect.sqlToQuery(expression.inlineParams()).sql;
}

/** Renders an expression of an index, in which columns have no table. */
export function renderIndexSql(expression: SQL): string {
  return dialect.sqlToQuery(expression.inlineParams(), "indexes").sql;
}

/** Renders a column of a drizzle table: `"id" uuid PRIMARY KEY DEFAULT gen_random_uuid()`. */
export function renderColumn(column: PgColumn): string {
  const { name, primary, notNull, generated } = column;
  const parts = [
    quoteName(name),
    renderType(column),
    primary ? "PRIMARY KEY" : "",
    renderDefault(column),
    generated === undefined ? "" : `GENERATED ALWAYS AS (${renderGenerated(column)}) STORED`,
    renderIdentity(column),
    notNull && !primary ? "NOT NULL" : "",
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function renderType(column: PgColumn): string {
  const type = getSqlType(column);
  const { enumName, schema } = findEnum(column) ?? {};
  if (enumName === undefined) return type;
  // an array has brackets after the name
  return qualify(schema ?? undefined, enumName) + type.slice(enumName.length);
}

function renderDefault(column: PgColumn): string {
  const value: unknown = column.default;
  if (value === undefined || column.generated !== undefined) return "";
  return `DEFAULT ${renderValue(value, column)}`;
}

/** Renders an expression, or a value as the literal that drizzle would send. */
function renderValue(value: unknown, column: PgColumn): string {
  if (is(value, SQL)) return renderSql(value);
  const sent: unknown = encodeColumn(column, value);
  if (typeof sent === "number" || typeof sent === "bigint" || typeof sent === "boolean") {
    return String(sent);
  }
  return quoteLiteral(toParameterText(sent) ?? "null");
}

function renderGenerated(column: PgColumn): string {
  const { as } = column.generated!;
  const value: unknown = typeof as === "function" ? (as as () => unknown)() : as;
  return renderValue(value, column);
}

function renderIdentity({ generatedIdentity }: PgColumn): string {
  if (generatedIdentity === undefined) return "";
  const { type, sequenceOptions = {} } = generatedIdentity;
  const options = renderSequenceOptions(sequenceOptions);
  const kind = type === "always" ? "ALWAYS" : "BY DEFAULT";
  return `GENERATED ${kind} AS IDENTITY${options === "" ? "" : ` (${options})`}`;
}

/** Renders the options of a sequence or an identity column: `INCREMENT BY 1 MINVALUE 1`. */
export function renderSequenceOptions(
  { increment, minValue, maxValue, startWith, cache, cycle }: PgSequenceOptions,
): string {
  return [
    increment === undefined ? "" : `INCREMENT BY ${increment}`,
    minValue === undefined ? "" : `MINVALUE ${minValue}`,
    maxValue === undefined ? "" : `MAXVALUE ${maxValue}`,
    startWith === undefined ? "" : `START WITH ${startWith}`,
    cache === undefined ? "" : `CACHE ${cache}`,
    cycle === true ? "CYCLE" : "",
  ].filter((part) => part !== "").join(" ");
}
