import type { PgTable } from "drizzle-orm/pg-core";
import type { DrizzleModules } from "../precompile_queries/codecs.ts";

/** A table as it is declared for queries, without its builders. */
export interface PlainTable {
  readonly name: string;
  /** The names of its columns by property. */
  readonly columns: Readonly<Record<string, string>>;
  readonly schema?: string;
}

/** Renders options of queries, which were evaluated, as code without drizzle. */
export class OptionsRenderer {
  readonly #drizzle: DrizzleModules;
  /** The tables by their specifier. */
  readonly tables: Map<string, PlainTable> = new Map();

  /** @param drizzle The project's drizzle. */
  constructor(drizzle: DrizzleModules) {
    this.#drizzle = drizzle;
  }

  /**
   * Renders a value.
   *
   * @param addTable Returns the name in the module for a table.
   * @returns The code; `undefined` if it has other values than tables, lists, plain objects and primitives.
   */
  render(value: unknown, addTable: (key: string) => string): string | undefined {
    if (value === undefined) return "undefined";
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : undefined;
    if (value === null || typeof value === "string" || typeof value === "boolean") {
      return JSON.stringify(value);
    }
    if (Array.isArray(value)) {
      const items = value.map((each) => this.render(each, addTable));
      return items.includes(undefined) ? undefined : `[${items.join(", ")}]`;
    }
    if (typeof value !== "object") return undefined;
    if (this.#drizzle.core.is(value, this.#drizzle.pg.PgTable)) {
      return addTable(this.#addTable(value as PgTable));
    }
    return this.#renderObject(value, addTable);
  }

  #renderObject(value: object, addTable: (key: string) => string): string | undefined {
    if (Object.getPrototypeOf(value) !== Object.prototype) return undefined;
    const members = Object.entries(value).map(([key, member]) => {
      const code = key === "__proto__" ? undefined : this.render(member, addTable);
      return code === undefined ? undefined : `${JSON.stringify(key)}: ${code}`;
    });
    return members.includes(undefined) ? undefined : `{ ${members.join(", ")} }`;
  }

  #addTable(table: PgTable): string {
    const { name, schema } = this.#drizzle.pg.getTableConfig(table);
    const columns = Object.entries(this.#drizzle.core.getTableColumns(table));
    const plain: PlainTable = {
      name,
      columns: Object.fromEntries(columns.map(([property, column]) => [property, column.name])),
      schema,
    };
    const key = JSON.stringify(plain);
    this.tables.set(key, plain);
    return key;
  }
}
