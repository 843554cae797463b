import { is, SQL } from "drizzle-orm";
import {
  type ForeignKey,
  getMaterializedViewConfig,
  getTableConfig,
  getViewConfig,
  type Index,
  type IndexedColumn,
  PgMaterializedView,
  type PgPolicy,
  type PgPolicyToOption,
  PgRole,
  type PgSequence,
  type PgTable,
  type PgView,
  uniqueKeyName,
} from "drizzle-orm/pg-core";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import { getLabel } from "./catalog.ts";
import {
  renderColumn,
  renderIndexSql,
  renderSequenceOptions,
  renderSql,
} from "./column_definition.ts";
import type { DeclaredObjects } from "./declared_objects.ts";

/**
 * Returns the statements that create all objects of a drizzle schema in an empty database.
 *
 * @returns The statements, in the order in which they can run.
 * @throws {ConfigurationError} If an object cannot be rendered.
 */
export function listCreateStatements(declared: DeclaredObjects): string[] {
  const { tables, referenced, enums, sequences, schemas, views } = declared;
  const all = [...referenced, ...tables];
  return [
    ...schemas.map((name) => `CREATE SCHEMA ${quoteName(name)}`),
    ...enums.map(({ schema, enumName, enumValues }) =>
      `CREATE TYPE ${qualify(schema ?? "public", enumName)} AS ENUM ` +
      `(${enumValues.map(quoteLiteral).join(", ")})`
    ),
    ...sequences.map(createSequence),
    ...all.map(createTable),
    ...all.flatMap((table) => listForeignKeys(table).map(createForeignKey)),
    ...all.flatMap((table) =>
      getTableConfig(table).indexes.map((index) => createIndex(table, index))
    ),
    // like drizzle-kit: a policy without it would protect nothing
    ...all.filter((table) => {
      const { enableRLS, policies } = getTableConfig(table);
      return enableRLS || policies.length > 0;
    }).map((table) => `ALTER TABLE ${nameTable(table)} ENABLE ROW LEVEL SECURITY`),
    ...views.flatMap(createView),
    ...tables.flatMap((table) =>
      getTableConfig(table).policies.map((policy) => createPolicy(table, policy))
    ),
  ];
}

function nameTable(table: PgTable): string {
  const { schema, name } = getTableConfig(table);
  return qualify(schema === "public" ? undefined : schema, name);
}

function createSequence({ schema, seqName, seqOptions = {} }: PgSequence): string {
  const name = qualify(schema ?? "public", seqName ?? "");
  return `CREATE SEQUENCE ${name} ${renderSequenceOptions(seqOptions)}`;
}

function createTable(table: PgTable): string {
  const { columns, primaryKeys, uniqueConstraints, checks } = getTableConfig(table);
  const lines = [
    ...columns.map(renderColumn),
    ...primaryKeys.map((key) =>
      `CONSTRAINT ${quoteName(key.getName())} PRIMARY KEY (${listNames(key.columns)})`
    ),
    ...columns.filter(({ isUnique }) => isUnique).map((column) =>
      renderUnique(
        column.uniqueName ?? uniqueKeyName(table, [column.name]),
        [column],
        column.uniqueType === "not distinct",
      )
    ),
    ...uniqueConstraints.map((unique) =>
      renderUnique(unique.getName()!, unique.columns, unique.nullsNotDistinct)
    ),
    ...checks.map(({ name, value }) => `CONSTRAINT ${quoteName(name)} CHECK (${renderSql(value)})`),
  ];
  return `CREATE TABLE ${nameTable(table)} (\n  ${lines.join(",\n  ")}\n)`;
}

function listNames(columns: readonly { readonly name: string }[]): string {
  return columns.map(({ name }) => quoteName(name)).join(", ");
}

function renderUnique(
  name: string,
  columns: readonly { readonly name: string }[],
  isNullEqual: boolean,
): string {
  const nulls = isNullEqual ? " NULLS NOT DISTINCT" : "";
  return `CONSTRAINT ${quoteName(name)} UNIQUE${nulls} (${listNames(columns)})`;
}

/** Lists foreign keys. One of `foreignKey()` replaces one of `references()` with the same name. */
function listForeignKeys(table: PgTable): ForeignKey[] {
  const { foreignKeys } = getTableConfig(table);
  return [...new Map(foreignKeys.map((key) => [key.getName(), key])).values()];
}

function createForeignKey(key: ForeignKey): string {
  const { columns, foreignColumns, foreignTable } = key.reference();
  const action = (event: string, what: string | undefined) =>
    what === undefined ? "" : ` ON ${event} ${what.toUpperCase()}`;
  return `ALTER TABLE ${nameTable(key.table)} ADD CONSTRAINT ${quoteName(key.getName())} ` +
    `FOREIGN KEY (${listNames(columns)}) REFERENCES ${nameTable(foreignTable)} ` +
    `(${listNames(foreignColumns)})${action("DELETE", key.onDelete)}` +
    action("UPDATE", key.onUpdate);
}

const ROLE_WORDS: readonly string[] = ["public", "current_role", "current_user", "session_user"];

function createPolicy(table: PgTable, { name, as, for: command, to, using, withCheck }: PgPolicy) {
  return [
    `CREATE POLICY ${quoteName(name)} ON ${nameTable(table)}`,
    `AS ${(as ?? "permissive").toUpperCase()} FOR ${(command ?? "all").toUpperCase()}`,
    `TO ${listRoles(to).join(", ")}`,
    ...using === undefined ? [] : [`USING (${renderSql(using)})`],
    ...withCheck === undefined ? [] : [`WITH CHECK (${renderSql(withCheck)})`],
  ].join(" ");
}

