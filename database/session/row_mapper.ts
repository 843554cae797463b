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

/** Mapping of a statement's rows. */
export type RowMapping =
  | { kind: "raw" }
  | { kind: "fields"; cells: readonly Cell[] }
  | {
    kind: "relational";
    isJson: readonly boolean[];
    mapRows: (rows: unknown[][]) => unknown;
  };

/**
 * Maps a row to the object that drizzle returns.
 *
 * @param cells The cells in the order of the columns.
 * @param row The values in the order of the columns.
 * @param notNullable Which tables a join may not leave empty, if the query has joins.
 * @returns The object: nested by table for joins, with null for a table without a row.
 */
export function mapRow(
  cells: readonly Cell[],
  row: readonly unknown[],
  notNullable: NotNullable,
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  let emptyTables: Map<string, string | false> | undefined;
  for (let at = 0; at < cells.length; at++) {
    const { path, decode, table } = cells[at];
    const raw = row[at];
    const value = raw === null || decode === undefined ? raw : decode(raw);
    if (path.length === 1) result[path[0]] = value;
    else setPath(result, path, value);
    if (notNullable === undefined || table === undefined) continue;
    emptyTables ??= new Map();
    const known = emptyTables.get(path[0]);
    if (known === undefined) emptyTables.set(path[0], value === null ? table : false);
    else if (known !== table) emptyTables.set(path[0], false);
  }
  if (emptyTables === undefined) return result;
  for (const [name, table] of emptyTables) {
    if (table !== false && !notNullable![table]) result[name] = null;
  }
  return result;
}

function setPath(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let node = target;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(node, name)) node[name] = {};
    node = node[name] as Record<string, unknown>;
  }
  node[path[path.length - 1]] = value;
}
