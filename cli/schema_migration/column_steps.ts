import { quoteLiteral, quoteName } from "../../sql/quote.ts";
import { type CatalogColumn, getLabel, quoteTable } from "./catalog.ts";
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
  const { isRequired, isSerial, identity, generated } = column;
  const isFilled = column.default !== null || isSerial || identity !== null || generated !== null;
  const sql = `ALTER TABLE ${table} ADD COLUMN ${renderCatalogColumn(column)}`;
  return isRequired && !isFilled ? { sql, risk: RISKS.added } : { sql };
}

/** Renders a column as in CREATE TABLE. */
export function renderCatalogColumn(column: CatalogColumn): string {
  const { isRequired, isSerial, identity, sequence, collation, generated } = column;
  return [
    quoteName(column.name),
    isSerial ? SERIAL_TYPES[column.type] : column.type,
    collation === null ? "" : `COLLATE ${collation}`,
    column.default === null ? "" : `DEFAULT ${column.default}`,
    generated ?? "",
    identity === null ? "" : `GENERATED ${identity} AS IDENTITY (${sequence})`,
    isRequired ? "NOT NULL" : "",
  ].filter((part) => part !== "").join(" ");
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
 * @param sequences Labels of the sequences that no column owns.
 * @returns The statements, or why the change must be written by hand.
 */
export function alterColumn(
  table: string,
  have: CatalogColumn,
  want: CatalogColumn,
  sequences: readonly string[] = [],
): Step[] | string {
  if (want.generated !== have.generated) return replaceGenerated(table, have, want);
  const isSameType = want.type === have.type && want.collation === have.collation;
  if (want.generated !== null && !isSameType) return replaceGenerated(table, have, want);
  const becomesSerial = want.isSerial && !have.isSerial;
  if (becomesSerial && !isSameType) {
    return `becomes serial, and changes from ${have.type}: change the type in a migration of its own`;
  }
  const alter = (change: string, risk?: string): Step => ({
    sql: `ALTER TABLE ${table} ALTER COLUMN ${quoteName(want.name)} ${change}`,
    ...risk !== undefined && { risk },
  });
  const steps: Step[] = becomesSerial ? startSequence(table, have, want, sequences) : [];
  const dropsSerial = have.isSerial && !want.isSerial;
  const changesDefault = have.default !== want.default;
  if (have.default !== null && (want.default === null || !isSameType) || dropsSerial) {
    steps.push(alter("DROP DEFAULT"));
  }
  if (have.identity !== null && want.identity === null) steps.push(alter("DROP IDENTITY"));
  if (!isSameType) {
    const type = changeType(have, want, alter);
    if (typeof type === "string") return type;
    steps.push(type);
  }
  if (becomesSerial) {
    const sequence = quoteTable(want.ownSequence!);
    steps.push(
      alter(`SET DEFAULT nextval(${quoteLiteral(sequence)})`),
      { sql: `ALTER SEQUENCE ${sequence} OWNED BY ${table}.${quoteName(want.name)}` },
    );
  }
  if (want.default !== null && (changesDefault || !isSameType || dropsSerial)) {
    steps.push(alter(`SET DEFAULT ${want.default}`));
  }
  if (!have.isRequired && want.isRequired) {
    steps.push(alter("SET NOT NULL", RISKS.required));
  }
  if (have.identity === null && want.identity !== null) {
    steps.push(...becomeIdentity(table, have, want, alter));
  } else steps.push(...alterIdentity(have, want).map((change) => alter(change)));
  if (have.isRequired && !want.isRequired) steps.push(alter("DROP NOT NULL"));
  return steps;
}

/** Returns the statement of a change of a column: `SET NOT NULL`. */
type Alter = (change: string, risk?: string) => Step;

/**
 * Changes the type with the assignment cast of PostgreSQL, which refuses what it cannot keep. An
 * explicit cast, which can cut values, is used only if there is no other.
 */
function changeType(have: CatalogColumn, want: CatalogColumn, alter: Alter): Step | string {
  const collate = want.collation === null ? "" : ` COLLATE ${want.collation}`;
  const change = `SET DATA TYPE ${want.type}${collate}`;
  const words = `changes the type from ${have.type} to ${want.type}`;
  const time = castTime(have, want);
  if (time === undefined) {
    return `changes from ${have.type} to ${want.type}, which depends on the time zone of the ` +
      "session: write the migration with USING by hand";
  }
  if (time !== "") {
    const risk = `${words} and converts the values in UTC: change USING if they are meant in ` +
      "another time zone";
    return alter(`${change} USING ${time}`, risk);
  }
  const risk = isWidening(have.type, want.type)
    ? undefined
    : `${words}: values that do not fit are rounded, cut or refused`;
  const fallback = alter(`${change} USING ${quoteName(want.name)}::${want.type}`, risk);
  return { ...alter(change, risk), fallback };
}

const ZONED = " with time zone";
const TIME = /^(date|time|timestamp)(?:\(\d\))?( with(?:out)? time zone)?((?:\[\])*)$/;

/**
 * Returns the expression that converts times with a zone to times without one, or the other way
 * round. PostgreSQL's own cast uses the time zone of the session.
 *
 * @returns An empty string if no time zone is needed; `undefined` if there is no expression.
 */
function castTime({ type: from }: CatalogColumn, { name, type: to }: CatalogColumn) {
  const [, old, oldZone, isArray] = TIME.exec(from) ?? [];
  const [, next, nextZone] = TIME.exec(to) ?? [];
  if (old === undefined || next === undefined) return "";
  const isZoned = oldZone === ZONED;
  if (isZoned === (nextZone === ZONED) || old === "time" && next === "time" && isZoned) return "";
  const column = quoteName(name);
  if (isArray !== "" || old === "time") return undefined;
  if (!isZoned) {
    if (next === "time") return undefined;
    return `${old === "date" ? `${column}::timestamp` : column} AT TIME ZONE 'UTC'`;
  }
  const local = `${column} AT TIME ZONE 'UTC'`;
  return next === "timestamp" ? local : `(${local})::${next}`;
}

/**
 * Prepares the sequence of a column that becomes serial. It continues after the highest present value,
 * and after the sequence of an identity column.
 */
function startSequence(
  table: string,
  have: CatalogColumn,
  { name, type, ownSequence }: CatalogColumn,
  sequences: readonly string[],
): Step[] {
  const sequence = quoteTable(ownSequence!);
  const isPresent = sequences.includes(getLabel(ownSequence!));
  const old = have.ownSequence;
  const hasName = old !== null && getLabel(old) === getLabel(ownSequence!);
  // is dropped with the identity
  const aside = hasName ? { ...old, name: `${old.name}__trellis_old` } : old;
  const used = [ownSequence!, aside].flatMap((each) =>
    each === null ? [] : [`(SELECT last_value FROM ${quoteTable(each)} WHERE is_called)`]
  );
  const present = `(SELECT max(${quoteName(name)}) FROM ${table})`;
  return [
    ...hasName ? [{ sql: `ALTER SEQUENCE ${sequence} RENAME TO ${quoteName(aside!.name)}` }] : [],
    ...isPresent ? [] : [{ sql: `CREATE SEQUENCE ${sequence} AS ${type}` }],
    {
      sql: `SELECT setval(${quoteLiteral(sequence)}, used.last) FROM (SELECT ` +
        `greatest(${[present, ...used].join(", ")}) AS last) AS used WHERE used.last >= 1`,
    },
  ];
}

/**
 * Makes a column an identity column. Its sequence continues after the highest present value, and
 * after the sequence of a serial column, which stays until `--drop`.
 */
function becomeIdentity(
  table: string,
  { isSerial, ownSequence }: CatalogColumn,
  { name, identity, sequence }: CatalogColumn,
  alter: Alter,
): Step[] {
  const [, increment, start] = /^INCREMENT BY (\S+) .* START WITH (\S+) /.exec(sequence!)!;
  const serial = isSerial && ownSequence !== null ? quoteTable(ownSequence) : undefined;
  const isUp = !increment.startsWith("-");
  const present = `(SELECT ${isUp ? "max" : "min"}(${quoteName(name)}) FROM ${table})`;
  const used = `(SELECT last_value FROM ${serial} WHERE is_called)`;
  const last = serial !== undefined
    ? `${isUp ? "greatest" : "least"}(${present}, ${used})`
    : present;
  const own = `pg_get_serial_sequence(${quoteLiteral(table)}, ${quoteLiteral(name)})`;
  return [
    ...serial !== undefined ? [{ sql: `ALTER SEQUENCE ${serial} OWNED BY NONE` }] : [],
    alter(`ADD GENERATED ${identity} AS IDENTITY (${sequence})`),
    {
      sql: `SELECT setval(${own}, used.last) FROM (SELECT ${last} AS last) AS used ` +
        `WHERE used.last ${isUp ? ">=" : "<="} ${start}`,
    },
  ];
}

function alterIdentity(have: CatalogColumn, want: CatalogColumn): string[] {
  if (want.identity === null) return [];
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
export function isWidening(from: string, to: string): boolean {
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
