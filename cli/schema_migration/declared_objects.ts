import { is } from "drizzle-orm";
import {
  getTableConfig,
  isPgEnum,
  isPgSequence,
  type PgColumn,
  type PgEnum,
  PgMaterializedView,
  PgPolicy,
  PgSchema,
  type PgSequence,
  PgTable,
  PgView,
} from "drizzle-orm/pg-core";

/** The objects that modules of a drizzle schema declare. */
export interface DeclaredObjects {
  /** Exported tables. */
  readonly tables: readonly PgTable[];
  /** Tables that only foreign keys of exported tables name. */
  readonly referenced: readonly PgTable[];
  /** Exported enums, and those of columns. */
  readonly enums: readonly PgEnum<[string, ...string[]]>[];
  readonly sequences: readonly PgSequence[];
  /** Schemas other than `public`. */
  readonly schemas: readonly string[];
  readonly views: readonly (PgView | PgMaterializedView)[];
  /** Names of exported policies of row security that belong to no exported table. */
  readonly policies: readonly string[];
}

/**
 * Finds the objects of drizzle among the exports of modules.
 *
 * @param values The exported values.
 * @returns Objects that a database has.
 */
export function findDeclaredObjects(values: readonly unknown[]): DeclaredObjects {
  const tables = values.filter((value): value is PgTable => is(value, PgTable));
  const referenced = findReferenced(tables);
  const columns = [...tables, ...referenced].flatMap((table) => getTableConfig(table).columns);
  const enums = new Set([
    ...values.filter((value): value is PgEnum<[string, ...string[]]> => isPgEnum(value)),
    ...columns.flatMap((column) => findEnum(column) ?? []),
  ]);
  const sequences = values.filter((value): value is PgSequence => isPgSequence(value));
  const views = values.filter((value): value is PgView | PgMaterializedView =>
    is(value, PgView) || is(value, PgMaterializedView)
  );
  const names = [
    ...values.filter((value): value is PgSchema => is(value, PgSchema)).map((each) =>
      each.schemaName
    ),
    ...[...tables, ...referenced].map((table) => getTableConfig(table).schema),
    ...[...enums, ...sequences].map(({ schema }) => schema),
  ];
  const schemas = new Set(names.filter((name): name is string => name !== undefined));
  schemas.delete("public");
  const own = new Set(tables.flatMap((table) => getTableConfig(table).policies));
  const policies = values.filter((value): value is PgPolicy =>
    is(value, PgPolicy) && !own.has(value)
  ).map(({ name }) => name);
  return {
    tables,
    referenced,
    enums: [...enums],
    sequences,
    schemas: [...schemas],
    views,
    policies,
  };
}

function findReferenced(tables: readonly PgTable[]): PgTable[] {
  const found = new Set<PgTable>(tables);
  // a set also visits what is added while it is iterated
  for (const table of found) {
    for (const key of getTableConfig(table).foreignKeys) found.add(key.reference().foreignTable);
  }
  return [...found].filter((table) => !tables.includes(table));
}

/** Returns the enum of a column, or of the elements of an array. */
export function findEnum(column: PgColumn): PgEnum<[string, ...string[]]> | undefined {
  if (column.columnType === "PgArray") {
    return findEnum((column as PgColumn & { baseColumn: PgColumn }).baseColumn);
  }
  return (column as PgColumn & { enum?: PgEnum<[string, ...string[]]> }).enum;
}
