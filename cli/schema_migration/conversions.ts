/** Changes of a column's type, and the way back to the old one. */
import type { PGlite } from "@electric-sql/pglite";
import { readAlterActions } from "../../distsql/syntax/alter_action.ts";
import { getTable } from "../../distsql/syntax/statement_table.ts";
import { quoteLiteral, quoteName, readLiteral } from "../../sql/quote.ts";
import { getName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { type Catalog, getLabel, quoteTable } from "./catalog.ts";
import { isWidening } from "./column_steps.ts";

/** A column as it is now. */
export interface TypedColumn {
  readonly schema: string;
  /** Name of the table. */
  readonly name: string;
  readonly column: string;
  /** As PostgreSQL prints it: `numeric(9,2)`. */
  readonly typeName: string;
  /** True for an enum and for an array of enums. */
  readonly isEnum: boolean;
}

/** Types between which PostgreSQL converts without a loss, or refuses. */
const EXACT: readonly (readonly string[])[] = [
  ["smallint", "integer", "bigint"],
  ["text", "character varying"],
];
const [INTEGERS, TEXTS] = EXACT;
/** Types from whose text PostgreSQL reads the same value. Those of times depend on the session. */
const READABLE: ReadonlySet<string> = new Set([
  ...INTEGERS,
  "boolean",
  "character",
  "json",
  "jsonb",
  "numeric",
  "uuid",
]);
/** Types that have each value of another one, and its cast back gives the same value. */
const CONTAINED: Readonly<Record<string, readonly string[]>> = {
  smallint: ["real", "double precision"],
  integer: ["double precision"],
  real: ["double precision"],
  jsonb: ["json"],
};
const ZONED = "timestamp with time zone";
const TIMES: readonly string[] = ["timestamp without time zone", ZONED];

/** Types without their sizes. */
interface ChangedType {
  /** Number of the column. */
  readonly id: string;
  readonly have: string;
  /** `(8,2)` */
  readonly size: string | null;
  readonly fromEnum: boolean;
  /** `null` for a type that is not found. */
  readonly want: string | null;
  readonly toEnum: boolean | null;
  /** True for two enums, or for arrays of them. */
  readonly areEnums: boolean | null;
}

/** Changes of types in migrations that are rolled back. */
export class Conversions {
  readonly #isOld: (id: string) => boolean;
  readonly #isExact: boolean;
  /** Numbers of the columns that were converted to a type of another kind. */
  readonly #converted = new Set<string>();

  /**
   * @param isOld Returns true for a column that exists after the rollback.
   * @param isExact True if the values of a column stay as they are, so that only kinds of the same
   * type are converted back.
   */
  constructor(isOld: (id: string) => boolean, isExact: boolean) {
    this.#isOld = isOld;
    this.#isExact = isExact;
  }

  /**
   * Finds out whether an ALTER TABLE converts a column so that its old values cannot be computed from the
   * new ones.
   *
   * @param database The database before the statement.
   */
  async findLoss(reader: StatementReader, database: PGlite): Promise<string | undefined> {
    for (const action of readAlterActions(reader)) {
      if (action.kind !== "alter_column" || action.change !== "type") continue;
      const table = getTable(reader)!;
      const { name } = action.column;
      const end = Math.min(reader.findEnd(AFTER_TYPE, action.valueAt), action.to);
      const written = reader.text(action.valueAt, end);
      const { rows: [types] } = await database.query<ChangedType>(
        `SELECT a.attrelid || '.' || a.attnum AS id, format_type(a.atttypid, NULL) AS have,
          substring(format_type(a.atttypid, a.atttypmod) FROM '\\(.*\\)') AS size,
          t.typtype = 'e' AS "fromEnum", w.oid::regtype::text AS want, w.typtype = 'e' AS "toEnum",
          CASE e.typtype WHEN 'e' THEN f.typtype = 'e' ELSE t.typtype = 'e' AND w.typtype = 'e' END
            AS "areEnums"
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_type e ON e.typarray = t.oid
        LEFT JOIN pg_type w ON w.oid = to_regtype($3)
        LEFT JOIN pg_type f ON f.typarray = w.oid
        WHERE a.attrelid = to_regclass($1) AND a.attname = $2`,
        [table.split(".").map(quoteName).join("."), name, written],
      );
      if (types === undefined || !this.#isOld(types.id)) continue;
      const using = readUsing(reader, [end, action.to], name, written);
      if (this.#isReversible(types, written, using)) continue;
      return `converts ${table}.${name} from ${types.have} to ${types.want}: the old values are not ` +
        "known, and new ones may not fit";
    }
    return undefined;
  }

  #isReversible(types: ChangedType, written: string, using: Using | undefined): boolean {
    const { id, have, want } = types;
    if (want === null) return false;
    if (using === "none" && EXACT.some((kind) => kind.includes(have) && kind.includes(want))) {
      return true;
    }
    const isFirst = !this.#converted.has(id);
    this.#converted.add(id);
    // the cast back is that of one conversion
    return !this.#isExact && isFirst && using !== undefined &&
      isLossless({ ...types, want }, written, using);
  }
}

const AFTER_TYPE: ReadonlySet<string> = new Set(["USING", "COLLATE"]);

/**
 * Conversion of a column: without USING, `c::type`, `c::text::type`, `c AT TIME ZONE 'UTC'` or
 * `c::timestamp AT TIME ZONE 'UTC'`.
 */
type Using = "none" | "cast" | "text" | "utc" | "midnight utc";

/** Reads what follows a type; `undefined` for another expression. */
function readUsing(
  reader: StatementReader,
  [from, to]: readonly [number, number],
  column: string,
  type: string,
): Using | undefined {
  if (from === to) return "none";
  const isNested = reader.is(from + 1, "(") && reader.closing(from + 1) === to - 1;
  const at = isNested ? from + 2 : from + 1;
  const end = isNested ? to - 1 : to;
  const isColumn = reader.is(from, "USING") && reader.isName(at) &&
    getName(reader.token(at)!) === column;
  if (!isColumn) return undefined;
  const isMidnight = reader.is(at + 1, "::", "TIMESTAMP");
  const zoneAt = isMidnight ? at + 3 : at + 1;
  if (zoneAt + 4 === end && reader.is(zoneAt, "AT", "TIME", "ZONE")) {
    if (readLiteral(reader.token(end - 1)) !== "UTC") return undefined;
    return isMidnight ? "midnight utc" : "utc";
  }
  if (!reader.is(at + 1, "::")) return undefined;
  if (reader.text(at + 2, end) === type) return "cast";
  const textEnd = reader.is(at + 3, "[", "]") ? at + 5 : at + 3;
  const isText = reader.is(at + 2, "TEXT") && reader.is(textEnd, "::");
  return isText && reader.text(textEnd + 1, end) === type ? "text" : undefined;
}

/** Returns true if each old value is the new one, converted back. */
function isLossless(
  { have, size, want, fromEnum, toEnum, areEnums }: ChangedType & { readonly want: string },
  written: string,
  using: Using,
): boolean {
  const [, digits = ""] = /\(([^()]*)\)/.exec(written) ?? [];
  // PostgreSQL's own conversion of times depends on the time zone of the session
  if (have === "date" && TIMES.includes(want)) {
    return using === (want === ZONED ? "midnight utc" : "none");
  }
  if (TIMES.includes(have) && TIMES.includes(want)) {
    return using === (have === want ? "none" : "utc") &&
      getPrecision(size ?? "") <= getPrecision(digits);
  }
  if (using === "text") return areEnums === true;
  if (using === "cast") return TEXTS.includes(have) && toEnum === true;
  if (TEXTS.includes(want)) return READABLE.has(have) || fromEnum;
  if (INTEGERS.includes(have) && want === "numeric") return !digits.includes("-");
  if (CONTAINED[have]?.includes(want)) return digits === "";
  const next = digits === "" ? want : `${want}(${digits.replace(/\s/g, "")})`;
  return isWidening(`${have}${size ?? ""}`, next);
}

/** Returns the number of digits after the seconds. */
function getPrecision(size: string): number {
  return Number(/\d/.exec(size)?.[0] ?? 6);
}

/** Query that finds values which do not fit the type from before the migrations. */
export interface FitCheck {
  /** The column as it is now: `notes.size`. */
  readonly label: string;
  /** The type from before: `integer`. */
  readonly type: string;
  /** A query whose only value is true if one does not. */
  readonly sql: string;
}

/** Statement that gives a column its old type. */
export interface GuardedChange {
  /** The statement, which fails if a value would change. */
  readonly sql: string;
  readonly check: FitCheck;
}

/**
 * Guards a statement that gives a column its old type: each present value must be the one that the
 * migration would make of the old one.
 *
 * @param sql The statement, with the names that the column and its table have then.
 * @param find Returns a column by these names, as it is now.
 * @returns `undefined` for any other statement, and if all values fit.
 */
export function guardChange(
  sql: string,
  find: (table: string, column: string) => TypedColumn | undefined,
): GuardedChange | undefined {
  const reader = parseStatement(sql);
  if (!reader.is(0, "ALTER", "TABLE")) return undefined;
  const [action] = readAlterActions(reader);
  if (action?.kind !== "alter_column" || action.change !== "type") return undefined;
  const now = find(getTable(reader)!, action.column.name);
  const end = reader.findEnd(AFTER_TYPE, action.valueAt);
  const type = reader.text(action.valueAt, end);
  if (now === undefined || isWidening(now.typeName, type)) return undefined;
  // PostgreSQL refuses a label that the other enum does not have
  if (now.isEnum && !TEXTS.includes(type.replace(/\(.*/, ""))) return undefined;
  const column = quoteName(action.column.name);
  const usingAt = reader.find("USING", end);
  const using = usingAt < 0 ? column : `(${reader.text(usingAt + 1, reader.size)})`;
  const back = `${using}::${type}`;
  const isUtc = / AT TIME ZONE 'UTC'/.test(using);
  const local = now.typeName.endsWith(" with time zone") ? `(${back})::timestamp` : `(${back})`;
  const again = isUtc ? `${local} AT TIME ZONE 'UTC'` : `(${back})::${now.typeName}`;
  const differs = (rows: string) =>
    `EXISTS (SELECT FROM ${rows} WHERE (${again})::text IS DISTINCT FROM ${column}::text)`;
  const table = reader.text(2, reader.nameEnd(2));
  const present = `(SELECT ${quoteName(now.column)} AS ${column} FROM ${
    quoteTable(now)
  }) AS present`;
  const check = { label: `${getLabel(now)}.${now.column}`, type };
  const message = quoteLiteral(describeUnfit(check));
  return {
    sql: `DO ${
      quoteLiteral(`BEGIN
  LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE;
  IF ${differs(table)} THEN
    RAISE EXCEPTION USING ERRCODE = 'data_exception', MESSAGE = ${message};
  END IF;
  ${sql};
END`)
    }`,
    check: { ...check, sql: `SELECT ${differs(present)} AS "isUnfit"` },
  };
}

/** Describes a column with values that do not fit. */
export function describeUnfit({ label, type }: Omit<FitCheck, "sql">): string {
  return `${label} has values that do not fit its old type ${type}: change or delete them`;
}

/**
 * Checks the columns of enums that lose values.
 *
 * @param have The database with the values, under the names from before the migrations.
 * @param want The database without them.
 * @param columns The present columns by these names: `notes.mood`.
 */
export function checkValues(
  have: Catalog,
  want: Catalog,
  columns: ReadonlyMap<string, TypedColumn>,
): FitCheck[] {
  const enums = new Map(want.enums.map((each) => [getLabel(each), each.values]));
  return have.enums.flatMap((each) => {
    const values = enums.get(getLabel(each));
    if (values === undefined || each.values.every((value) => values.includes(value))) return [];
    return have.tables.flatMap((table) =>
      table.columns.flatMap((column): FitCheck[] => {
        const now = columns.get(`${getLabel(table)}.${column.name}`);
        if (now === undefined || column.type.replaceAll("[]", "") !== each.type) return [];
        const isArray = column.type !== each.type;
        const text = isArray
          ? `array_remove(${quoteName(now.column)}::text[], NULL)`
          : `${quoteName(now.column)}::text`;
        const list = `ARRAY[${values.map(quoteLiteral).join(", ")}]`;
        const condition = isArray ? `NOT ${text} <@ ${list}` : `${text} <> ALL (${list})`;
        const rows = `SELECT FROM ${quoteTable(now)} WHERE ${condition}`;
        const type = `${getLabel(each)} (${values.join(", ")})`;
        const label = `${getLabel(now)}.${now.column}`;
        return [{ label, type, sql: `SELECT EXISTS (${rows}) AS "isUnfit"` }];
      })
    );
  });
}
