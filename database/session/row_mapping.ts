import { getTableName, noopDecoder } from "drizzle-orm";
import { PgColumn, type SelectedFieldsOrdered } from "drizzle-orm/pg-core";
import {
  getDecoder,
  isColumn,
  isJsonField,
  type SelectedField,
  withSafeDecoder,
} from "./column_decoder.ts";
import { type Cell, mapToCells } from "./row_mapper.ts";
import type { RowMapping } from "./row_mapper.ts";

/**
 * Creates the mapping of rows to a builder's fields.
 *
 * @param fields The fields that drizzle selected.
 * @returns The mapping.
 */
export function mapToFields(fields: SelectedFieldsOrdered): RowMapping {
  return mapToCells(
    fields.map(({ path, field }) => toCell(path, withSafeDecoder(field as SelectedField))),
  );
}

/** Returns the cells of the fields that drizzle selected. */
export function toCells(fields: SelectedFieldsOrdered): Cell[] {
  return fields.map(({ path, field }) => toCell(path, field as SelectedField));
}

function toCell(path: readonly string[], field: SelectedField): Cell {
  const decoder = getDecoder(field);
  const { mapFromDriverValue } = decoder;
  const isKept = mapFromDriverValue === PgColumn.prototype.mapFromDriverValue ||
    mapFromDriverValue === noopDecoder.mapFromDriverValue;
  return {
    path,
    decode: isKept ? undefined : (value) => decoder.mapFromDriverValue(value),
    table: isColumn(field) && path.length === 2 ? getTableName(field.table) : undefined,
    isJson: isJsonField(field),
  };
}
