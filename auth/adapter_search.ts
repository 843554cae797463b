/** A row that better-auth's adapter returns. */
export type Row = Readonly<Record<string, unknown>>;

interface Condition {
  readonly field: string;
  readonly value: unknown;
}

/** A search of better-auth for one row. */
export interface Search {
  readonly model: string;
  readonly where: readonly Condition[];
  readonly join?: Readonly<Record<string, unknown>>;
}

/** The searches of better-auth's adapter. */
export interface SearchAdapter {
  findOne(search: Search): Promise<Row | null>;
  findMany(search: Omit<Search, "join">): Promise<Row[]>;
}

/**
 * Returns the value that a search is for, if it is for a row by one field, joined with the rows of one
 * other model.
 *
 * @param searched The names of the model, of its field, and of the other model.
 * @returns The value; `undefined` for other searches.
 */
export function getSearchedValue(
  { model, where, join = {} }: Search,
  searched: { readonly model: string; readonly field: string; readonly joined: string },
): string | undefined {
  const [condition] = where;
  const isSearch = model === searched.model && where.length === 1 &&
    condition.field === searched.field && join[searched.joined] === true &&
    Object.keys(join).length === 1;
  return isSearch && typeof condition.value === "string" ? condition.value : undefined;
}
