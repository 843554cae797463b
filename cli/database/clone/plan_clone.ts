import type { DistSqlOptions } from "../../../database/distsql/options.ts";
import { translateForDistSql } from "../../../database/distsql/sanitize.ts";
import type { TableColumn, TableSchema } from "../../../database/recreation/table_schema.ts";
import { qualify, quoteName } from "../sql_text.ts";
import { type CloneSources, type DdlFile, planData, planSchema, tableKey } from "./clone_ddl.ts";
import type { CloneOptions } from "./clone_options.ts";
import {
  findConflict,
  findMask,
  findUnknownMasks,
  isLeftOut,
  maskExpression,
} from "./private_data.ts";
import type { SequenceSchema } from "./read_catalog.ts";

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

/**
 * Plans a clone. Reads and changes nothing.
 *
 * @param sources What is there.
 * @returns Statements, copies, and what stands in the way.
 */
export function planClone(sources: CloneSources): ClonePlan {
  const { objects, options } = sources;
  const tables = sources.tables.map((table) => toTarget(table, sources));
  const refusals: string[] = options.mode === "schema"
    ? []
    : findUnknownMasks(sources.tables, options);
  const warnings: string[] = [];
  const masking: Masking = { salt: crypto.randomUUID(), warnings, refusals };
  const leftOut = options.mode === "schema"
    ? []
    : sources.tables.filter((table) => isLeftOut(table, options));
  for (const table of leftOut) reportLeftOut(table, sources.tables, masking);
  const copies = options.mode === "schema" ? [] : sources.tables.map((table, at) => {
    if (leftOut.includes(table)) return undefined;
    const copy = planCopy(table, tables[at], sources, masking);
    if (typeof copy !== "string") return copy;
    refusals.push(copy);
    return undefined;
  }).filter((copy) => copy !== undefined);
  const names = new Set(tables.map(tableKey));
  const sequences = objects.sequences.filter(({ owner }) =>
    owner === undefined
      ? options.tables.length === 0
      : names.has(qualify(owner.schema, owner.table))
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
function toTarget(
  table: TableSchema,
  { options, isFromDistSql, isToDistSql, targets }: CloneSources,
): TableSchema {
  if (options.mode === "data") return targets.get(tableKey(table)) ?? table;
  const columns = table.columns.map((column): TableColumn => {
    if (!isToDistSql) return column;
    // what the provider does not have
    const { notNullName: _name, settings: _settings, ...plain } = column;
    if (!options.arraysAsJsonb || !isArray(column)) return plain;
    const { default: given, ...rest } = plain;
    return {
      ...rest,
      type: "jsonb",
      ...given === undefined ? {} : { default: `to_jsonb(${given})` },
    };
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
    indexes: table.indexes.map((index) => ({
      ...index,
      definition: index.definition.replace(/^USING\s+\S+\s*/i, ""),
    })),
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
  masking: Masking,
): TableCopy | string {
  const { schema = "public", name } = from;
  const columns = from.columns.filter(({ generated }) => generated === undefined);
  const lacking = columns.filter((column) =>
    !to.columns.some((other) => other.name === column.name)
  );
  if (lacking.length > 0) {
    return `the target's ${schema}.${name} has no column ${
      lacking.map((column) => column.name).join(", ")
    }`;
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
    columns: readColumns(
      from,
      columns,
      options,
      masking,
      (column) => valueOf(column, target(column)),
    ),
    key,
    overriding: columns.some((column) => target(column).identity?.always === true),
    scaled: columns.flatMap((column) => {
      const scale = lostScale(column, target(column), isToDistSql, options);
      return scale === undefined ? [] : [{ column: column.name, scale }];
    }),
  };
}

/** What masking finds out beside the expressions. */
interface Masking {
  /** Random text of this clone. */
  readonly salt: string;
  readonly warnings: string[];
  readonly refusals: string[];
}

function reportLeftOut(
  table: TableSchema,
  all: readonly TableSchema[],
  { warnings, refusals }: Masking,
): void {
  const { schema = "public", name } = table;
  warnings.push(
    `${schema}.${name}: its rows are left out, they are credentials (--with-credentials copies them)`,
  );
  const isReferenced = ({ constraints }: TableSchema) =>
    constraints.some(({ type, definition }) =>
      type === "foreign_key" && new RegExp(`REFERENCES (?:\\w+\\.)?"?${name}"?\\(`).test(definition)
    );
  for (const other of all.filter((one) => one !== table && isReferenced(one))) {
    refusals.push(
      `${
        other.schema ?? "public"
      }.${other.name} refers to ${schema}.${name}, whose rows are left out: give ` +
        "--with-credentials, or leave it out with --tables",
    );
  }
}

/** Returns the expression of each column, masked where it has to be. */
function readColumns(
  table: TableSchema,
  columns: readonly TableColumn[],
  options: CloneOptions,
  { salt, warnings, refusals }: Masking,
  plain: (column: TableColumn) => string,
): TableCopy["columns"] {
  const { schema = "public", name: tableName } = table;
  const masked: string[] = [];
  const read = columns.map((column) => {
    const mask = findMask(table, column, options);
    if (mask === undefined) return { name: column.name, expression: plain(column) };
    const conflict = findConflict(table, column, mask);
    const masking = conflict === undefined
      ? maskExpression(column, mask, salt)
      : { refusal: conflict };
    if ("refusal" in masking) {
      refusals.push(`${schema}.${tableName}: ${column.name} cannot be masked, ${masking.refusal}`);
      return { name: column.name, expression: "NULL::text" };
    }
    masked.push(`${column.name} (${typeof mask === "string" ? mask : "a fixed text"})`);
    return { name: column.name, expression: masking.sql };
  });
  if (masked.length > 0) warnings.push(`${schema}.${tableName}: masked ${masked.join(", ")}`);
  return read;
}

/** The primary key, or what is as good. */
function findKey(table: TableSchema): KeyColumn[] | undefined {
  const candidates = [
    ...table.constraints.filter(({ type }) => type === "primary_key").map(({ columns }) => columns),
    ...table.constraints.filter(({ type, definition }) =>
      type === "unique" && !/DEFERRABLE/.test(definition)
    ).map((
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

/**
 * Choices of the translation that keep every value.
 *
 * @param options What was asked for.
 */
export function getTranslation({ numeric }: CloneOptions): DistSqlOptions {
  return { enums: "check", ...numeric === undefined ? {} : { numeric } };
}

function checkDistSql(
  { before, after }: { before: DdlFile[]; after: DdlFile[] },
  options: CloneOptions,
  refusals: string[],
  warnings: string[],
): void {
  const text = [...before, ...after].flatMap(({ statements }) => statements).join(";\n");
  const translation = translateForDistSql(text, getTranslation(options));
  for (const { message, id } of translation.refusals) {
    refusals.push(
      id === "type-array" && !options.arraysAsJsonb
        ? `${message} Or give --arrays-as-jsonb`
        : message,
    );
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
