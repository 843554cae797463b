import { adaptForStandardPg } from "../../../distsql/translate/adapt.ts";
import { buildCreateTableSql } from "../../../distsql/recreate/create_table.ts";
import type { TableConstraint, TableSchema } from "../../../distsql/schema/table_schema.ts";
import { qualify, quoteLiteral, quoteName } from "../../../sql/quote.ts";
import type { CloneOptions } from "../../config/clone.ts";
import type { CatalogObjects } from "./read_catalog.ts";

/** A group of related statements. */
export interface DdlFile {
  /** The name in messages. */
  readonly name: string;
  readonly statements: readonly string[];
}

/** The input of a clone plan. */
export interface CloneSources {
  /** The tables to clone. */
  readonly tables: readonly TableSchema[];
  readonly objects: CatalogObjects;
  readonly options: CloneOptions;
  readonly isFromDistSql: boolean;
  readonly isToDistSql: boolean;
  /** `data`: the tables of the target by {@link tableKey}. */
  readonly targets: ReadonlyMap<string, TableSchema>;
}

/** Returns the key of a table in maps. */
export function tableKey({ schema = "public", name }: { schema?: string; name: string }): string {
  return qualify(schema, name);
}

/** Constraint types that are created together with the table; all others are added later. */
const WITH_TABLE: readonly string[] = ["primary_key", "check", "exclude"];

/**
 * Plans the statements that create tables and related objects.
 *
 * @param sources The objects to create, in the form of the target.
 * @param names Keys of the cloned tables.
 * @param warnings Receives messages about omitted objects.
 */
export function planSchema(
  { tables, objects, options, isFromDistSql, isToDistSql }: CloneSources,
  names: ReadonlySet<string>,
  warnings: string[],
): { before: DdlFile[]; after: DdlFile[] } {
  const isWhole = options.tables.length === 0;
  const needed = new Set(tables.map(({ schema }) => schema));
  const schemas = objects.schemas.filter((name) => isWhole || needed.has(name));
  const before: DdlFile[] = [
    {
      name: "types",
      statements: [
        ...schemas.map((name) => `CREATE SCHEMA IF NOT EXISTS ${quoteName(name)}`),
        ...objects.extensions.map((name) => `CREATE EXTENSION IF NOT EXISTS ${quoteName(name)}`),
        ...objects.types,
      ],
    },
    {
      name: "sequences",
      statements: objects.sequences.filter(({ owner }) => owner?.isIdentity !== true).map((
        { schema, name, definition },
      ) => `CREATE SEQUENCE ${qualify(schema, name)} ${definition}`),
    },
    ...tables.map((table) => ({ name: table.name, statements: createTable(table) })),
  ];
  const links: DdlFile[] = tables.map((table) => ({
    name: `links_${table.name}`,
    statements: addForeignKeys(table, names, warnings),
  }));
  const after: DdlFile[] = [
    ...tables.map((table) => ({ name: `indexes_${table.name}`, statements: finishTable(table) })),
    ...links,
    {
      name: "sequences",
      // ownership only matters when a table is dropped; DSQL may not support it
      statements: objects.sequences.flatMap(({ schema, name, owner }) =>
        owner === undefined || owner.isIdentity || isToDistSql ? [] : [
          `ALTER SEQUENCE ${qualify(schema, name)} OWNED BY ${qualify(owner.schema, owner.table)}.${
            quoteName(owner.column)
          }`,
        ]
      ),
    },
    { name: "views", statements: isWhole ? objects.views.map(({ sql }) => sql) : [] },
  ];
  const adapt = (file: DdlFile): DdlFile =>
    isFromDistSql
      ? { ...file, statements: file.statements.map((sql) => adaptForStandardPg(sql)) }
      : file;
  return {
    before: before.filter(hasStatements).map(adapt),
    after: after.filter(hasStatements).map(adapt),
  };
}

function hasStatements({ statements }: DdlFile): boolean {
  return statements.length > 0;
}

function createTable(table: TableSchema): string[] {
  const { schema = "public", name, columns } = table;
  const inline = table.constraints.filter(({ type, validated }) =>
    WITH_TABLE.includes(type) && validated
  );
  const settings = columns.flatMap((column) =>
    (column.settings ?? []).map((setting) => `ALTER COLUMN ${quoteName(column.name)} ${setting}`)
  );
  return [
    buildCreateTableSql(name, { ...table, constraints: inline }),
    ...settings.length === 0 ? [] : [`ALTER TABLE ${qualify(schema, name)} ${settings.join(", ")}`],
  ];
}

function addConstraint(
  table: TableSchema,
  { name, definition, validated }: TableConstraint,
): string {
  return `ALTER TABLE ${tableKey(table)} ADD CONSTRAINT ${quoteName(name)} ${definition}${
    validated ? "" : " NOT VALID"
  }`;
}

function finishTable(table: TableSchema): string[] {
  const own = tableKey(table);
  const { constraints, indexes, columns, schema = "public" } = table;
  const comment = (on: string, text: string | undefined) =>
    text === undefined ? [] : [`COMMENT ON ${on} IS ${quoteLiteral(text)}`];
  return [
    ...constraints.filter(({ type, validated }) =>
      type === "unique" || type === "check" && !validated
    )
      .map((constraint) => addConstraint(table, constraint)),
    ...indexes.filter(({ valid }) => valid).map(({ name, unique, definition }) =>
      `CREATE ${unique ? "UNIQUE " : ""}INDEX ${quoteName(name)} ON ${own} ${definition}`
    ),
    ...comment(`TABLE ${own}`, table.comment),
    ...columns.flatMap((column) =>
      comment(`COLUMN ${own}.${quoteName(column.name)}`, column.comment)
    ),
    ...constraints.flatMap((one) =>
      one.type === "foreign_key"
        ? []
        : comment(`CONSTRAINT ${quoteName(one.name)} ON ${own}`, one.comment)
    ),
    ...indexes.flatMap((index) =>
      index.valid ? comment(`INDEX ${qualify(schema, index.name)}`, index.comment) : []
    ),
  ];
}

function addForeignKeys(
  table: TableSchema,
  names: ReadonlySet<string>,
  warnings: string[],
): string[] {
  return table.constraints.filter(({ type }) => type === "foreign_key").flatMap((constraint) => {
    const { schema = "public", table: name = "" } = constraint.references ?? {};
    if (names.has(qualify(schema, name))) return [addConstraint(table, constraint)];
    warnings.push(
      `${table.name}: foreign key ${constraint.name} is ` +
        `omitted because ${schema}.${name} is not cloned`,
    );
    return [];
  });
}

/**
 * Plans statements that drop foreign keys of existing tables before the copy and restore them after
 * it. The keys would require an order of the rows, and may be circular.
 */
export function planData(
  { targets }: CloneSources,
  names: ReadonlySet<string>,
): { before: DdlFile[]; after: DdlFile[] } {
  const own = [...targets].filter(([key]) => names.has(key)).map(([, table]) => table);
  const keys = (table: TableSchema) =>
    table.constraints.filter(({ type }) => type === "foreign_key");
  const file = (statement: (table: TableSchema, key: TableConstraint) => string) =>
    own.filter((table) => keys(table).length > 0).map((table) => ({
      name: `links_${table.name}`,
      statements: keys(table).map((key) => statement(table, key)),
    }));
  return {
    before: file((table, { name }) =>
      `ALTER TABLE ${tableKey(table)} DROP CONSTRAINT ${quoteName(name)}`
    ),
    after: file(addConstraint),
  };
}
