import type { TableColumn, TableSchema } from "../../../database/recreation/table_schema.ts";
import { quoteName, quoteText } from "../sql_text.ts";
import type { CloneOptions, Mask } from "./clone_options.ts";

/** Tables of live credentials, by name without underscores, with a column that tells them. */
const CREDENTIAL_TABLES: Readonly<Record<string, string>> = {
  session: "token",
  sessions: "token",
  verification: "value",
  verifications: "value",
};

/** Columns that hold credentials in any table, by name without underscores. */
const CREDENTIAL_COLUMNS: ReadonlySet<string> = new Set([
  ...["password", "passwordhash", "accesstoken", "refreshtoken", "idtoken"],
  ...["clientsecret", "privatekey", "backupcodes", "apikey", "totpsecret"],
]);
/** Columns that hold credentials in the tables of better-auth's plugins. */
const CREDENTIAL_COLUMNS_OF: Readonly<Record<string, string>> = {
  twofactor: "secret",
  twofactors: "secret",
  apikey: "key",
  apikeys: "key",
};

const TEXT_TYPE = /^(?:text|citext|character varying|varchar|character|char|bpchar)(?:\((\d+)\))?$/;

/**
 * Checks whether a clone leaves out the rows of a table: live sessions and open verifications, unless
 * `--with-credentials` asks for them.
 */
export function isLeftOut(table: TableSchema, { credentials }: CloneOptions): boolean {
  const marker = CREDENTIAL_TABLES[normalize(table.name)];
  return !credentials && marker !== undefined &&
    table.columns.some(({ name }) => normalize(name) === marker);
}

/** Returns how a clone replaces a column's values, or `undefined` where it copies them. */
export function findMask(
  table: TableSchema,
  column: TableColumn,
  options: CloneOptions,
): Mask | undefined {
  const { schema = "public", name } = table;
  const { masks } = options;
  const configured = masks[`${schema}.${name}.${column.name}`] ?? masks[`${name}.${column.name}`];
  if (configured !== undefined || options.credentials) return configured;
  const normalized = normalize(column.name);
  const isCredential = CREDENTIAL_COLUMNS.has(normalized) ||
    CREDENTIAL_COLUMNS_OF[normalize(name)] === normalized;
  if (!isCredential) return undefined;
  return column.notNull ? { text: "" } : "null";
}

/**
 * Finds masks that name no column of the tables: a misspelt name would let values through.
 *
 * @param tables The tables of the clone.
 * @param options Its masks; with a choice of tables, masks of others are passed over.
 * @returns Why the clone cannot begin, a line for each.
 */
export function findUnknownMasks(
  tables: readonly TableSchema[],
  { masks, tables: chosen }: CloneOptions,
): string[] {
  const columns = new Set(
    tables.flatMap(({ schema = "public", name, columns }) =>
      columns.flatMap((column) => [`${name}.${column.name}`, `${schema}.${name}.${column.name}`])
    ),
  );
  const names = new Set(
    tables.flatMap(({ schema = "public", name }) => [name, `${schema}.${name}`]),
  );
  return Object.keys(masks)
    .filter((key) => !columns.has(key))
    .filter((key) => chosen.length === 0 || names.has(key.slice(0, key.lastIndexOf("."))))
    .map((key) =>
      `database.cloneMasks names ${key}, and the source has no such column: correct the name`
    );
}

/** Says why a mask would break a constraint of the table, or returns `undefined`. */
export function findConflict(
  table: TableSchema,
  column: TableColumn,
  mask: Mask,
): string | undefined {
  const isIn = (columns: readonly string[] | undefined) => columns?.includes(column.name) === true;
  const has = (type: string) =>
    table.constraints.some((one) => one.type === type && isIn(one.columns));
  if (has("primary_key") || has("foreign_key")) return "it is part of a key";
  const isUnique = has("unique") || table.indexes.some(({ unique, keys }) => unique && isIn(keys));
  if (isUnique && typeof mask === "object") return "its values are unique: use a hash";
}

/**
 * Writes the expression that reads a masked value.
 *
 * @param column The source's column.
 * @param mask How its values are replaced.
 * @param salt Random text of this clone, so that hashes cannot be looked up.
 * @returns SQL, or why the column cannot be masked so.
 */
export function maskExpression(
  column: TableColumn,
  mask: Mask,
  salt: string,
): { sql: string } | { refusal: string } {
  if (mask === "null") {
    return column.notNull
      ? { refusal: "it is NOT NULL: mask it with a text or a hash" }
      : { sql: "NULL::text" };
  }
  const type = TEXT_TYPE.exec(column.type);
  if (type === null) {
    return { refusal: `its type is ${column.type}, and only texts can be masked so` };
  }
  const name = quoteName(column.name);
  const hash = `md5(${quoteText(salt)} || ${name}::text)`;
  const value = mask === "hash"
    ? hash
    : mask === "email"
    ? `${hash} || '@example.com'`
    : quoteText(mask.text);
  const cut = type[1] === undefined ? value : `left(${value}, ${type[1]})`;
  return { sql: `CASE WHEN ${name} IS NOT NULL THEN ${cut} END` };
}

function normalize(name: string): string {
  return name.toLowerCase().replaceAll("_", "");
}
