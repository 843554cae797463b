import { readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import {
  findObject,
  getKey,
  mapValues,
  type ObjectName,
  withoutEntries,
} from "./declared_schema.ts";
import { toObjectName } from "./read_object.ts";
import {
  changeAllColumns,
  dropColumn,
  dropTables,
  dropViewsOn,
  type SchemaDraft,
} from "./schema_draft.ts";

function dropIndexes(schema: SchemaDraft, names: readonly ObjectName[]): void {
  schema.tables = mapValues(schema.tables, (table) => {
    const indexes = table.indexes.filter((index) =>
      !names.some((name) => name.schema === table.schema && name.name === index.name)
    );
    return indexes.length < table.indexes.length ? { ...table, indexes } : table;
  });
}

function dropSequences(schema: SchemaDraft, keys: readonly string[]): void {
  changeAllColumns(
    schema,
    (one) =>
      one.sequence !== undefined && keys.includes(one.sequence) && one.numbering !== "identity"
        ? { ...one, default: undefined, numbering: undefined, sequence: undefined }
        : one,
  );
  schema.sequences = withoutEntries(schema.sequences, keys);
}

function dropStatistics(schema: SchemaDraft, names: readonly ObjectName[]): void {
  const keys = names.map(getKey);
  schema.tables = mapValues(schema.tables, (table) => ({
    ...table,
    statistics: table.statistics.filter((one) => !keys.includes(getKey(one))),
  }));
}

function dropSchemas(schema: SchemaDraft, names: readonly string[]): void {
  const within = (map: ReadonlyMap<string, ObjectName>): string[] =>
    [...map].filter(([, object]) => names.includes(object.schema)).map(([key]) => key);
  dropTables(schema, within(schema.tables), true);
  schema.enums = withoutEntries(schema.enums, within(schema.enums));
  schema.domains = withoutEntries(schema.domains, within(schema.domains));
  schema.views = withoutEntries(schema.views, within(schema.views));
  schema.sequences = withoutEntries(schema.sequences, within(schema.sequences));
}

/** Drops types; with CASCADE also the columns of all tables that have them, and their defaults. */
function dropTypes(schema: SchemaDraft, keys: readonly string[], cascades: boolean): void {
  const isGone = (key: string | undefined): boolean => key !== undefined && keys.includes(key);
  if (cascades) {
    for (const [key, { columns }] of schema.tables) {
      for (const { name, enum: type, domain } of columns) {
        if (isGone(type) || isGone(domain)) dropColumn(schema, key, name, true);
      }
    }
    changeAllColumns(
      schema,
      (column) =>
        column.defaultEnums?.some(isGone)
          ? { ...column, default: undefined, defaultEnums: undefined }
          : column,
    );
  }
  schema.enums = withoutEntries(schema.enums, keys);
  schema.domains = withoutEntries(schema.domains, keys);
}

/** Applies DROP of tables, views, indexes, sequences, types, domains and schemas. */
export function foldDrop(schema: SchemaDraft, reader: StatementReader): void {
  const isMaterialized = reader.is(1, "MATERIALIZED");
  const kind = reader.key(isMaterialized ? 2 : 1);
  const start = reader.skip(reader.skip(isMaterialized ? 3 : 2, "CONCURRENTLY"), "IF", "EXISTS");
  const cascades = reader.is(reader.size - 1, "CASCADE");
  const written = reader.list(start, reader.droppedEnd()).map(([from]) => readName(reader, from));
  const keysIn = (map: ReadonlyMap<string, ObjectName>): string[] =>
    written.flatMap((name) => findObject(map, name) ?? []).map(getKey);
  switch (kind) {
    case "TABLE":
      return dropTables(schema, keysIn(schema.tables), cascades);
    case "VIEW": {
      const keys = keysIn(schema.views);
      schema.views = withoutEntries(schema.views, keys);
      if (cascades) { for (const key of keys) dropViewsOn(schema, key); }
      return;
    }
    case "SEQUENCE":
      return dropSequences(schema, keysIn(schema.sequences));
    case "INDEX":
      return dropIndexes(schema, written.map((name) => toObjectName(name)));
    case "STATISTICS":
      return dropStatistics(schema, written.map((name) => toObjectName(name)));
    case "TYPE":
    case "DOMAIN":
      return dropTypes(schema, [...keysIn(schema.enums), ...keysIn(schema.domains)], cascades);
    case "SCHEMA":
      return dropSchemas(schema, written.map((name) => name.name));
  }
}
