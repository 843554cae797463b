import type { Query } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import { type SelectedField, withSafeDecoder } from "./column_decoder.ts";

type BuildRelationalQuery = PgDialect["buildRelationalQueryWithoutPK"];
type RelationalQuery = ReturnType<BuildRelationalQuery>;

/** Writes SQL as drizzle does, and gives the columns of relational queries safe decoders. */
export class Dialect extends PgDialect {
  #lastFields: readonly SelectedField[] = [];

  override buildRelationalQueryWithoutPK(config: Parameters<BuildRelationalQuery>[0]): RelationalQuery {
    const query = super.buildRelationalQueryWithoutPK(config);
    const selection = query.selection.map((item) =>
      item.isJson ? item : { ...item, field: withSafeDecoder(item.field as SelectedField) as typeof item.field }
    );
    this.#lastFields = selection.map(({ field }) => field as SelectedField);
    return { ...query, selection };
  }

  /**
   * Tells which parameters of a query the text casts to their column's type.
   *
   * @param _query A query of this dialect, placeholders among its parameters.
   * @returns One answer for each parameter, or `undefined` when none is cast.
   */
  castsOf(_query: Query): readonly boolean[] | undefined {
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
