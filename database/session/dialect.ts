import { is, Param, Placeholder, type Query, type SQL, sql } from "drizzle-orm";
import { PgDialect, type SelectedFieldsOrdered } from "drizzle-orm/pg-core";
import type { PlainSql } from "./plain_sql.ts";
import type { WrittenStatement } from "./driver.ts";
import { isColumn, isJsonField, type SelectedField, withSafeDecoder } from "./column_decoder.ts";
import { COLUMNS, getColumns } from "./drizzle_table.ts";
import { isDrizzleOne } from "./drizzle_version.ts";
import { createCodecs } from "./drizzle_codecs.ts";
import { castExactColumns, type RelationalConfig } from "./exact_columns.ts";
import {
  generateForInsert,
  generateForUpdate,
  isBuildingTemplate,
  whileWriting,
} from "./statement_template.ts";

type InsertConfig = Parameters<PgDialect["buildInsertQuery"]>[0];
type SelectConfig = Parameters<PgDialect["buildSelectQuery"]>[0];
type UpdateTable = Parameters<PgDialect["buildUpdateSet"]>[0];
type UpdateSet = Parameters<PgDialect["buildUpdateSet"]>[1];
type RelationalQuery = ReturnType<PgDialect["buildRelationalQueryWithoutPK"]>;

type RowMapper = (rows: unknown[][]) => unknown;

/** What drizzle 1.0 has and 0.45 has not. */
interface NewDialect {
  /** Functions that create the mapper of a query's rows. */
  readonly mapperGenerators: {
    rows(fields: SelectedFieldsOrdered, nullable: unknown): RowMapper;
    relationalRows(config: { selection: readonly { field: unknown }[] }): RowMapper;
  };
}

/**
 * Dialect of drizzle whose relational queries keep JSON strings, NULLs in arrays, and all digits.
 */
export class Dialect extends PgDialect {
  /** True if the texts of statements differ from those that drizzle writes for PostgreSQL. */
  readonly hasOwnText: boolean = false;
  #lastFields: readonly SelectedField[] = [];
  readonly #jsonFields: WeakMap<RowMapper, readonly boolean[]> = new WeakMap();

  /** @param codecs The codecs of drizzle 1.0. */
  constructor(codecs: object | undefined = createCodecs()) {
    super({ codecs } as object);
    if (isDrizzleOne) this.#noteJsonFields((this as unknown as NewDialect).mapperGenerators);
  }

  #noteJsonFields({ rows, relationalRows }: NewDialect["mapperGenerators"]): void {
    const note = (mapRows: RowMapper, isJson: readonly boolean[]) => {
      this.#jsonFields.set(mapRows, isJson);
      return mapRows;
    };
    const mapperGenerators: NewDialect["mapperGenerators"] = {
      rows: (fields, nullable) =>
        note(rows(fields, nullable), fields.map(({ field }) => isJsonField(field))),
      relationalRows: (config) =>
        note(
          relationalRows(config),
          config.selection.map(({ field }) => isColumn(field) && isJsonField(field)),
        ),
    };
    Object.assign(this, { mapperGenerators });
  }

  /**
   * Returns which fields of a query of drizzle 1.0 hold JSON.
   *
   * @param mapRows The mapper of the query's rows.
   */
  findJsonFields(mapRows: RowMapper): readonly boolean[] {
    return this.#jsonFields.get(mapRows) ?? [];
  }

  /** Writes a statement of this package. */
  write({ text, params }: PlainSql): WrittenStatement {
    return { text, params };
  }

  /** Writes the text of a statement. */
  override sqlToQuery(
    statement: SQL,
    invokeSource?: "indexes",
  ): ReturnType<PgDialect["sqlToQuery"]> {
    return whileWriting(Placeholder.prototype, () => super.sqlToQuery(statement, invokeSource));
  }

  /** Builds an INSERT. In a statement for many calls, the functions of columns run at each call. */
  override buildInsertQuery(config: InsertConfig): SQL {
    const { table, values } = config;
    if (!isBuildingTemplate() || !Array.isArray(values)) return super.buildInsertQuery(config);
    return super.buildInsertQuery({
      ...config,
      values: values.map((row) => ({ ...row, ...generateRow(table, row) })),
    });
  }

  /** Builds the assignments of an UPDATE. In a statement for many calls, as in an INSERT. */
  override buildUpdateSet(table: UpdateTable, set: UpdateSet): SQL {
    if (!isBuildingTemplate()) return super.buildUpdateSet(table, set);
    const filled: UpdateSet = {};
    const columns: Record<string, object> = {};
    for (const [key, column] of Object.entries(getColumns(table))) {
      const generated = set[key] === undefined ? generateForUpdate(column) : undefined;
      filled[key] = generated === undefined ? set[key] : new Param(generated, column);
      // drizzle would run the function of the column
      columns[key] = Object.create(column, { onUpdateFn: { value: undefined } });
    }
    return super.buildUpdateSet({ [COLUMNS]: columns } as never, filled);
  }

  /** Builds a SELECT. A statement for many calls is also built with nulls, which drizzle leaves out. */
  override buildSelectQuery(config: SelectConfig): SQL {
    return config.offset as unknown === null
      ? super.buildSelectQuery({ ...config, offset: sql`${null}` as never })
      : super.buildSelectQuery(config);
  }

  override buildRelationalQueryWithoutPK(given: RelationalConfig): RelationalQuery {
    const isNested = given.nestedQueryRelation !== undefined;
    const { config, cast } = isNested
      ? castExactColumns(given)
      : { config: given, cast: undefined };
    const query = super.buildRelationalQueryWithoutPK(config);
    const selection = query.selection.map((item) => {
      if (item.isJson) return item;
      const field = withSafeDecoder(cast?.get(item.tsKey) ?? item.field as SelectedField);
      return { ...item, field: field as typeof item.field };
    });
    this.#lastFields = selection.map(({ field }) => field as SelectedField);
    return { ...query, selection };
  }

  /**
   * Returns which parameters of a query the text casts to their column's type.
   *
   * @param _query A query of this dialect, including placeholders.
   * @returns One flag per parameter, or `undefined` if none is cast.
   */
  getCasts(_query: Query): readonly boolean[] | undefined {
    return undefined;
  }

  /**
   * Fields of the last relational query. drizzle prepares a relational query right after building
   * it, and passes a function that maps its rows, but not its fields.
   */
  get lastRelationalFields(): readonly SelectedField[] {
    return this.#lastFields;
  }
}

/** Returns the values that the functions of columns give to a row. */
function generateRow(table: object, row: Record<string, unknown>): Record<string, Param> {
  const generated: Record<string, Param> = {};
  for (const [key, column] of Object.entries(getColumns(table))) {
    const given = row[key];
    const isMissing = given === undefined || (is(given, Param) && given.value === undefined);
    const value = isMissing ? generateForInsert(column) : undefined;
    if (value === undefined) continue;
    // drizzle 1.0 binds the values of rows to their columns when it writes the text
    generated[key] = isDrizzleOne ? value as Param : new Param(value, column);
  }
  return generated;
}
