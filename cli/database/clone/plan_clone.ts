import type { DistSqlOptions } from "../../../distsql/translate/context/options.ts";
import { translateForDistSql } from "../../../distsql/translate/sanitize.ts";
import type { TableColumn, TableSchema } from "../../../distsql/schema/table_schema.ts";
import { qualify } from "../../../sql/quote.ts";
import { type CloneSources, type DdlFile, planData, planSchema, tableKey } from "./clone_ddl.ts";
import type { CloneOptions } from "../../config/clone.ts";
import { findUnknownMasks, isSkipped } from "./private_data.ts";
import type { SequenceSchema } from "./read_catalog.ts";
import { isArrayColumn, type Masking, planCopy, quoteNames, type TableCopy } from "./plan_copy.ts";

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
    if (!options.arraysAsJsonb || !isArrayColumn(column)) return plain;
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
        ? { ...constraint, definition: `PRIMARY KEY (${quoteNames(constraint.columns)})` }
        : constraint
    ),
    indexes: table.indexes.map((index) => ({
      ...index,
      definition: index.definition.replace(/^USING\s+\S+\s*/i, ""),
    })),
  };
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

/** Returns translation options that preserve all values. */
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
