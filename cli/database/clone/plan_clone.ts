import {
  adaptForStandardPg,
  buildCreateTableSql,
  type DistSqlOptions,
  type TableColumn,
  type TableConstraint,
  type TableSchema,
  translateForDistSql,
} from "../../../database/mod.ts";
import { qualify, quoteName, quoteText } from "../sql_text.ts";
import type { CloneOptions } from "./clone_options.ts";
import type { CatalogObjects, SequenceSchema } from "./read_catalog.ts";

/** A column that rows are ordered by. */
export interface KeyColumn {
  /** SQL of the column. */
  readonly sql: string;
  /** Its type. */
  readonly type: string;
}

/** How the rows of a table get across. */
export interface TableCopy {
  readonly schema: string;
  readonly name: string;
  /** SQL over the source for each column of the target, by its name. */
  readonly columns: readonly { readonly name: string; readonly expression: string }[];
  /** What the rows are ordered by: no two rows have the same. */
  readonly key: readonly KeyColumn[];
  /** Whether an identity column takes its values only when told to. */
  readonly overriding: boolean;
  /** Columns whose values would be rounded beyond so many digits. */
  readonly scaled: readonly { readonly column: string; readonly scale: number }[];
}

/** Statements that belong together. */
export interface DdlFile {
  /** A name for messages. */
  readonly name: string;
  readonly statements: readonly string[];
}

/** What a clone does, before it does anything. */
export interface ClonePlan {
  /** Before the rows. */
  readonly before: readonly DdlFile[];
  /** After the rows: what is quicker then, or would refuse them in their order. */
  readonly after: readonly DdlFile[];
  readonly copies: readonly TableCopy[];
  readonly sequences: readonly SequenceSchema[];
  /** What stands in the way; nothing is done while there is something. */
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
}

/** What a plan is made from. */
export interface CloneSources {
  /** The tables to clone. */
  readonly tables: readonly TableSchema[];
  readonly objects: CatalogObjects;
  readonly options: CloneOptions;
  readonly isFromDistSql: boolean;
  readonly isToDistSql: boolean;
  /** `data`: the target's tables, by their key. */
  readonly targets: ReadonlyMap<string, TableSchema>;
}

/** A table's name as a key of maps. */
export function tableKey({ schema = "public", name }: { schema?: string; name: string }): string {
  return qualify(schema, name);
}

/**
 * Plans a clone. Reads and changes nothing.
 *
 * @param sources What is there.
 * @returns Statements, copies, and what stands in the way.
 */
export function planClone(sources: CloneSources): ClonePlan {
  const { objects, options } = sources;
  const tables = sources.tables.map((table) => toTarget(table, sources));
  const refusals: string[] = [];
  const warnings: string[] = [];
  const copies = options.mode === "schema" ? [] : sources.tables.map((table, at) => {
    const copy = planCopy(table, tables[at], sources);
    if (typeof copy !== "string") return copy;
    refusals.push(copy);
    return undefined;
  }).filter((copy) => copy !== undefined);
  const names = new Set(tables.map(tableKey));
  const sequences = objects.sequences.filter(({ owner }) =>
    owner === undefined ? options.tables.length === 0 : names.has(qualify(owner.schema, owner.table))
  );
  const files = options.mode === "data"
    ? planData(sources, names)
    : planSchema({ ...sources, tables, objects: { ...objects, sequences } }, names, warnings);
  if (options.mode !== "data") {
    if (options.tables.length === 0) {
      for (const what of objects.left) warnings.push(`${what} is not cloned`);
    }
    if (sources.isToDistSql) checkDistSql(files, options, refusals, warnings);
  }
  return { ...files, copies, sequences, refusals, warnings };
}

/** A table as the target is to have it. */
function toTarget(table: TableSchema, { options, isFromDistSql, isToDistSql, targets }: CloneSources): TableSchema {
  if (options.mode === "data") return targets.get(tableKey(table)) ?? table;
  const columns = table.columns.map((column): TableColumn => {
    if (!isToDistSql) return column;
    // what the provider does not have
    const { notNullName: _name, settings: _settings, ...plain } = column;
    if (!options.arraysAsJsonb || !isArray(column)) return plain;
    const { default: given, ...rest } = plain;
    return { ...rest, type: "jsonb", ...given === undefined ? {} : { default: `to_jsonb(${given})` } };
  });
  if (!isFromDistSql) return { ...table, columns };
  return {
    ...table,
    columns,
    // the provider shows its own index method, and all columns as part of the primary key's index
    constraints: table.constraints.map((constraint) =>
      constraint.type === "primary_key"
        ? { ...constraint, definition: `PRIMARY KEY (${names(constraint.columns)})` }
        : constraint
    ),
    indexes: table.indexes.map((index) => ({ ...index, definition: index.definition.replace(/^USING\s+\S+\s*/i, "") })),
  };
}

