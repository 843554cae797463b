import { getTableName, noopDecoder } from "drizzle-orm";
import { PgColumn, type SelectedFieldsOrdered } from "drizzle-orm/pg-core";
import type { Row } from "../providers/provider.ts";
import { getDecoder, isColumn, type SelectedField } from "./column_decoder.ts";

/** Tables of a query by name: true if the join may not leave their columns empty. */
export type NotNullable = Record<string, boolean> | undefined;

type Decode = (value: unknown) => unknown;

interface Cell {
  /** Names of the objects that contain the value. */
  readonly parents: readonly string[];
  readonly name: string;
  /** `undefined` if the value is kept. */
  readonly decode: Decode | undefined;
}

/** Columns of one table that are selected as `table.column`. */
interface TableGroup {
  readonly name: string;
  readonly table: string;
  /** Name of the first column. drizzle takes a row without this value for a missing row. */
  readonly first: string;
}

/**
 * Mapping of a statement's rows to the objects that drizzle returns. drizzle looks up the class of
 * each field for each row, which takes longer than decoding it; here that is done once.
 */
export class RowMapper {
  readonly #cells: readonly Cell[];
  readonly #groups: readonly TableGroup[];
  readonly #isFlat: boolean;

  /**
   * @param fields The fields that drizzle selected, in the order of the columns.
   */
  constructor(fields: SelectedFieldsOrdered) {
    this.#cells = fields.map(toCell);
    this.#groups = listTableGroups(fields);
    this.#isFlat = this.#cells.every(({ parents }) => parents.length === 0);
  }

  /**
   * Maps a row.
   *
   * @param row The values in the order of the columns.
   * @param notNullable Which tables a join may not leave empty, if the query has joins.
   * @returns The object: nested by table for joins, with null for a table without a row.
   */
  map(row: readonly unknown[], notNullable: NotNullable): Row {
    return this.#isFlat ? this.#mapFlat(row) : this.#mapNested(row, notNullable);
  }

  #mapFlat(row: readonly unknown[]): Row {
    const result: Row = {};
    const cells = this.#cells;
    for (let at = 0; at < cells.length; at++) {
      const { name, decode } = cells[at];
      const value = row[at];
      result[name] = value === null || decode === undefined ? value : decode(value);
    }
    return result;
  }

  #mapNested(row: readonly unknown[], notNullable: NotNullable): Row {
    const result: Row = {};
    const cells = this.#cells;
    for (let at = 0; at < cells.length; at++) {
      const { parents, name, decode } = cells[at];
      const value = row[at];
      let node = result;
      for (const parent of parents) {
        node = (Object.hasOwn(node, parent) ? node[parent] : node[parent] = {}) as Row;
      }
      node[name] = value === null || decode === undefined ? value : decode(value);
    }
    if (notNullable === undefined) return result;
    for (const { name, table, first } of this.#groups) {
      if (!notNullable[table] && (result[name] as Row)[first] === null) result[name] = null;
    }
    return result;
  }
}

function toCell({ path, field }: SelectedFieldsOrdered[number]): Cell {
  const decoder = getDecoder(field as SelectedField);
  const { mapFromDriverValue } = decoder;
  const isKept = mapFromDriverValue === PgColumn.prototype.mapFromDriverValue ||
    mapFromDriverValue === noopDecoder.mapFromDriverValue;
  return {
    parents: path.slice(0, -1),
    name: path[path.length - 1],
    decode: isKept ? undefined : (value) => decoder.mapFromDriverValue(value),
  };
}

/** Lists the objects whose columns all belong to one table. */
function listTableGroups(fields: SelectedFieldsOrdered): TableGroup[] {
  const groups = new Map<string, TableGroup | undefined>();
  for (const { path: [name, column], field } of fields.filter(isTableColumn)) {
    const table = getTableName((field as PgColumn).table);
    const group = groups.get(name);
    if (!groups.has(name)) groups.set(name, { name, table, first: column });
    else if (group?.table !== table) groups.set(name, undefined);
  }
  return [...groups.values()].filter((group) => group !== undefined);
}

function isTableColumn({ path, field }: SelectedFieldsOrdered[number]): boolean {
  return path.length === 2 && isColumn(field);
}
