import { CellReaders } from "./decode_rows.ts";
/** Tables of a query by name: true if the join may not leave their columns empty. */
export type NotNullable = Record<string, boolean> | undefined;

type Decode = (value: unknown) => unknown;

/** Place and decoder of a column's values. */
export interface Cell {
  /** Property of the row's object, nested for joins. */
  readonly path: readonly string[];
  /** Decodes a value that is not null. `undefined` if the value is kept. */
  readonly decode?: Decode | undefined;
  /** Table of a column that is selected as `table.column`. */
  readonly table?: string | undefined;
  /** True if the value is parsed as JSON also where the server sends a text. */
  readonly isJson?: boolean | undefined;
}

/**
 * Mapping of a statement's rows to the objects that drizzle returns. drizzle looks up the class of
 * each field for each row, which takes longer than decoding it; here that is done once.
 */
export class RowMapper {
  readonly #cells: readonly Cell[];
  readonly #isFlat: boolean;

  /** @param cells The cells in the order of the columns. */
  constructor(cells: readonly Cell[]) {
    this.#cells = cells;
    this.#isFlat = this.#cells.every(({ path }) => path.length === 1);
  }

  /**
   * Maps a row.
   *
   * @param row The values in the order of the columns.
   * @param notNullable Which tables a join may not leave empty, if the query has joins.
   * @returns The object: nested by table for joins, with null for a table without a row.
   */
  map(row: readonly unknown[], notNullable: NotNullable): Record<string, unknown> {
    return this.#isFlat ? this.#mapFlat(row) : this.#mapNested(row, notNullable);
  }

  #mapFlat(row: readonly unknown[]): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    const cells = this.#cells;
    for (let at = 0; at < cells.length; at++) {
      const { path, decode } = cells[at];
      const value = row[at];
      result[path[0]] = value === null || decode === undefined ? value : decode(value);
    }
    return result;
  }

  #mapNested(row: readonly unknown[], notNullable: NotNullable): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    const emptyTables = new Map<string, string | false>();
    for (const [at, { path, decode, table }] of this.#cells.entries()) {
      const raw = row[at];
      const value = raw === null || decode === undefined ? raw : decode(raw);
      setPath(result, path, value);
      if (notNullable === undefined || table === undefined) continue;
      const known = emptyTables.get(path[0]);
      if (known === undefined) emptyTables.set(path[0], value === null ? table : false);
      else if (known !== table) emptyTables.set(path[0], false);
    }
    for (const [name, table] of emptyTables) {
      if (table !== false && !notNullable![table]) result[name] = null;
    }
    return result;
  }
}

function setPath(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let node = target;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(node, name)) node[name] = {};
    node = node[name] as Record<string, unknown>;
  }
  node[path[path.length - 1]] = value;
}

/** Mapping of a statement's rows. */
export type RowMapping =
  | { kind: "raw" }
  | { kind: "fields"; cells: CellReaders; rows: RowMapper }
  | { kind: "relational"; cells: CellReaders; mapRows: (rows: unknown[][]) => unknown };

/**
 * Creates the mapping of rows to cells.
 *
 * @param cells The cells in the order of the columns.
 * @returns The mapping.
 */
export function mapToCells(cells: readonly Cell[]): RowMapping {
  const readers = new CellReaders(cells.map(({ isJson }) => isJson));
  return { kind: "fields", cells: readers, rows: new RowMapper(cells) };
}
