import { assertEquals, assertThrows } from "@std/assert";
import { type Column, getTableColumns, is, SQL, sql, Subquery, Table, View } from "drizzle-orm";
import {
  alias,
  bit,
  getTableConfig,
  halfvec,
  integer,
  PgColumn,
  pgSchema,
  type PgTable,
  pgTable,
  pgView,
  primaryKey,
  QueryBuilder,
  sparsevec,
  text,
  vector,
} from "drizzle-orm/pg-core";
import {
  getColumns,
  getPrimaryKey,
  getTableNames,
  isKind,
  isTable,
} from "../../../database/session/drizzle_table.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

const notes = pgTable("notes", { id: integer("note_id").primaryKey(), title: text("title") });
const own = pgSchema("own").table("Own Table", { id: integer("id") });
const TABLES: readonly PgTable[] = [notes, own, alias(notes, "other")];

Deno.test("getColumns() returns the columns of pgvector, which have dimensions in drizzle 0.45, too", () => {
  const table = pgTable("chunks", {
    id: integer("id"),
    whole: vector("whole", { dimensions: 3 }),
    half: halfvec("half", { dimensions: 3 }),
    sparse: sparsevec("sparse", { dimensions: 3 }),
    bits: bit("bits", { dimensions: 3 }),
  });
  assertEquals(Object.keys(getColumns(table)), ["id", "whole", "half", "sparse", "bits"]);
});

/** Lists the columns of a table; an alias creates them whenever they are read. */
function listColumns(columns: Readonly<Record<string, Column>>): [string, string, string][] {
  return Object.entries(columns).map(([property, { name, columnType }]) => [
    property,
    name,
    columnType,
  ]);
}

Deno.test("getTableNames() and getColumns() read a table as drizzle does", () => {
  for (const table of TABLES) {
    const { name, schema } = getTableConfig(table);
    assertEquals(getTableNames(table), { name, schema });
    assertEquals(listColumns(getColumns(table)), listColumns(getTableColumns(table as never)));
  }
  assertThrows(() => getTableNames({}), ConfigurationError, "neither a drizzle table nor a name");
});

Deno.test("getPrimaryKey() returns the columns of drizzle's key in their order", () => {
  const columns = () => ({ a: integer("first"), b: integer("second"), c: text("c") });
  const tables = [
    ...TABLES,
    pgTable("list", columns(), (table) => [primaryKey({ columns: [table.b, table.a] })]),
    pgTable("record", columns(), (table) => ({ key: primaryKey({ columns: [table.c, table.a] }) })),
    pgTable("nested", columns(), (table) => [[primaryKey({ columns: [table.a] })]] as never),
  ];
  const names = tables.map((table) => getPrimaryKey(table).map(({ name }) => name));
  const expected = tables.map((table) => {
    const { primaryKeys: [key], columns } = getTableConfig(table as PgTable);
    return (key?.columns ?? columns.filter(({ primary }) => primary)).map(({ name }) => name);
  });
  assertEquals(names, expected);
  assertEquals(names.slice(3), [["second", "first"], ["c", "first"], ["first"]]);
});

Deno.test("isKind() finds the class that drizzle finds", () => {
  const view = pgView("notes_view").as((query) => query.select().from(notes));
  const values = [
    ...TABLES,
    notes.id,
    alias(notes, "other").id,
    sql`1`,
    sql`1`.as("one"),
    view,
    new QueryBuilder().select().from(notes).as("inner"),
    {},
    [],
    Object.create(null, { constructor: { value: undefined } }),
    null,
    undefined,
    "text",
  ];
  const types = { Table, PgColumn, SQL, Subquery, View };
  for (const value of values) {
    for (const [kind, type] of Object.entries(types)) {
      const hasPrototype = typeof value !== "object" || value === null ||
        Object.getPrototypeOf(value) !== null;
      assertEquals(isKind(value, kind), hasPrototype && is(value, type as never), kind);
    }
    assertEquals(isTable(value), isKind(value, "Table"));
  }
});
