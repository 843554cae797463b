import type { ExecuteStatementCommandOutput, Field, SqlParameter } from "@aws-sdk/client-rds-data";
import { is } from "drizzle-orm";
import { PgColumn } from "drizzle-orm/pg-core";

/** A statement of the Data API. */
export interface StatementInput {
  /** The statement, with `:1` for the first parameter. */
  sql: string;
  /** Its parameters. */
  parameters?: SqlParameter[];
  /** The transaction that it belongs to. */
  transactionId?: string;
}

/** The answer to a statement. */
export type DataApiResult = Pick<
  ExecuteStatementCommandOutput,
  "records" | "columnMetadata" | "numberOfRecordsUpdated"
>;

/** The requests of the Data API that a database needs. */
export interface DataApiClient {
  execute(input: StatementInput): Promise<DataApiResult>;
  begin(): Promise<string>;
  commit(transactionId: string): Promise<void>;
  rollback(transactionId: string): Promise<void>;
}

/**
 * The type to cast a parameter to. The Data API declares every text to the server as text, and there is no implicit cast
 * from text to uuid, json, an enum, an array. Lengths are left out: a cast to varchar(3) would cut what an assignment refuses.
 *
 * @param encoder What drizzle encodes the value with: a column, or nothing.
 * @returns An SQL type, or `undefined` for a value without a column.
 */
export function castTypeOf(encoder: unknown): string | undefined {
  if (!is(encoder, PgColumn)) return undefined;
  const type = encoder.getSQLType().replace(
    /\bserial\b|\b(big|small)serial\b/,
    (_, size = "") => size === "" ? "integer" : `${size}int`,
  );
  return type.replace(
    /\b(varchar|char|bit)\s*\(\d+\)/g,
    (_, name) => name === "bit" ? "bit varying" : name === "char" ? "bpchar" : name,
  )
    .replace(/^char(?=$|\[)/, "bpchar");
}

/**
 * A value as a parameter. With a cast every value goes as text, so that nothing is lost on the way.
 *
 * @param name The parameter's name.
 * @param value What drizzle's column made of the value.
 * @param isCast Whether the statement casts it.
 */
export function toParameter(name: string, value: unknown, isCast: boolean): SqlParameter {
  return { name, value: isCast ? toTextField(value) : toField(value) };
}

function toField(value: unknown): Field {
  if (value === null || value === undefined) return { isNull: true };
  if (typeof value === "boolean") return { booleanValue: value };
  if (typeof value === "number") return Number.isSafeInteger(value) ? { longValue: value } : { doubleValue: value };
  if (value instanceof Uint8Array) return { blobValue: value };
  return toTextField(value);
}

function toTextField(value: unknown): Field {
  if (value === null || value === undefined) return { isNull: true };
  if (value instanceof Uint8Array) {
    return { stringValue: `\\x${Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("")}` };
  }
  if (value instanceof Date) return { stringValue: value.toISOString() };
  return { stringValue: typeof value === "object" ? JSON.stringify(value) : String(value) };
}

/**
 * A field of an answer, in the form in which the direct drivers give it.
 *
 * @param field The field.
 * @param typeName The column's type in the catalog, `_` before an array's.
 */
export function fromField(field: Field, typeName: string | undefined): unknown {
  if (field.isNull === true) return null;
  if (field.arrayValue !== undefined) {
    const { stringValues, longValues, doubleValues, booleanValues, arrayValues } = field.arrayValue;
    const items: unknown[] = stringValues ?? longValues ?? doubleValues ?? booleanValues ?? arrayValues ?? [];
    return items.map((item) => typeof item === "string" ? fromText(item, typeName?.replace(/^_/, "")) : item);
  }
  if (field.stringValue !== undefined) return fromText(field.stringValue, typeName);
  return field.booleanValue ?? field.longValue ?? field.doubleValue ?? field.blobValue ?? null;
}

function fromText(text: string, typeName: string | undefined): unknown {
  switch (typeName) {
    case "int2":
    case "int4":
    case "oid":
      return Number(text);
    case "timestamptz":
      // the Data API gives UTC and does not say so; a Date would take it for local time
      return /(?:[+-]\d\d(?::?\d\d)?|Z)$/.test(text) ? text : `${text}+00`;
    default:
      return text;
  }
}

/** Whether a column's own text must be read where no drizzle column does it. */
export function readJson(value: unknown, typeName: string | undefined): unknown {
  return (typeName === "json" || typeName === "jsonb") && typeof value === "string" ? JSON.parse(value) : value;
}