function names(columns: readonly string[]): string {
  return columns.map(quoteName).join(", ");
}

function isArray({ type }: TableColumn): boolean {
  return type.endsWith("[]");
}

function planCopy(
  from: TableSchema,
  to: TableSchema,
  { options, isFromDistSql, isToDistSql }: CloneSources,
): TableCopy | string {
  const { schema = "public", name } = from;
  const columns = from.columns.filter(({ generated }) => generated === undefined);
  const lacking = columns.filter((column) => !to.columns.some((other) => other.name === column.name));
  if (lacking.length > 0) {
    return `the target's ${schema}.${name} has no column ${lacking.map((column) => column.name).join(", ")}`;
  }
  if (columns.length === 0) return `${schema}.${name} has no column whose values could be copied`;
  const key = findKey(from) ?? (isFromDistSql ? undefined : [{ sql: "ctid", type: "tid" }]);
  if (key === undefined) {
    return `${schema}.${name} has neither a primary key nor a unique constraint over NOT NULL columns, so its rows cannot be ` +
      "told apart: give it one, or leave it out with --tables";
  }
  const target = (column: TableColumn) => to.columns.find((other) => other.name === column.name)!;
  return {
    schema,
    name,
    columns: columns.map((column) => ({ name: column.name, expression: valueOf(column, target(column)) })),
    key,
    overriding: columns.some((column) => target(column).identity?.always === true),
    scaled: columns.flatMap((column) => {
      const scale = lostScale(column, target(column), isToDistSql, options);
      return scale === undefined ? [] : [{ column: column.name, scale }];
    }),
  };
}

/** The primary key, or what is as good. */
function findKey(table: TableSchema): KeyColumn[] | undefined {
  const candidates = [
    ...table.constraints.filter(({ type }) => type === "primary_key").map(({ columns }) => columns),
    ...table.constraints.filter(({ type, definition }) => type === "unique" && !/DEFERRABLE/.test(definition)).map((
      { columns },
    ) => columns),
    ...table.indexes.filter(({ unique, valid }) => unique && valid).map(({ keys }) => keys ?? []),
  ];
  for (const candidate of candidates) {
    const columns = candidate.map((name) => table.columns.find((column) => column.name === name));
    if (columns.length > 0 && columns.every((column) => column?.notNull)) {
      return columns.map((column) => ({ sql: quoteName(column!.name), type: column!.type }));
    }
  }
  return undefined;
}

/** A value as the text that the target reads it from. */
function valueOf(column: TableColumn, to: TableColumn): string {
  const name = quoteName(column.name);
  if (isArray(column) && to.type === "jsonb") return `to_jsonb(${name})::text`;
  // money shows the currency of its server
  if (column.type === "money") return `${name}::numeric::text`;
  return `${name}::text`;
}

/** Digits after the point that the target keeps, where it keeps fewer than the source may have. */
function lostScale(
  from: TableColumn,
  to: TableColumn,
  isToDistSql: boolean,
  { numeric, mode }: CloneOptions,
): number | undefined {
  if (from.type !== "numeric") return undefined;
  const given = /^numeric\(\d+(?:,(-?\d+))?\)$/.exec(to.type);
  if (given !== null) return Number(given[1] ?? 0);
  return isToDistSql && mode === "all" ? numeric?.scale : undefined;
}

/** What every constraint but these waits for. */
const WITH_TABLE: readonly string[] = ["primary_key", "check", "exclude"];

function planSchema(
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
      // ownership matters when a table is dropped, and is not known to be accepted by the distributed provider
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
    isFromDistSql ? { ...file, statements: file.statements.map((sql) => adaptForStandardPg(sql)) } : file;
  return { before: before.filter(hasStatements).map(adapt), after: after.filter(hasStatements).map(adapt) };
}

function hasStatements({ statements }: DdlFile): boolean {
  return statements.length > 0;
}

