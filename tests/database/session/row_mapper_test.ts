import { assertEquals } from "@std/assert";
import { type Column, sql } from "drizzle-orm";
import * as drizzleUtils from "drizzle-orm/utils";
import {
  bigint,
  customType,
  integer,
  jsonb,
  numeric,
  pgTable,
  type SelectedFieldsOrdered,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import fc from "fast-check";
import { toTextCells } from "../../../database/session/decode_rows.ts";
import { mapRow } from "../../../database/session/row_mapper.ts";
import { mapToFields } from "../../../database/session/client.ts";
import { testSeed } from "../../support/seed.ts";
import { isDrizzleOne } from "../../../database/session/drizzle_version.ts";

const { mapResultRow } = drizzleUtils as unknown as {
  mapResultRow(
    fields: SelectedFieldsOrdered,
    row: unknown[],
    notNullable: Record<string, boolean> | undefined,
  ): unknown;
};

const cents = customType<{ data: { cents: number }; driverData: string }>({
  dataType: () => "numeric",
  fromDriver: (value) => ({ cents: Number(value) * 100 }),
});
const tables = ["a", "b", "c"].map((name) =>
  pgTable(name, {
    id: integer("id").primaryKey(),
    big: bigint("big", { mode: "bigint" }),
    amount: numeric("amount"),
    price: cents("price"),
    title: text("title"),
    tags: text("tags").array(),
    data: jsonb("data"),
    at: timestamp("at", { withTimezone: true }),
  })
);
const columns = tables.flatMap((
  table,
) => [
  table.id,
  table.big,
  table.amount,
  table.price,
  table.title,
  table.tags,
  table.data,
  table.at,
]);
const TEXTS: Record<string, string> = {
  PgBigInt64: "12345678901234567890",
  PgInteger: "7",
  PgTimestamp: "2026-01-01 00:00:00+00",
  PgArray: "{a,b}",
  PgJsonb: '{"a":1}',
};
const expressions = [
  sql`1`,
  sql<number>`count(*)`.mapWith(Number),
  sql`lower(x)`.as("lower"),
  sql`price`.mapWith(tables[0].price).as("price"),
];
const field = fc.oneof(
  fc.constantFrom(...columns as Column[]),
  fc.constantFrom(...expressions),
);
const path = fc.array(fc.constantFrom("a", "b", "c", "id", "title"), {
  minLength: 1,
  maxLength: 3,
});

Deno.test("mapRow() returns the objects of drizzle's mapResultRow for generated fields and rows", {
  // 1.0 has another function
  ignore: isDrizzleOne,
}, () => {
  const cases = fc.record({
    fields: fc.array(fc.record({ path, field }), { minLength: 1, maxLength: 8 }),
    nulls: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    notNullable: fc.option(
      fc.record({ a: fc.boolean(), b: fc.boolean(), c: fc.boolean() }),
      { nil: undefined },
    ),
  });
  fc.assert(
    fc.property(cases, ({ fields, nulls, notNullable }) => {
      // a path cannot lead through a value
      fc.pre(
        fields.every(({ path: one }) =>
          fields.every(({ path: other }) =>
            one.length >= other.length || one.some((name, at) => name !== other[at])
          )
        ),
      );
      const selected = fields as unknown as SelectedFieldsOrdered;
      const row = fields.map(({ field }, at) =>
        nulls[at] ? null : TEXTS[(field as Column).columnType] ?? "5"
      );
      // drizzle parses the text of a json column itself
      const parsed = row.map((value, at) =>
        (fields[at].field as Column).columnType === "PgJsonb" ? JSON.parse(String(value)) : value
      );
      assertEquals(
        mapRow(mapToFields(selected).cells, parsed, notNullable),
        mapResultRow(selected, row, notNullable) as Record<string, unknown>,
      );
    }),
    { seed: testSeed, numRuns: 2000 },
  );
});

Deno.test("mapRow() keeps a field whose name is a property of all objects", () => {
  const fields = [
    { path: ["constructor", "id"], field: tables[0].id },
    { path: ["constructor", "title"], field: tables[0].title },
  ];
  assertEquals(mapRow(mapToFields(fields).cells, [1, "x"], undefined), {
    constructor: { id: 1, title: "x" },
  } as never);
});

Deno.test("toTextCells() gives a decoder no null, also if it is the null of JSON", () => {
  const field = sql`'null'::json`.mapWith((value) => ({ value }));
  const { cells } = mapToFields([{ path: ["a"], field }, { path: ["b"], field }]);
  const columns = ["a", "b"].map((name) => ({ name, type: 114 }));
  assertEquals(mapRow(toTextCells(cells, columns), ["null", "[1]"], undefined), {
    a: null,
    b: { value: [1] },
  });
});
