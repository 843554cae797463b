import { assertEquals, assertThrows } from "@std/assert";
import * as z from "zod";
import * as mini from "zod/mini";
import { type JsonSchema, toJsonSchema, type ToJsonSchemaOptions } from "../../validation/mod.ts";

const Note = z.object({
  id: z.uuid(),
  count: z.number().gt(0),
  at: z.date(),
  tags: z.tuple([z.string()]).optional(),
});

const TARGETS: [
  target: ToJsonSchemaOptions["target"],
  version: string,
  exclusiveMinimum: Record<string, unknown>,
][] = [
  [undefined, "https://json-schema.org/draft/2020-12/schema", { exclusiveMinimum: 0 }],
  ["draft-2020-12", "https://json-schema.org/draft/2020-12/schema", { exclusiveMinimum: 0 }],
  ["draft-07", "http://json-schema.org/draft-07/schema#", { exclusiveMinimum: 0 }],
  ["draft-04", "http://json-schema.org/draft-04/schema#", { minimum: 0, exclusiveMinimum: true }],
];

for (const [target, version, bounds] of TARGETS) {
  Deno.test(`toJsonSchema() writes ${target ?? "2020-12 unless told"}`, () => {
    const schema = toJsonSchema(Note, { target });
    const { count, at } = schema.properties as Record<string, JsonSchema>;
    assertEquals(schema.$schema, version);
    assertEquals([schema.type, schema.required], ["object", ["id", "count", "at"]]);
    assertEquals(count, { type: "number", ...bounds });
    assertEquals(at, { type: "string", format: "date-time" });
  });
}

Deno.test("toJsonSchema() makes the name the title, which comes first", () => {
  assertEquals(Object.keys(toJsonSchema(Note, { name: "Note" })).slice(0, 2), ["$schema", "title"]);
  assertEquals("title" in toJsonSchema(Note), false);
});

Deno.test("toJsonSchema() describes input or output", () => {
  const schema = z.object({
    limit: z.coerce.number().default(20),
    flag: z.string().transform((text) => text === "1"),
  });
  assertEquals(toJsonSchema(schema, { io: "input" }).required, ["flag"]);
  assertEquals(toJsonSchema(schema).required, ["limit", "flag"]);
  assertEquals((toJsonSchema(schema).properties as Record<string, unknown>).flag, {});
});

Deno.test("toJsonSchema() is plain JSON, for zod/mini and compiled schemas too", () => {
  for (
    const schema of [Note, z.compile(Note), mini.object({ a: mini.bigint() }), z.custom<File>()]
  ) {
    const json = toJsonSchema(schema);
    assertEquals(JSON.parse(JSON.stringify(json)), json);
  }
});

Deno.test("toJsonSchema() refuses a target that is none of the three and names it", () => {
  for (const target of ["draft-7", "openapi-3.0", "toString"]) {
    assertThrows(
      () => toJsonSchema(Note, { target: target as ToJsonSchemaOptions["target"] }),
      RangeError,
      `target is ${target}: it must be draft-2020-12, draft-07, draft-04`,
    );
  }
});
