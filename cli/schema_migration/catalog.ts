import { qualify } from "../../sql/quote.ts";

/** A column of a table. Types and expressions are those that PostgreSQL prints. */
export interface CatalogColumn {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** Collation, if it is not that of the type. */
  readonly collation: string | null;
  /** `ALWAYS` or `BY DEFAULT`. */
  readonly identity: string | null;
  /** Options of the sequence of an identity column: `INCREMENT BY 1 …`. */
  readonly sequence: string | null;
  /** True if the default is the next value of a sequence that belongs to the column. */
  readonly isSerial: boolean;
  /** The sequence of an identity or serial column. */
  readonly ownSequence: { readonly schema: string; readonly name: string } | null;
  readonly default: string | null;
  /** `GENERATED ALWAYS AS (…) STORED` */
  readonly generated: string | null;
  /** True for a column that follows the one of a parent. */
  readonly isInherited: boolean;
}

/** A constraint or an index. */
export interface CatalogRule {
  readonly name: string;
  readonly kind: "primary key" | "foreign key" | "unique" | "check" | "exclusion" | "index";
  /** What is compared: the definition without the name. */
  readonly key: string;
  /** Follows `ADD CONSTRAINT <name>`; for an index, the whole statement. */
  readonly definition: string;
  /** Label of the table that a foreign key references. */
  readonly references: string | null;
  /** True for a rule that follows the one of a parent. */
  readonly isInherited: boolean;
}

/** A policy of row security. */
export interface CatalogPolicy {
  readonly name: string;
  /** Follows the table in CREATE POLICY. */
  readonly definition: string;
}

/** A table. */
export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  readonly hasRowSecurity: boolean;
  readonly policies: readonly CatalogPolicy[];
  readonly columns: readonly CatalogColumn[];
  readonly rules: readonly CatalogRule[];
}

/** A sequence. */
export interface CatalogObject {
  readonly schema: string;
  readonly name: string;
  readonly definition: string;
}

/** A view. The definition is its kind with its query. */
export interface CatalogView extends CatalogObject {
  readonly isMaterialized: boolean;
  /** Values by names: `security_invoker`, `fillfactor`. */
  readonly options: Readonly<Record<string, string>>;
  /** Access method of a materialized view. */
  readonly method: string | null;
  /** Tablespace of a materialized view, if it is not that of the database. */
  readonly tablespace: string | null;
}

/** An enum with its values in order. */
export interface CatalogEnum {
  readonly schema: string;
  readonly name: string;
  readonly values: readonly string[];
  /** The type of its columns, as PostgreSQL prints it. */
  readonly type: string;
}

/** The objects of a database that a drizzle schema can declare. */
export interface Catalog {
  readonly schemas: readonly string[];
  readonly enums: readonly CatalogEnum[];
  readonly sequences: readonly CatalogObject[];
  readonly tables: readonly CatalogTable[];
  readonly views: readonly CatalogView[];
}

/** Returns the name of an object for options and messages: `notes`, or `app.notes`. */
export function getLabel({ schema, name }: { schema: string; name: string }): string {
  return schema === "public" ? name : `${schema}.${name}`;
}

/** Quotes the name of a table; the schema `public` is left out. */
export function quoteTable({ schema, name }: { schema: string; name: string }): string {
  return qualify(schema === "public" ? undefined : schema, name);
}

/** Finds a statement that creates an object by its beginning. */
export function findCreated(created: readonly string[], ...starts: string[]): string | undefined {
  return created.find((sql) => starts.some((start) => sql.startsWith(start)));
}
