import { assertEquals, assertThrows } from "@std/assert";
import { fillPlaceholders, Param, Placeholder } from "drizzle-orm";
import { bigint, boolean, integer, jsonb, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import fc from "fast-check";
import { createPlaceholderFiller } from "../../../database/session/placeholders.ts";
import { testSeed } from "../../support/seed.ts";

const table = pgTable("notes", {
  id: integer("id"),
  big: bigint("big", { mode: "bigint" }),
  title: text("title"),
  tags: text("tags").array(),
  data: jsonb("data"),
  at: timestamp("at", { withTimezone: true }),
  done: boolean("done"),
});
const VALUES: [keyof typeof table._.columns, fc.Arbitrary<unknown>][] = [
  ["id", fc.integer()],
  ["big", fc.bigInt()],
  ["title", fc.string()],
  ["tags", fc.array(fc.string())],
  ["data", fc.object()],
  ["at", fc.date({ noInvalidDate: true })],
  ["done", fc.boolean()],
];

const parameter = fc.constantFrom(...VALUES).chain(([name, values]) =>
  fc.tuple(fc.constantFrom("given", "placeholder", "encoded"), fc.constant(name), values)
);

Deno.test("createPlaceholderFiller() gives the parameters that drizzle gives", () => {
  fc.assert(
    fc.property(fc.array(parameter), (drawn) => {
      const values: Record<string, unknown> = {};
      const params = drawn.map(([kind, column, value], at) => {
        if (kind === "given") return value;
        const placeholder = new Placeholder(`p${at}`);
        values[`p${at}`] = value;
        return kind === "placeholder" ? placeholder : new Param(placeholder, table[column]);
      });
      assertEquals(createPlaceholderFiller(params)(values), fillPlaceholders(params, values));
    }),
    { seed: testSeed, numRuns: 300 },
  );
});

Deno.test("createPlaceholderFiller() sends null as NULL, whatever the column", () => {
  for (const [column] of VALUES) {
    const fill = createPlaceholderFiller([new Param(new Placeholder("value"), table[column])]);
    assertEquals(fill({ value: null }), [null]);
  }
});

Deno.test("createPlaceholderFiller() throws without the value of a placeholder", () => {
  const placeholder = new Placeholder("title");
  for (const param of [placeholder, new Param(placeholder, table.title)]) {
    assertThrows(() => createPlaceholderFiller([param])({}), Error, '"title"');
  }
});
