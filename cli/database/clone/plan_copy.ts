import type { TableColumn, TableSchema } from "../../../distsql/schema/table_schema.ts";
import type { KeyColumn } from "../../../sql/key_range.ts";
import { quoteName } from "../../../sql/quote.ts";
import type { CloneSources } from "./clone_ddl.ts";
import type { CloneOptions } from "../../config/clone.ts";
import { findConflict, findMask, maskExpression } from "./private_data.ts";

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

/** Quotes names for a column list. */
export function quoteNames(columns: readonly string[]): string {
  return columns.map(quoteName).join(", ");
}

/** Checks whether a column is an array. */
export function isArrayColumn({ type }: TableColumn): boolean {
  return type.endsWith("[]");
}

/** Plans the copy of a table, or returns why it cannot be copied. */
export function planCopy(
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
export interface Masking {
  /** Random salt of this clone. */
  readonly salt: string;
  readonly warnings: string[];
  readonly refusals: string[];
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
  if (isArrayColumn(column) && to.type === "jsonb") return `to_jsonb(${name})::text`;
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
