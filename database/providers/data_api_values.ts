import type {
  ArrayValue,
  ExecuteStatementCommandOutput,
  Field,
  SqlParameter,
} from "@aws-sdk/client-rds-data";
import type { PgColumn } from "drizzle-orm/pg-core";
import { getSqlType, isKind } from "../session/drizzle_table.ts";
import { formatArray } from "../session/array_literal.ts";
import { toHexText, toParameterText, toTimestampText } from "../session/parameter_text.ts";

/** Statement of the Data API. */
export interface StatementInput {
  /** The statement, with `:1` for the first parameter. */
  sql: string;
  /** Parameters of the statement. */
  parameters?: SqlParameter[];
  /** Transaction of the statement. */
  transactionId?: string;
}

/** Result of a statement. */
export type DataApiResult = Pick<
  ExecuteStatementCommandOutput,
  "records" | "columnMetadata" | "numberOfRecordsUpdated"
>;

/** Requests of the Data API that a database needs. */
export interface DataApiClient {
  execute(input: StatementInput): Promise<DataApiResult>;
  begin(): Promise<string>;
  commit(transactionId: string): Promise<void>;
  rollback(transactionId: string): Promise<void>;
}

/** Types with the same values and any length. */
const UNSIZED = { varchar: "varchar", char: "bpchar", bit: "bit varying" } as const;

/**
 * Returns the type to cast a parameter to. The Data API sends every text to the server as type
 * text, which is not implicitly cast to uuid, json, enums or arrays. Lengths are omitted: a cast to
 * varchar(3) would truncate where an assignment fails.
 *
 * @param encoder The drizzle column that encodes the value, if any.
 * @returns An SQL type, or `undefined` for a value without a column.
 */
export function getCastType(encoder: unknown): string | undefined {
  if (!isKind(encoder, "PgColumn")) return undefined;
  const type = getSqlType(encoder as PgColumn).replace(
    /\bserial\b|\b(big|small)serial\b/,
    (_, size = "") => size === "" ? "integer" : `${size}int`,
  );
  return type.replace(
    /\b(varchar|char|bit)\s*\(\d+\)/g,
    (_, name: keyof typeof UNSIZED) => UNSIZED[name],
  )
    .replace(/^char(?=$|\[)/, "bpchar");
}

/**
 * Creates a parameter. A parameter that the statement casts is sent as text, so that no precision
 * is lost.
 *
 * @param name The parameter's name.
 * @param value The value as encoded by drizzle's column.
 * @param isCast True if the statement casts the parameter.
 * @returns The parameter.
 */
export function toParameter(name: string, value: unknown, isCast: boolean): SqlParameter {
  if (isCast) return { name, value: toTextField(value) };
  if (value instanceof Date) return toTimestampParameter(name, value);
  if (typeof value === "bigint") return toBigIntParameter(name, value);
  return { name, value: toField(value) };
}

function toField(value: unknown): Field {
  if (typeof value === "boolean") return { booleanValue: value };
  if (typeof value === "number") {
    return Number.isSafeInteger(value) ? { longValue: value } : { doubleValue: value };
  }
  if (value instanceof Uint8Array) return { blobValue: value };
  return toTextField(value);
}

function toTextField(value: unknown): Field {
  const text = toParameterText(value);
  return text === null ? { isNull: true } : { stringValue: text };
}

/**
 * Creates a parameter with a timestamp hint. Sent as plain text it could only be compared with
 * texts. The format of the hint is `YYYY-MM-DD HH:MM:SS.FFF`, in UTC.
 */
function toTimestampParameter(name: string, date: Date): SqlParameter {
  const text = toTimestampText(date);
  const isPlain = /^\d{4}-.*Z$/.test(text);
  if (!isPlain) return { name, value: { stringValue: text } };
  return {
    name,
    value: { stringValue: text.slice(0, -1).replace("T", " ") },
    typeHint: "TIMESTAMP",
  };
}

function toBigIntParameter(name: string, value: bigint): SqlParameter {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return { name, value: { longValue: number } };
  return { name, value: { stringValue: String(value) }, typeHint: "DECIMAL" };
}

/**
 * Formats a field of a result as the text that a direct connection returns, so that one reader
 * serves both.
 *
 * @param field The field.
 * @param typeName The column's type in the catalog, with `_` before an array's.
 * @returns The text, or null for NULL.
 */
export function toText(field: Field, typeName: string | undefined): string | null {
  if (field.stringValue !== undefined) return withZone(field.stringValue, typeName);
  if (field.longValue !== undefined) return String(field.longValue);
  if (field.doubleValue !== undefined) return String(field.doubleValue);
  if (field.booleanValue !== undefined) return field.booleanValue ? "t" : "f";
  if (field.blobValue !== undefined) return toHexText(field.blobValue);
  if (field.arrayValue !== undefined) {
    return toArrayText(field.arrayValue, typeName?.replace(/^_/, ""));
  }
  return null;
}

/** Appends the zone. The Data API returns times with a zone in UTC without saying so. */
function withZone(text: string, typeName: string | undefined): string {
  return typeName === "timestamptz" && /\d$/.test(text) && !/[+-]\d\d(?::?\d\d)?$/.test(text)
    ? `${text}+00`
    : text;
}

/** Formats an array. NULL items are null in the response, despite the SDK's types. */
function toArrayText(array: ArrayValue, itemType: string | undefined): string {
  return formatArray(
    getItems(array),
    (item) => toItemText(item, itemType),
    itemType === "box" ? ";" : ",",
  );
}

function getItems(
  { stringValues, longValues, doubleValues, booleanValues, arrayValues }: ArrayValue,
): unknown[] {
  const inner = arrayValues?.map((array) => array === null ? null : getItems(array));
  return inner ?? stringValues ?? longValues ?? doubleValues ?? booleanValues ?? [];
}

function toItemText(item: unknown, itemType: string | undefined): string | null {
  if (item === null || item === undefined) return null;
  if (typeof item === "boolean") return item ? "t" : "f";
  if (typeof item === "string") return withZone(item, itemType);
  if (Number.isInteger(item) && !Number.isSafeInteger(item) && itemType === "int8") {
    throw new RangeError(
      "The Data API cannot return array integers beyond 2^53 exactly: cast the array to text[]",
    );
  }
  return String(item);
}
