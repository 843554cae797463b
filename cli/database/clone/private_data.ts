import type { TableColumn, TableSchema } from "../../../distsql/schema/table_schema.ts";
import { quoteLiteral, quoteName } from "../../../sql/quote.ts";
import type { CloneOptions, Mask } from "../../config/clone.ts";

/** Tables of credentials by name without underscores, with a column that identifies them. */
const CREDENTIAL_TABLES: Readonly<Record<string, string>> = {
  session: "token",
  sessions: "token",
  verification: "value",
  verifications: "value",
};

/** Columns that contain credentials in any table, by name without underscores. */
const CREDENTIAL_COLUMNS: ReadonlySet<string> = new Set([
  "password",
  "passwordhash",
  "accesstoken",
  "refreshtoken",
  "idtoken",
  "clientsecret",
  "privatekey",
  "backupcodes",
  "apikey",
  "totpsecret",
]);
/** Columns that contain credentials in tables of better-auth's plugins. */
const CREDENTIAL_COLUMNS_BY_TABLE: Readonly<Record<string, string>> = {
  twofactor: "secret",
  twofactors: "secret",
  apikey: "key",
  apikeys: "key",
};

const TEXT_TYPE = /^(?:text|citext|character varying|varchar|character|char|bpchar)(?:\((\d+)\))?$/;

/**
 * Checks whether a clone skips the rows of a table: sessions and verifications, unless
 * `--with-credentials` is used.
 */
export function isSkipped(table: TableSchema, { credentials }: CloneOptions): boolean {
  const marker = CREDENTIAL_TABLES[normalize(table.name)];
  return !credentials && marker !== undefined &&
    table.columns.some(({ name }) => normalize(name) === marker);
}

/** Returns the mask of a column, or `undefined` if its values are copied unchanged. */
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
    CREDENTIAL_COLUMNS_BY_TABLE[normalize(name)] === normalized;
  if (!isCredential) return undefined;
  return column.notNull ? { text: "" } : "null";
}

/**
 * Finds masks of unknown columns: a misspelt name would copy unmasked values.
 *
 * @param tables The tables of the clone.
 * @param options Masks and selected tables; masks of other tables are ignored.
 * @returns One message for each mask.
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
    .map((key) => `database.cloneMasks: the source has no column ${key}`);
}

/** Returns why a mask would violate a constraint of the table, or `undefined`. */
export function findConflict(
  table: TableSchema,
  column: TableColumn,
  mask: Mask,
): string | undefined {
  const isIn = (columns: readonly string[] | undefined) => columns?.includes(column.name) === true;
  const has = (type: string) =>
    table.constraints.some((one) => one.type === type && isIn(one.columns));
  if (has("primary_key") || has("foreign_key")) return "because it is part of a key";
  const isUnique = has("unique") || table.indexes.some(({ unique, keys }) => unique && isIn(keys));
  if (isUnique && typeof mask === "object") return "because its values are unique: use a hash";
}

/**
 * Builds the expression that reads a masked value.
 *
 * @param column The column of the source.
 * @param salt Random salt of this clone, so that hashes cannot be looked up.
 * @returns SQL, or why the column cannot have this mask.
 */
export function maskExpression(
  column: TableColumn,
  mask: Mask,
  salt: string,
): { sql: string } | { refusal: string } {
  if (mask === "null") {
    return column.notNull
      ? { refusal: "because it is NOT NULL: use a text or a hash" }
      : { sql: "NULL::text" };
  }
  const type = TEXT_TYPE.exec(column.type);
  if (type === null) {
    return { refusal: `because its type is ${column.type}, and this mask requires a text column` };
  }
  const name = quoteName(column.name);
  const hash = `md5(${quoteLiteral(salt)} || ${name}::text)`;
  const value = mask === "hash"
    ? hash
    : mask === "email"
    ? `${hash} || '@example.com'`
    : quoteLiteral(mask.text);
  const cut = type[1] === undefined ? value : `left(${value}, ${type[1]})`;
  return { sql: `CASE WHEN ${name} IS NOT NULL THEN ${cut} END` };
}

function normalize(name: string): string {
  return name.toLowerCase().replaceAll("_", "");
}
