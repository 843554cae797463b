import { assertEquals } from "@std/assert";
import * as z from "zod";
import * as mini from "zod/mini";
import { getListKeys } from "../../validation/list_keys.ts";

const list = z.array(z.string());
const Tree: z.ZodType = z.lazy(() => z.union([z.string(), Tree]));

const FIELDS: [name: string, field: z.ZodType, asks: boolean][] = [
  ["an array", list, true],
  ["a set", z.set(z.string()), true],
  ["a tuple", z.tuple([z.string()]), true],
  ["optional", list.optional(), true],
  ["nullable", list.nullable(), true],
  ["default", list.default([]), true],
  ["prefault", list.prefault([]), true],
  ["catch", list.catch([]), true],
  ["readonly", list.readonly(), true],
  ["nonoptional", list.optional().nonoptional(), true],
  ["refine", list.refine(() => true), true],
  ["transform", list.transform((values) => values.length), true],
  ["pipe", list.pipe(z.transform(() => 1)), true],
  ["preprocess", z.preprocess((value) => value, list), true],
  ["union", z.union([z.string(), list]), true],
  ["lazy", z.lazy(() => list), true],
  ["intersection", z.intersection(list, z.array(z.string().min(1))), true],
  ["many layers", z.lazy(() => z.preprocess((v) => v, list.optional().default([]))), true],
  ["a string", z.string(), false],
  ["a string that becomes an array", z.string().transform((text) => text.split(",")), false],
  [
    "a string piped into an array",
    z.string().transform((text) => text.split(",")).pipe(list),
    false,
  ],
  ["an object with an array", z.object({ a: list }), false],
  ["a recursive union", Tree, false],
];

for (const [name, field, asks] of FIELDS) {
  Deno.test(`getListKeys() ${asks ? "finds" : "passes over"} ${name}`, () => {
    assertEquals([...getListKeys(z.object({ a: field, b: z.string() }))], asks ? ["a"] : []);
  });
}

const OBJECTS: [name: string, schema: Parameters<typeof getListKeys>[0]][] = [
  ["an object", z.object({ a: list })],
  ["a strict object", z.strictObject({ a: list })],
  ["a refined object", z.object({ a: list }).refine(() => true)],
  ["a transformed object", z.object({ a: list }).transform(({ a }) => a)],
  ["a preprocessed object", z.preprocess((value) => value, z.object({ a: list }))],
  ["an optional object", z.object({ a: list }).optional()],
  ["an intersection", z.intersection(z.object({ b: z.string() }), z.object({ a: list }))],
  ["a union", z.union([z.object({ b: z.string() }), z.object({ a: list })])],
  ["a compiled object", z.compile(z.object({ a: list }))],
  ["an object of zod/mini", mini.object({ a: mini.optional(mini.array(mini.string())) })],
];

for (const [name, schema] of OBJECTS) {
  Deno.test(`getListKeys() looks into ${name}`, () =>
    assertEquals([...getListKeys(schema)], ["a"]));
}

Deno.test("getListKeys() is empty without a schema and for what is no object", () => {
  assertEquals([
    getListKeys(undefined).size,
    getListKeys(z.string()).size,
    getListKeys(z.array(z.object({ a: list }))).size,
  ], [0, 0, 0]);
});
