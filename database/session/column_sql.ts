/**
 * Statements with tables and columns of drizzle, without drizzle: names, encoders and decoders are
 * read from the table.
 */
import type { Column } from "drizzle-orm";
import { type Cell, mapRow, type RowMapping } from "./row_mapper.ts";
import { isJsonField, withSafeDecoder } from "./column_decoder.ts";
import { findSession } from "./statement_session.ts";
import { type CodedColumn, decodeColumn } from "./column_codec.ts";
import { getColumns, getTableNames } from "./drizzle_table.ts";
import { toRows } from "./execute.ts";
import { bindSql, joinSql, PlainSql, rawSql, sql, type SqlValue } from "./plain_sql.ts";
import type { Row } from "../../sql/session.ts";
import { prepareSql, type SqlClient, toDrizzle } from "./run_sql.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";

/** The members of drizzle's columns that statements use. */
export interface SqlColumn extends CodedColumn {
  /** Name in the database. */
  readonly name: string;
  readonly table: object;
  /** drizzle's type of its values. */
  readonly dataType: string;
  /** drizzle's class, such as `PgTimestamp`. */
  readonly columnType: string;
  /** The function of `$onUpdate`. */
  readonly onUpdateFn?: (() => unknown) | undefined;
  /** Returns the type in the database. */
  getSQLType(): string;
}

/** Columns by the properties of a row, in objects for nested properties. */
export interface Fields {
  readonly [property: string]: SqlColumn | Fields;
}

/** Returns the columns of a table by property. */
export function listColumns(table: object): Readonly<Record<string, SqlColumn>> {
  return getColumns(table) as Readonly<Record<string, SqlColumn>>;
}

/** Returns a table's name with its schema. */
export function tableSql(table: object): PlainSql {
  const { schema, name } = getTableNames(table);
  return rawSql(qualify(schema, name));
}

/**
 * Returns a column's name with that of its table.
 *
 * @param db The client.
 * @param column The column.
 */
export function columnSql(db: object, column: SqlColumn): PlainSql {
  return sql`${tableSql(column.table)}.${columnNameSql(db, column)}`;
}

/** Returns a column's name, which a client of drizzle with `casing` derives. */
export function columnNameSql(db: object, column: Pick<SqlColumn, "name">): PlainSql {
  if (findSession(db) !== undefined) return rawSql(quoteName(column.name));
  const { dialect } = db as {
    dialect?: { casing?: { getColumnCasing(column: unknown): string } };
  };
  return rawSql(quoteName(dialect?.casing?.getColumnCasing(column) ?? column.name));
}

const TEXT = /^(?:text|varchar|char|character)\b/;

/** Types of ids, the texts that can be cast to them, and the type of the cast. */
const CASTS = [
  [/^uuid$/, "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", "uuid"],
  [/int|serial/, "^[0-9]{1,18}$", "bigint"],
] as const;

/**
 * Compares ids whose types may differ, such as `uuid` and `text`. The left side is not cast, so that its
 * index is used. A text that is no id of the left type is not equal to any.
 */
export function equalsSql(db: object, left: SqlColumn, right: SqlColumn): PlainSql {
  const [id, other] = [columnSql(db, left), columnSql(db, right)];
  const [type, otherType] = [left.getSQLType(), right.getSQLType()];
  if (type === otherType || (TEXT.test(type) && TEXT.test(otherType))) return sql`${id} = ${other}`;
  const cast = TEXT.test(otherType) ? CASTS.find(([types]) => types.test(type)) : undefined;
  if (cast === undefined) return sql`${id} = ${other}::${rawSql(type)}`;
  const [, pattern, castType] = cast;
  return sql`${id} = case when ${other} ~ '${rawSql(pattern)}' then ${other}::${
    rawSql(castType)
  } end`;
}

/** The columns that a statement returns. */
export class ReturnedColumns {
  /** The list for `select` or `returning`. Column names are unique. */
  readonly list: PlainSql;
  readonly #mapping: RowMapping;
  readonly #cells: readonly Cell[];

