import { quoteName } from "../../sql/quote.ts";
import type { CatalogColumn } from "./catalog.ts";
import { RISKS, type Step } from "./difference.ts";

const SERIAL_TYPES: Readonly<Record<string, string>> = {
  smallint: "smallserial",
  integer: "serial",
  bigint: "bigserial",
};

/**
 * Returns the statement that adds a column.
 *
 * @param table The quoted name of the table.
 */
export function addColumn(table: string, column: CatalogColumn): Step {
  const { isRequired, isSerial, identity, sequence, collation, generated } = column;
  const parts = [
    quoteName(column.name),
    isSerial ? SERIAL_TYPES[column.type] : column.type,
    collation === null ? "" : `COLLATE ${collation}`,
    column.default === null ? "" : `DEFAULT ${column.default}`,
    generated ?? "",
    identity === null ? "" : `GENERATED ${identity} AS IDENTITY (${sequence})`,
    isRequired ? "NOT NULL" : "",
  ];
  const isFilled = column.default !== null || isSerial || identity !== null || generated !== null;
  const sql = `ALTER TABLE ${table} ADD COLUMN ${parts.filter((part) => part !== "").join(" ")}`;
  return isRequired && !isFilled ? { sql, risk: RISKS.added } : { sql };
}

/**
 * Returns the statement that drops a column.
 *
 * @param table The quoted name of the table.
 */
export function dropColumn(table: string, name: string): Step {
  return {
    sql: `ALTER TABLE ${table} DROP COLUMN ${quoteName(name)}`,
    risk: RISKS.column,
  };
}

/**
 * Returns the statements that change a column.
 *
 * @param table The quoted name of the table.
 * @param want The column as the schema declares it.
 * @returns The statements, or why the change must be written by hand.
 */
export function alterColumn(
  table: string,
  have: CatalogColumn,
  want: CatalogColumn,
): Step[] | string {
  if (want.generated !== have.generated) return replaceGenerated(table, have, want);
  const isSameType = want.type === have.type && want.collation === have.collation;
  if (want.generated !== null && !isSameType) return replaceGenerated(table, have, want);
  if (want.isSerial && !have.isSerial) {
    return "becomes serial: write the migration with its sequence by hand";
  }
  const alter = (change: string, risk?: string): Step => ({
    sql: `ALTER TABLE ${table} ALTER COLUMN ${quoteName(want.name)} ${change}`,
    ...risk !== undefined && { risk },
  });
  const steps: Step[] = [];
  const dropsSerial = have.isSerial && !want.isSerial;
  const changesDefault = have.default !== want.default;
  if (have.default !== null && (want.default === null || !isSameType) || dropsSerial) {
    steps.push(alter("DROP DEFAULT"));
  }
  if (have.identity !== null && want.identity === null) steps.push(alter("DROP IDENTITY"));
  if (!isSameType) {
    const collate = want.collation === null ? "" : ` COLLATE ${want.collation}`;
    const change = `SET DATA TYPE ${want.type}${collate} USING ${quoteName(want.name)}` +
      `::${want.type}`;
    const risk = `changes the type from ${have.type} to ${want.type}: values that do not fit ` +
      "are rounded, cut or refused";
    steps.push(isWidening(have.type, want.type) ? alter(change) : alter(change, risk));
  }
  if (want.default !== null && (changesDefault || !isSameType || dropsSerial)) {
    steps.push(alter(`SET DEFAULT ${want.default}`));
  }
  if (!have.isRequired && want.isRequired) {
    steps.push(alter("SET NOT NULL", RISKS.required));
  }
  steps.push(...alterIdentity(have, want).map((change) => alter(change)));
  if (have.isRequired && !want.isRequired) steps.push(alter("DROP NOT NULL"));
  return steps;
}

function alterIdentity(have: CatalogColumn, want: CatalogColumn): string[] {
  if (want.identity === null) return [];
  if (have.identity === null) {
    return [`ADD GENERATED ${want.identity} AS IDENTITY (${want.sequence})`];
  }
  const changes: string[] = [];
  if (have.identity !== want.identity) changes.push(`SET GENERATED ${want.identity}`);
  if (have.sequence !== want.sequence) {
    // each option has its own SET
    const options = (want.sequence ?? "").replace(
      / (MINVALUE|MAXVALUE|START|CACHE|NO CYCLE|CYCLE$)/g,
      " SET $1",
    );
    changes.push(`SET ${options}`);
  }
  return changes;
}

function replaceGenerated(
  table: string,
  have: CatalogColumn,
  want: CatalogColumn,
): Step[] | string {
  if (have.generated === null) {
    return "becomes a generated column: its values would be lost. Drop it with --drop, then add it";
  }
  if (want.generated === null) {
    return "is no generated column any more: write the migration by hand, with the values to keep";
  }
  return [
    { sql: `ALTER TABLE ${table} DROP COLUMN ${quoteName(have.name)}`, risk: REPLACED },
    addColumn(table, want),
  ];
}

const REPLACED = "drops a generated column, which the next statement computes again";

const INTEGERS: readonly string[] = ["smallint", "integer", "bigint", "numeric"];

/**
 * Returns true if every value of a type has the same value in another one.
 *
 * @param from The type as PostgreSQL prints it: `character varying(20)`.
 * @param to The other type.
 */
function isWidening(from: string, to: string): boolean {
  const old = parseType(from);
  const next = parseType(to);
  if (old.name === next.name && next.sizes.length === 0) return TEXTS_AND_NUMBERS.has(next.name);
  if (INTEGERS.includes(old.name) && INTEGERS.includes(next.name) && next.sizes.length === 0) {
    return old.sizes.length === 0 && INTEGERS.indexOf(old.name) < INTEGERS.indexOf(next.name);
  }
  const isText = old.name === "character varying" || old.name === "text";
  if (isText && next.sizes.length === 0) {
    return TEXTS_AND_NUMBERS.has(next.name) && next.name !== "numeric";
  }
  if (old.name !== next.name || old.sizes.length === 0) return false;
  if (next.name === "character varying") return next.sizes[0] >= old.sizes[0];
  if (next.name !== "numeric") return false;
  const [oldDigits, oldScale = 0] = old.sizes;
  const [digits, scale = 0] = next.sizes;
  return scale >= oldScale && digits - scale >= oldDigits - oldScale;
}

const TEXTS_AND_NUMBERS: ReadonlySet<string> = new Set(["character varying", "text", "numeric"]);

function parseType(type: string): { name: string; sizes: number[] } {
  const start = type.indexOf("(");
  if (start < 0 || !type.endsWith(")")) return { name: type, sizes: [] };
  const sizes = type.slice(start + 1, -1).split(",").map(Number);
  return { name: type.slice(0, start), sizes };
}