function listRoles(to: PgPolicyToOption = "public"): string[] {
  if (Array.isArray(to)) return to.flatMap(listRoles);
  if (is(to, PgRole)) return [quoteName(to.name)];
  return [ROLE_WORDS.includes(to) ? to : quoteName(to)];
}

/**
 * Lists the indexes that are declared with `.concurrently()`.
 *
 * @returns Their labels: `notes:notes_title_idx`.
 */
export function listConcurrentIndexes({ tables }: DeclaredObjects): Set<string> {
  return new Set(tables.flatMap((table) => {
    const { schema = "public", name, indexes } = getTableConfig(table);
    return indexes.filter(({ config }) => config.concurrently).map((index) =>
      `${getLabel({ schema, name })}:${getIndexName(table, index)}`
    );
  }));
}

function getIndexName(table: PgTable, { config: { name, columns } }: Index): string {
  if (name !== undefined) return name;
  const names = columns.flatMap((column) =>
    is(column, SQL) ? [] : [(column as IndexedColumn).name]
  );
  const { name: tableName } = getTableConfig(table);
  if (names.length < columns.length) {
    throw new ConfigurationError(
      `An index of ${tableName} has an expression and no name: pass a name to index()`,
    );
  }
  // the default name of drizzle-kit
  return `${tableName}_${names.join("_")}_index`;
}

function createIndex(table: PgTable, index: Index): string {
  const { columns, unique, where, method = "btree", with: storage = {} } = index.config;
  const parts = columns.map((column) =>
    is(column, SQL) ? renderElement(column) : renderIndexColumn(column as IndexedColumn)
  );
  const name = getIndexName(table, index);
  return `CREATE ${unique ? "UNIQUE " : ""}INDEX ${quoteName(name)} ON ${nameTable(table)} ` +
    `USING ${method} (${parts.join(", ")})` + renderStorage(storage) +
    (where === undefined ? "" : ` WHERE ${renderSql(where)}`);
}

/** Renders options of storage: ` WITH (fillfactor=70)`. */
function renderStorage(options: object): string {
  const parts = Object.entries(options).filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${value}`);
  return parts.length === 0 ? "" : ` WITH (${parts.join(", ")})`;
}

/** Words at which an expression cannot end as a column or a call. */
const OPERATORS: ReadonlySet<string> = new Set(["NOT", "ISNULL", "NOTNULL"]);

/**
 * Renders an expression of an index. An operator class or an order may follow it, as in
 * `lower(title) DESC NULLS LAST` or `data jsonb_path_ops`; other expressions need parentheses.
 */
function renderElement(expression: SQL): string {
  const text = renderIndexSql(expression);
  const reader = parseStatement(text);
  let at = reader.nameEnd(0);
  if (reader.isOneOf(0, OPERATORS)) return `(${text})`;
  if (reader.key(at) === "(") at = reader.closing(at) + 1;
  if (reader.key(at) === "COLLATE") at = reader.nameEnd(at + 1);
  if (!reader.isOneOf(at, ORDER_WORDS) && !reader.isOneOf(at, OPERATORS)) at = reader.nameEnd(at);
  if (reader.isOneOf(at, DIRECTIONS)) at++;
  if (reader.is(at, "NULLS", "FIRST") || reader.is(at, "NULLS", "LAST")) at += 2;
  return at > 0 && at === reader.size ? text : `(${text})`;
}

const DIRECTIONS: ReadonlySet<string> = new Set(["ASC", "DESC"]);
const ORDER_WORDS: ReadonlySet<string> = new Set([...DIRECTIONS, "NULLS"]);

function renderIndexColumn({ name, indexConfig }: IndexedColumn): string {
  const { order, nulls, opClass } = indexConfig;
  return quoteName(name ?? "") + (opClass ? ` ${opClass}` : "") +
    (order === "desc" ? " DESC" : "") +
    // drizzle-kit's default for both orders
    (order === "desc" || nulls === "first" ? ` NULLS ${(nulls ?? "last").toUpperCase()}` : "");
}

function createView(view: PgView | PgMaterializedView): string[] {
  const isMaterialized = is(view, PgMaterializedView);
  const config: ViewConfig = isMaterialized
    ? getMaterializedViewConfig(view)
    : getViewConfig(view as PgView);
  const { schema, name, query, isExisting, using, tablespace, withNoData } = config;
  if (isExisting || query === undefined) return [];
  const options = Object.entries(config.with ?? {}).map(([key, value]) => [snakeCase(key), value]);
  return [
    `CREATE ${isMaterialized ? "MATERIALIZED VIEW" : "VIEW"} ${qualify(schema ?? "public", name)}` +
    (using === undefined ? "" : ` USING ${quoteName(using)}`) +
    renderStorage(Object.fromEntries(options)) +
    (tablespace === undefined ? "" : ` TABLESPACE ${quoteName(tablespace)}`) +
    ` AS (${renderSql(query)})` + (withNoData === true ? " WITH NO DATA" : ""),
  ];
}

/** What drizzle stores of views and materialized views. */
interface ViewConfig {
  readonly schema: string | undefined;
  readonly name: string;
  readonly query: SQL | undefined;
  readonly isExisting: boolean;
  /** Options in camel case. */
  readonly with?: object;
  readonly using?: string;
  readonly tablespace?: string;
  readonly withNoData?: boolean;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Lists the tablespaces that materialized views name. */
export function listTablespaces({ views }: DeclaredObjects): Set<string> {
  return new Set(
    views.flatMap((view) =>
      is(view, PgMaterializedView) ? getMaterializedViewConfig(view).tablespace ?? [] : []
    ),
  );
}