  /**
   * @param db The client.
   * @param fields The columns by the properties of a row.
   */
  constructor(db: object, fields: Fields) {
    const columns = listFields(fields);
    this.list = joinSql(
      columns.map(([, column], at) => sql`${columnSql(db, column)} as ${rawSql(`"c${at}"`)}`),
      ", ",
    );
    this.#cells = columns.map(([path, column]) => toCell(path, column));
    this.#mapping = {
      kind: "fields",
      cells: columns.map(([path, column]) =>
        toCell(path, withSafeDecoder(column as SqlColumn & Column))
      ),
    };
  }

  /**
   * Runs a statement with {@link list}.
   *
   * @param db The client, or a client of its transactions.
   * @param statement The statement.
   * @param name Name for a statement that is always prepared.
   * @returns The rows as drizzle decodes them.
   */
  async run<T>(db: SqlClient, statement: PlainSql, name?: string): Promise<T[]> {
    const prepared = prepareSql(db, statement, name, this.#mapping);
    if (prepared !== undefined) return await prepared.execute() as T[];
    const rows = toRows(await db.execute(toDrizzle(statement)));
    return rows.map((row) => this.#map(row) as T);
  }

  #map(row: Row): object {
    return mapRow(this.#cells, this.#cells.map((_, at) => row[`c${at}`]), undefined);
  }
}

function listFields(
  fields: Fields,
  within: readonly string[] = [],
): (readonly [path: readonly string[], column: SqlColumn])[] {
  return Object.entries(fields).flatMap(([property, field]) => {
    const path = [...within, property];
    return typeof field.mapFromDriverValue === "function"
      ? [[path, field as SqlColumn] as const]
      : listFields(field as Fields, path);
  });
}

function toCell(path: readonly string[], column: SqlColumn): Cell {
  return {
    path,
    decode: (value) => decodeColumn(column, value),
    isJson: isJsonField(column as SqlColumn & Column),
  };
}

/** The parts of an update. */
export interface SqlUpdate {
  readonly table: object;
  /** New values by property: SQL, or a value for the column. */
  readonly changes: Readonly<Record<string, unknown>>;
  /** Conditions that must all hold. */
  readonly where: readonly PlainSql[];
  /** The list of {@link ReturnedColumns}. */
  readonly returning: PlainSql;
}

/** Returns an update, which also sets the columns with `$onUpdate`, as drizzle does. */
export function updateSql(db: object, { table, changes, where, returning }: SqlUpdate): PlainSql {
  const set = Object.entries(listColumns(table)).flatMap(([property, column]) => {
    const isChanged = Object.hasOwn(changes, property);
    if (!isChanged && column.onUpdateFn === undefined) return [];
    const value = isChanged ? changes[property] : column.onUpdateFn!();
    return [sql`${columnNameSql(db, column)} = ${toSql(value, column)}`];
  });
  return sql`update ${tableSql(table)} set ${joinSql(set, ", ")} where (${
    joinSql(where, " and ")
  }) returning ${returning}`;
}

/**
 * Returns a value as a part of a statement: SQL unchanged, any other value as a parameter.
 *
 * @param value SQL of this package or of drizzle, or a value.
 * @param column The column that encodes the value.
 */
export function toSql(value: unknown, column?: SqlColumn): PlainSql {
  if (value instanceof PlainSql) return value;
  if (isDrizzleSql(value)) return fromDrizzle(value);
  return column === undefined ? sql`${value as SqlValue}` : bindSql(value, column);
}

interface DrizzleSql {
  toQuery(config: object): { sql: string; params: unknown[] };
}

function isDrizzleSql(value: unknown): value is DrizzleSql {
  return typeof (value as Partial<DrizzleSql> | null)?.toQuery === "function";
}

/** Converts SQL of drizzle that a function of the application returned. */
function fromDrizzle(value: DrizzleSql): PlainSql {
  const placeholder = "\0";
  const { sql: text, params } = value.toQuery({
    casing: { getColumnCasing: ({ name }: SqlColumn) => name },
    escapeName: quoteName,
    escapeParam: () => placeholder,
    escapeString: quoteLiteral,
  });
  return new PlainSql(text.split(placeholder), params as SqlValue[]);
}
