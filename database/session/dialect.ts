import type { Query } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { type SelectedField, withSafeDecoder } from "./column_decoder.ts";
import { castExactColumns, type RelationalConfig } from "./exact_columns.ts";

type RelationalQuery = ReturnType<PgDialect["buildRelationalQueryWithoutPK"]>;

/** Writes SQL as drizzle does, and has relational queries keep texts in JSON, NULLs in arrays, and all digits. */
export class Dialect extends PgDialect {
  #lastFields: readonly SelectedField[] = [];

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
   * Tells which parameters of a query the text casts to their column's type.
   *
   * @param _query A query of this dialect, placeholders among its parameters.
   * @returns One answer for each parameter, or `undefined` when none is cast.
   */
  getCasts(_query: Query): readonly boolean[] | undefined {
    return undefined;
  }

  /**
   * The fields of the relational query that was built last. drizzle prepares a relational query right after it has built
   * it, and hands over a function that maps its rows, but not its fields.
   */
  get lastRelationalFields(): readonly SelectedField[] {
    return this.#lastFields;
  }
}