function createTable(table: TableSchema): string[] {
  const { schema = "public", name, columns } = table;
  const inline = table.constraints.filter(({ type, validated }) => WITH_TABLE.includes(type) && validated);
  const settings = columns.flatMap((column) =>
    (column.settings ?? []).map((setting) => `ALTER COLUMN ${quoteName(column.name)} ${setting}`)
  );
  return [
    buildCreateTableSql(name, { ...table, constraints: inline }),
    ...settings.length === 0 ? [] : [`ALTER TABLE ${qualify(schema, name)} ${settings.join(", ")}`],
  ];
}

function addConstraint(table: TableSchema, { name, definition, validated }: TableConstraint): string {
  return `ALTER TABLE ${tableKey(table)} ADD CONSTRAINT ${quoteName(name)} ${definition}${
    validated ? "" : " NOT VALID"
  }`;
}

function finishTable(table: TableSchema): string[] {
  const own = tableKey(table);
  const { constraints, indexes, columns, schema = "public" } = table;
  const comment = (on: string, text: string | undefined) =>
    text === undefined ? [] : [`COMMENT ON ${on} IS ${quoteText(text)}`];
  return [
    ...constraints.filter(({ type, validated }) => type === "unique" || type === "check" && !validated)
      .map((constraint) => addConstraint(table, constraint)),
    ...indexes.filter(({ valid }) => valid).map(({ name, unique, definition }) =>
      `CREATE ${unique ? "UNIQUE " : ""}INDEX ${quoteName(name)} ON ${own} ${definition}`
    ),
    ...comment(`TABLE ${own}`, table.comment),
    ...columns.flatMap((column) => comment(`COLUMN ${own}.${quoteName(column.name)}`, column.comment)),
    ...constraints.flatMap((one) =>
      one.type === "foreign_key" ? [] : comment(`CONSTRAINT ${quoteName(one.name)} ON ${own}`, one.comment)
    ),
    ...indexes.flatMap((index) => index.valid ? comment(`INDEX ${qualify(schema, index.name)}`, index.comment) : []),
  ];
}

function addForeignKeys(table: TableSchema, names: ReadonlySet<string>, warnings: string[]): string[] {
  return table.constraints.filter(({ type }) => type === "foreign_key").flatMap((constraint) => {
    const { schema = "public", table: name = "" } = constraint.references ?? {};
    if (names.has(qualify(schema, name))) return [addConstraint(table, constraint)];
    warnings.push(`${table.name}: foreign key ${constraint.name} is left out, since ${schema}.${name} is not cloned`);
    return [];
  });
}

/** Foreign keys of tables that are there would ask for rows in an order, and may go in a circle. */
function planData({ targets }: CloneSources, names: ReadonlySet<string>): { before: DdlFile[]; after: DdlFile[] } {
  const own = [...targets].filter(([key]) => names.has(key)).map(([, table]) => table);
  const keys = (table: TableSchema) => table.constraints.filter(({ type }) => type === "foreign_key");
  const file = (statement: (table: TableSchema, key: TableConstraint) => string) =>
    own.filter((table) => keys(table).length > 0).map((table) => ({
      name: `links_${table.name}`,
      statements: keys(table).map((key) => statement(table, key)),
    }));
  return {
    before: file((table, { name }) => `ALTER TABLE ${tableKey(table)} DROP CONSTRAINT ${quoteName(name)}`),
    after: file(addConstraint),
  };
}

/**
 * Choices of the translation that keep every value.
 *
 * @param options What was asked for.
 */
export function translationOf({ numeric }: CloneOptions): DistSqlOptions {
  return { enums: "check", ...numeric === undefined ? {} : { numeric } };
}

function checkDistSql(
  { before, after }: { before: DdlFile[]; after: DdlFile[] },
  options: CloneOptions,
  refusals: string[],
  warnings: string[],
): void {
  const text = [...before, ...after].flatMap(({ statements }) => statements).join(";\n");
  const translation = translateForDistSql(text, translationOf(options));
  for (const { message, id } of translation.refusals) {
    refusals.push(id === "type-array" && !options.arraysAsJsonb ? `${message} Or give --arrays-as-jsonb` : message);
  }
  for (const { id, message, table } of translation.warnings) {
    const line = `${table === undefined ? "" : `${table}: `}${message} (${id})`;
    if (id === "numeric-precision" && options.mode === "all") {
      refusals.push(
        `${table}: numeric without a precision would be stored as numeric(18,6), rounded: give --numeric <precision,scale>, such as ` +
          "--numeric 38,10",
      );
    } else if (!warnings.includes(line)) warnings.push(line);
  }
}
