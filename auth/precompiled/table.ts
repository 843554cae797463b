import { COLUMNS, NAME, SCHEMA } from "../../database/drizzle_table.ts";
import { ENTITY_KIND } from "../../database/entity_kind.ts";

type Codec = (value: unknown) => unknown;

/** A column of a table for auth, as it is written into a bundle without drizzle. */
export interface AuthColumnOptions {
  /** Name in the database. */
  readonly name: string;
  /** drizzle's type of its values, if a check of the configuration reads it. */
  readonly dataType?: string;
  /** Type in the database, if ids are compared with it. */
  readonly sqlType?: string;
  /** Decodes a value that is not null. */
  readonly decode?: Codec;
  /** Encodes a value that is not null. */
  readonly encode?: Codec;
  /** True if the column has `$onUpdate`. */
  readonly isUpdated?: boolean;
  /** True if the value is parsed as JSON also where the server sends a text. */
  readonly isJson?: boolean;
}

/** A column of a table for auth without drizzle's class. */
export interface AuthColumn extends AuthColumnOptions {
  readonly table: AuthTable;
}

/** Property with the function that returns drizzle's table, which is in the second file. */
const LOAD: unique symbol = Symbol("drizzle's table");

/** A table for auth without drizzle's class. Its columns are its properties. */
export class AuthTable {
  /** The kind of drizzle's class. */
  static readonly [ENTITY_KIND] = "Table";
  readonly [NAME]: string;
  readonly [SCHEMA]: string | undefined;
  readonly [COLUMNS]: Readonly<Record<string, AuthColumn>>;
  readonly [LOAD]: (() => object) | undefined;

  /** As for {@link defineAuthTable}. */
  constructor(...[name, columns, schema, load]: Parameters<typeof defineAuthTable>) {
    this[NAME] = name;
    this[SCHEMA] = schema;
    this[COLUMNS] = Object.fromEntries(
      Object.entries(columns).map(([property, given]) => {
        const options = typeof given === "string" ? { name: given } : given;
        return [property, { ...options, table: this }];
      }),
    );
    this[LOAD] = load;
    Object.assign(this, this[COLUMNS]);
  }
}

/**
 * Replaces a table in a configuration of auth, whose statements need names and codecs only.
 *
 * @param name The table's name.
 * @param columns Its columns by property; those that need no codec by their name.
 * @param schema The schema, if the table has one.
 * @param load Returns drizzle's table. Not for built-in tables.
 */
export function defineAuthTable(
  name: string,
  columns: Readonly<Record<string, string | AuthColumnOptions>>,
  schema?: string,
  load?: () => object,
): AuthTable {
  return new AuthTable(name, columns, schema, load);
}

/** Returns drizzle's tables for those of the application. Built-in tables are omitted. */
export function loadTables(tables: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const own = Object.entries(tables).map(([model, table]) => {
    return [model, table instanceof AuthTable ? table[LOAD]?.() : table];
  });
  return Object.fromEntries(own.filter(([, table]) => table !== undefined));
}
