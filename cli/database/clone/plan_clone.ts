import type { DistSqlOptions } from "../../../database/distsql/options.ts";
import { translateForDistSql } from "../../../database/distsql/sanitize.ts";
import type { TableColumn, TableSchema } from "../../../database/recreation/table_schema.ts";
import { qualify, quoteName } from "../../../database/sql/quote.ts";
import { type CloneSources, type DdlFile, planData, planSchema, tableKey } from "./clone_ddl.ts";
import type { CloneOptions } from "./clone_options.ts";
import {
  findConflict,
  findMask,
  findUnknownMasks,
  isSkipped,
  maskExpression,
} from "./private_data.ts";
import type { SequenceSchema } from "./read_catalog.ts";

/** A column of the sort key. */
export interface KeyColumn {
  /** The column as SQL. */
  readonly sql: string;
  /** The type of the column. */
  readonly type: string;
}

/** The copy of a table's rows. */
export interface TableCopy {
  readonly schema: string;
  readonly name: string;
  /** SQL expressions on the source for the columns of the target. */
  readonly columns: readonly { readonly name: string; readonly expression: string }[];
  /** The unique sort key of the rows. */
  readonly key: readonly KeyColumn[];
  /** True if an identity column requires OVERRIDING SYSTEM VALUE. */
  readonly overriding: boolean;
  /** Columns whose values the target rounds to the given number of decimals. */
  readonly scaled: readonly { readonly column: string; readonly scale: number }[];
}

/** The plan of a clone. */
export interface ClonePlan {
  /** Statements before the rows are copied. */
  readonly before: readonly DdlFile[];
  /** Statements after the rows are copied, which would be slower or fail before. */
  readonly after: readonly DdlFile[];
  readonly copies: readonly TableCopy[];
  readonly sequences: readonly SequenceSchema[];
  /** Reasons why the clone cannot run. */
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Plans a clone. Changes nothing.
 *
 * @param sources The objects and options.
 * @returns Statements, copies, and reasons why the clone cannot run.
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
    : sources.tables.filter((table) => isSkipped(table, options));
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
      for (const what of objects.notCloned) warnings.push(`${what} is not cloned`);
    }
    if (sources.isToDistSql) checkDistSql(files, options, refusals, warnings);
  }
  return { ...files, copies, sequences, refusals, warnings };
}

/** Returns a table in the form of the target. */
function toTarget(
  table: TableSchema,
  { options, isFromDistSql, isToDistSql, targets }: CloneSources,
): TableSchema {
  if (options.mode === "data") return targets.get(tableKey(table)) ?? table;
  const columns = table.columns.map((column): TableColumn => {
    if (!isToDistSql) return column;
    // properties that DSQL does not support
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
    // DSQL reports its own index method, and lists all columns in the index of the primary key
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
    return `the target's ${schema}.${name} lacks the column ${
      lacking.map((column) => column.name).join(", ")
    }`;
  }
  if (columns.length === 0) return `${schema}.${name} has no columns that can be copied`;
  const key = findKey(from) ?? (isFromDistSql ? undefined : [{ sql: "ctid", type: "tid" }]);
  if (key === undefined) {
    return `${schema}.${name} has neither a primary key nor a unique ` +
      `constraint over NOT NULL columns, so its rows cannot be ` +
      "identified: add one, or exclude the table with --tables";
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
      (column) => renderValue(column, target(column)),
    ),
    key,
    overriding: columns.some((column) => target(column).identity?.always === true),
    scaled: columns.flatMap((column) => {
      const scale = findLostScale(column, target(column), isToDistSql, options);
      return scale === undefined ? [] : [{ column: column.name, scale }];
    }),
  };
}

/** Collects results of masking. */
interface Masking {
  /** Random salt of this clone. */
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
    `${schema}.${name}: its rows are skipped because they ` +
      `contain credentials (--with-credentials copies them)`,
  );
  const isReferenced = ({ constraints }: TableSchema) =>
    constraints.some(({ type, definition }) =>
      type === "foreign_key" && new RegExp(`REFERENCES (?:\\w+\\.)?"?${name}"?\\(`).test(definition)
    );
  for (const other of all.filter((one) => one !== table && isReferenced(one))) {
    refusals.push(
      `${
        other.schema ?? "public"
      }.${other.name} references ${schema}.${name}, whose rows are skipped: use ` +
        "--with-credentials, or exclude the table with --tables",
    );
  }
}

/** Returns the expression of each column, masked if required. */
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
      refusals.push(`${schema}.${tableName}: ${column.name} cannot be masked ${masking.refusal}`);
      return { name: column.name, expression: "NULL::text" };
    }
    masked.push(`${column.name} (${typeof mask === "string" ? mask : "a fixed text"})`);
    return { name: column.name, expression: masking.sql };
  });
  if (masked.length > 0) warnings.push(`${schema}.${tableName}: masked ${masked.join(", ")}`);
  return read;
}

/** Returns the primary key or an equivalent unique key. */
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

/** Renders a column as text that the target can parse. */
function renderValue(column: TableColumn, to: TableColumn): string {
  const name = quoteName(column.name);
  if (isArray(column) && to.type === "jsonb") return `to_jsonb(${name})::text`;
  // the text of money contains the server's currency symbol
  if (column.type === "money") return `${name}::numeric::text`;
  return `${name}::text`;
}

/** Returns the number of decimals in the target if it keeps fewer than the source may have. */
function findLostScale(
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
 * Returns translation options that preserve all values.
 *
 * @param options The options of the clone.
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
        ? `${message} Or use --arrays-as-jsonb`
        : message,
    );
  }
  for (const { id, message, table } of translation.warnings) {
    const line = `${table === undefined ? "" : `${table}: `}${message} (${id})`;
    if (id === "numeric-precision" && options.mode === "all") {
      refusals.push(
        `${table}: numeric without a precision would be rounded to ` +
          `numeric(18,6): use --numeric <precision,scale>, such as ` +
          "--numeric 38,10",
      );
    } else if (!warnings.includes(line)) warnings.push(line);
  }
}
