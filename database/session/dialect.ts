import type { Query } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import type { PlainSql } from "../plain_sql.ts";
import type { WrittenStatement } from "./statement_session.ts";
import { type SelectedField, withSafeDecoder } from "./column_decoder.ts";
import { castExactColumns, type RelationalConfig } from "./exact_columns.ts";

type RelationalQuery = ReturnType<PgDialect["buildRelationalQueryWithoutPK"]>;

/**
 * Dialect of drizzle whose relational queries keep JSON strings, NULLs in arrays, and all digits.
 */
export class Dialect extends PgDialect {
  /** True if the texts of statements differ from those that drizzle writes for PostgreSQL. */
  readonly hasOwnText: boolean = false;
  #lastFields: readonly SelectedField[] = [];

  /** Writes a statement of this package. */
  write({ text, params }: PlainSql): WrittenStatement {
    return { text, params };
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
