import { Column, is, SQL, Subquery } from "drizzle-orm";
import { PgArray, PgJson, PgJsonb } from "drizzle-orm/pg-core";
import { parseArray } from "./array_literal.ts";

/** What drizzle selects: a column, an expression, or an expression with a name. */
export type SelectedField = Column | SQL | SQL.Aliased | Subquery;

interface Decoder {
  mapFromDriverValue(value: unknown): unknown;
}

/** What drizzle's types of an array column leave out. */
interface ArrayColumn {
  baseColumn: Column;
}

const decoders: WeakMap<object, Decoder> = new WeakMap();

/**
 * Gives a selected field a decoder that takes JSON as it was parsed and keeps NULLs in arrays. drizzle 0.45.4 parses every
 * text that comes from a json column, so that the JSON string `"null"` became null, and reads the NULL of a text array as
 * the text `NULL`, of an int8 array as 0.
 *
 * @param field The field.
 * @returns The field itself, or one that differs from it in its decoder only.
 */
export function withSafeDecoder<T extends SelectedField>(field: T): T {
  if (is(field, Column)) return safeDecoder(field) as T & Column;
  if (is(field, SQL)) return withDecoder(field) as T & SQL;
  if (is(field, Subquery)) return field;
  const named = field as SQL.Aliased;
  const sql = withDecoder(named.sql);
  return (sql === named.sql ? named : derive(named, { sql })) as T & SQL.Aliased;
}

/** Whether a field's values are decoded by a json column. */
export function isJsonField(field: SelectedField): boolean {
  const decoder = is(field, Column) ? field : is(field, SQL) ? decoderOf(field) : sqlDecoderOf(field);
  return is(decoder, PgJson) || is(decoder, PgJsonb);
}

function sqlDecoderOf(field: SQL.Aliased | Subquery): unknown {
  return decoderOf(is(field, Subquery) ? field._.sql : field.sql);
}

function decoderOf(sql: SQL): unknown {
  return (sql as unknown as { decoder: unknown }).decoder;
}

function withDecoder(sql: SQL): SQL {
  const decoder = decoderOf(sql);
  if (!is(decoder, Column)) return sql;
  const safe = safeDecoder(decoder);
  return safe === decoder ? sql : derive(sql, { decoder: safe });
}

function safeDecoder(column: Column): Column {
  if (is(column, PgJson) || is(column, PgJsonb)) return deriveColumn(column, asParsed);
  if (is(column, PgArray)) return deriveColumn(column, (value) => decodeArray(column as unknown as ArrayColumn, value));
  return column;
}

function deriveColumn(column: Column, mapFromDriverValue: (value: unknown) => unknown): Column {
  let derived = decoders.get(column);
  if (derived === undefined) decoders.set(column, derived = derive(column, { mapFromDriverValue }));
  return derived as unknown as Column;
}

/** An object that has its own value for some properties, and everything else, its class too, from another. */
function derive<T extends object>(base: T, properties: Record<string, unknown>): T {
  return Object.create(
    base,
    Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, { value, enumerable: true }])),
  );
}

function asParsed(value: unknown): unknown {
  return value;
}

/** An array of a type that the application made comes as a text. */
function decodeArray({ baseColumn }: ArrayColumn, value: unknown): unknown {
  const items = typeof value === "string" ? parseArray(value, (item) => item) : value;
  if (!Array.isArray(items)) return items;
  const base = safeDecoder(baseColumn) as Decoder;
  return items.map((item) => item === null ? null : base.mapFromDriverValue(item));
}
