import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import * as z from "zod";
import * as core from "zod/v4/core";
import * as mini from "zod/mini";
import { writeSchemaParser } from "../../../cli/build/precompile/compile_schemas.ts";
import {
  ASK_ZOD,
  countCodePoints,
  type FastParser,
} from "../../../validation/precompiled_schema.ts";
import { testSeed } from "../../support/seed.ts";
import { getShape, schemas, valueFor } from "../../validation/schema_arbitraries.ts";

/** `TRELLIS_SEED` runs a seed again, `TRELLIS_PROPERTY_RUNS` more cases than the short form. */
const seed = testSeed;
const numRuns = Number(Deno.env.get("TRELLIS_PROPERTY_RUNS") ?? 2000);
// deno-lint-ignore no-console
console.log(`property tests of compiled schemas: TRELLIS_SEED=${seed}`);

/** Returns the parser that the build writes for a schema; `undefined` if it leaves the schema to zod. */
function compileSchema(schema: core.$ZodType): FastParser | undefined {
  const parser = writeSchemaParser(schema);
  if ("reason" in parser) return undefined;
  const make = new Function("ASK_ZOD", "COUNT", `${parser.code}return ${parser.name};`);
  return make(ASK_ZOD, countCodePoints) as FastParser;
}

/** Only zod 4.6 is compiled; schemas of an older one are left to it. */
const isCompiled = z.string()._zod.version.minor === 6;

function testCompiled(name: string, fn: () => void): void {
  Deno.test({ name, ignore: !isCompiled, fn });
}

/** Schemas that compile, and what they are tried with. */
const KNOWN: [name: string, schema: core.$ZodType, inputs: unknown[]][] = [
  ["string", z.string(), ["", "a", 1, null, undefined]],
  ["string with bounds", z.string().min(2).max(3), [
    "",
    "a",
    "ab",
    "abc",
    "abcd",
    "😀",
    "😀😀",
    "😀😀😀",
    "😀😀😀😀",
    "\ud83d",
  ]],
  ["string of a length", z.string().length(2), ["a", "ab", "abc", "😀", "😀😀", "a😀"]],
  ["string trimmed", z.string().trim().toLowerCase().min(1), [" A ", "  ", "\tB\n", 1]],
  ["string in upper case", z.string().toUpperCase(), ["straße", ""]],
  ["regex", z.string().regex(/^a+$/), ["a", "b", ""]],
  ["regex with a memory", z.string().regex(/a/g), ["a", "aa", "ba", "b"]],
  ["includes from a position", z.string().includes("b", { position: 1 }), ["ab", "ba", "bab"]],
  ["starts, ends, includes", z.string().startsWith("a").endsWith("c").includes("b"), [
    "abc",
    "ac",
    "xabc",
  ]],
  ["lower case", z.string().lowercase(), ["a", "A"]],
  ["email", z.email().max(20), ["a@b.co", "a", "ada.lovelace@example.com"]],
  ["uuid", z.uuid(), ["3f2504e0-4f89-41d3-9a0c-0305e82c3301", "3f2504e0"]],
  ["url", z.url(), [
    "https://example.com",
    " https://example.com/ ",
    "https://exa\nmple.com",
    "nope",
  ]],
  ["url with host", z.url({ hostname: /^example\.com$/ }), [
    "https://example.com",
    "https://other.com",
    "nope",
  ]],
  ["http url", z.httpUrl(), [
    "https://example.com/a?b#c",
    "HTTP://EXAMPLE.com",
    "http:example.com",
    "ftp://example.com",
    "https://localhost",
    "\u00a0https://example.com",
    "https://example.com\u2028",
    "https://example.com/\u2028a",
  ]],
  ["normalized url", z.url({ normalize: true, protocol: /^https?$/g }), [
    "https://EXAMPLE.com",
    "http:example.com",
    "mailto:a@b.co",
    "HTTPS://example.com/a/../b",
  ]],
  ["date and time", z.iso.datetime(), ["2026-11-21T00:00:00Z", "2026-11-21"]],
  ["number", z.number(), [0, -0, 1.5, NaN, Infinity, "1", null]],
  ["number with bounds", z.number().gt(1).lte(3), [1, 1.5, 3, 3.5, 2.1]],
  ["multiples", z.number().multipleOf(3), [6, 7, -9, -0, 2 ** 53, 6.000000000000001, 1.5]],
  ["uint32", z.uint32(), [0, -0, -1, 2 ** 32 - 1, 2 ** 32, 1.5]],
  ["undefined", z.object({ a: z.undefined(), b: z.undefined().optional() }), [
    {},
    { a: undefined },
    { a: null },
    { a: undefined, b: undefined },
  ]],
  ["int", z.int().min(1), [0, 1, 1.5, 2 ** 53, "1"]],
  ["int32", z.int32(), [1, 2 ** 31, 2 ** 31 - 1, -(2 ** 31), -(2 ** 31) - 1, 1.5]],
  ["boolean", z.boolean(), [true, false, 0, "true"]],
  ["null, any, unknown", z.object({ a: z.null(), b: z.any(), c: z.unknown() }), [
    { a: null, b: 1, c: {} },
    { a: null, b: undefined, c: undefined },
    { a: null },
    {},
  ]],
  ["literal", z.literal(["a", 1, true, null]), ["a", 1, true, null, "b", undefined]],
  ["literal of one", z.literal("a"), ["a", "b"]],
  ["enum", z.enum(["a", "b"]), ["a", "c", 1]],
  ["large enum", z.enum("abcdefghijkl".split("") as [string]), ["l", "m"]],
  ["coerced", z.object({ n: z.coerce.number(), s: z.coerce.string(), b: z.coerce.boolean() }), [
    { n: "1", s: 1, b: "" },
    { n: true, s: false, b: 1 },
    { n: null, s: null, b: null },
    { n: "x", s: {}, b: [] },
    { n: [], s: { toString: 1 }, b: {} },
    {},
  ]],
  ["coerced date", z.coerce.date(), ["2026-11-21", 1, -1, "x", null, new Date(5)]],
  ["optional", z.object({ a: z.string().optional(), b: z.int(), c: z.string().nullish() }), [
    { b: 1 },
    { a: "x", b: 1 },
    { a: undefined, b: 1, c: null },
    { c: "c", b: 1, a: "a" },
    { a: null, b: 1 },
  ]],
  ["default", z.object({ a: z.string().default("x"), b: z.array(z.int()).default([1]) }), [{}, {
    a: "y",
  }, {
    a: null,
  }]],
  ["readonly", z.object({ a: z.array(z.int()) }).readonly(), [{ a: [1] }, { a: ["x"] }]],
  ["array", z.array(z.string()).min(1).max(2), [[], ["a"], ["a", "b", "c"], ["a", 1], {}, "ab"]],
  ["array of a length", z.array(z.any()).length(1), [[], [1], [1, 2]]],
  ["strict object", z.strictObject({ a: z.int() }), [{ a: 1 }, { a: 1, b: 2 }, [], null]],
  ["loose object", z.looseObject({ b: z.int() }), [
    { a: 1, b: 2, c: 3 },
    JSON.parse('{"b":1,"__proto__":{"x":1}}'),
  ]],
  ["keys of Object.prototype", z.object({ toString: z.any(), constructor: z.any().optional() }), [
    {},
    { toString: 1 },
  ]],
  ["keys that are numbers", z.object({ b: z.int(), 1: z.int(), "a-b": z.int() }), [{
    "a-b": 1,
    1: 2,
    b: 3,
  }]],
  ["record", z.record(z.string(), z.int()), [
    { a: 1, b: 2 },
    { a: "x" },
    [],
    null,
    JSON.parse('{"__proto__":1,"a":2}'),
  ]],
  ["union", z.union([z.int(), z.literal("x"), z.object({ a: z.int() }), z.array(z.int())]), [
    1,
    "x",
    "y",
    { a: 1 },
    [1],
    {},
  ]],
  [
    "discriminated union",
    z.discriminatedUnion("t", [
      z.object({ t: z.literal("a"), n: z.coerce.number() }),
      z.strictObject({ t: z.enum(["b", "c"]), s: z.string() }),
    ]),
    [{ t: "a", n: "1" }, { t: "b", s: "x" }, { t: "c", s: 1 }, { t: "d" }, {}, [], null],
  ],
  [
    "zod/mini",
    mini.object({
      a: mini.string().check(mini.trim(), mini.minLength(1)),
      b: mini.optional(mini.int()),
    }),
    [
      { a: " x " },
      { a: " " },
      { b: 1, a: "y" },
    ],
  ],
];

/** What zod says, with the keys in their order. */
function byZod(schema: core.$ZodType, input: unknown): { success: boolean; data?: unknown } {
  const { success, data } = core.safeParse(schema, input);
  return success ? { success, data } : { success };
}

function compare(schema: core.$ZodType, input: unknown): boolean {
  const parse = compileSchema(schema);
  if (parse === undefined) return false;
  const seen = structuredClone(input);
  const expected = byZod(schema, seen);
  const value = parse(input);
  // zod freezes what is readonly in place, and so do we when we take it; nothing else may happen to an input
  if (value !== ASK_ZOD) assertEquals(getShape(input), getShape(seen), "the input was changed");
  // what does not fit is left to zod; so may be what fits, but never the other way round
  if (value === ASK_ZOD) return false;
  assert(expected.success, `taken, though zod refuses it: ${JSON.stringify(input)}`);
  assertEquals(getShape(value), getShape(expected.data));
  return true;
}

for (const [name, schema, inputs] of KNOWN) {
  testCompiled(`writeSchemaParser() gives what zod gives for ${name}`, () => {
    assert(compileSchema(schema) !== undefined, "it is left to zod");
    const taken = inputs.filter((input) => compare(schema, input));
    assert(taken.length > 0, "no value was taken");
  });
}

/** Texts that zod's formats take. */
const FORMATS: [name: string, schema: z.ZodType, text: string][] = [
  ["uuid", z.uuid(), "3f2504e0-4f89-41d3-9a0c-0305e82c3301"],
  ["uuidv7", z.uuidv7(), "01932f4e-7c1a-7b3c-8d4e-0123456789ab"],
  ["guid", z.guid(), "3f2504e0-4f89-f1d3-0a0c-0305e82c3301"],
  ["email", z.email(), "ada.lovelace@mail.example.com"],
  ["nanoid", z.nanoid(), "V1StGXR8_Z5jdHi6B-myT"],
  ["cuid", z.cuid(), "ck9z4x8p20000qzrmn831i7rn"],
  ["cuid2", z.cuid2(), "tz4a98xxat96iws9zmbrgj3a"],
  ["ulid", z.ulid(), "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
  ["xid", z.xid(), "9m4e2mr0ui3e8a215n4g"],
  ["ksuid", z.ksuid(), "0ujtsYcgvSTl8PAuAdqWYSMnLOv"],
  ["datetime", z.iso.datetime({ offset: true }), "2024-02-29T23:59:59.123+02:00"],
  ["datetime of a precision", z.iso.datetime({ precision: 3 }), "2026-11-21T00:00:00.123Z"],
  ["date", z.iso.date(), "2024-02-29"],
  ["time", z.iso.time({ precision: 2 }), "23:59:59.12"],
  ["duration", z.iso.duration(), "P1Y2M3DT4H5M6S"],
  ["ipv4", z.ipv4(), "203.0.113.10"],
  ["cidrv4", z.cidrv4(), "203.0.113.0/24"],
  ["mac", z.mac(), "00:1a:2b:3c:4d:5e"],
  ["e164", z.e164(), "+4915123456789"],
  ["emoji", z.emoji(), "🧮"],
  [
    "a pattern of the user's own",
    z.email({ pattern: /^[0-9a-fA-F]{4}?\[0-9a-fA-F]{3}$/ }),
    "01af[0-9a-fA-F]]]",
  ],
];

for (const [name, schema, text] of FORMATS) {
  testCompiled(
    `writeSchemaParser() takes for ${name} what zod takes, with each character changed, left out or doubled`,
    () => {
      const parse = compileSchema(schema)!;
      assertEquals(parse(text), text);
      for (let at = 0; at <= text.length; at++) {
        const [before, character, after] = [
          text.slice(0, at),
          text.slice(at, at + 1),
          text.slice(at + 1),
        ];
        for (
          const other of [
            "",
            character + character,
            "0",
            "9",
            "a",
            "g",
            "Z",
            "-",
            ".",
            "{",
            "\n",
            "é",
            "😀",
          ]
        ) {
          const edited = before + other + after;
          assertEquals(
            parse(edited) !== ASK_ZOD,
            schema.safeParse(edited).success,
            JSON.stringify(edited),
          );
        }
      }
    },
  );
}

testCompiled(
  "writeSchemaParser() takes values that fit, and leaves those that do not to zod",
  () => {
    const parse = compileSchema(z.object({ a: z.int() }))!;
    assertEquals(parse({ a: 1, b: 2 }), { a: 1 });
    assertStrictEquals(parse({ a: "1" }), ASK_ZOD);
  },
);

testCompiled("writeSchemaParser() gives a default anew each time", () => {
  const parse = compileSchema(z.object({ a: z.array(z.int()).default([1]) }))!;
  const [first, second] = [parse({}), parse({})] as { a: number[] }[];
  first.a.push(2);
  assertEquals(second, { a: [1] });
});

interface Node {
  children: Node[];
}
const Recursive: z.ZodType<Node> = z.object({
  get children() {
    return z.array(Recursive);
  },
});

/** Schemas that run custom code, or whose parts are not known here. */
const UNKNOWN: [name: string, schema: core.$ZodType][] = [
  ["a refinement", z.object({ a: z.string().refine(() => true) })],
  ["an asynchronous refinement", z.string().refine(() => Promise.resolve(true))],
  ["a check of an object", z.object({}).check(() => {})],
  ["a transform", z.string().transform((text) => text.length)],
  ["an overwrite of the user's", z.string().overwrite((text) => text + "!")],
  ["a format of the user's", z.stringFormat("mine", () => true)],
  ["a pipe", z.string().pipe(z.coerce.number())],
  ["a preprocess", z.preprocess((value) => value, z.string())],
  ["a codec", z.stringbool()],
  ["catch", z.string().catch("x")],
  ["lazy", z.lazy(() => z.string())],
  ["a schema that refers to itself", Recursive],
  ["an intersection", z.intersection(z.object({ a: z.int() }), z.object({ b: z.int() }))],
  ["a tuple", z.tuple([z.string()])],
  ["a map", z.map(z.string(), z.string())],
  ["an exclusive union", z.xor([z.string(), z.int()])],
  ["a union that has to convert", z.union([z.coerce.number(), z.null()])],
  ["an exact optional", z.object({ a: z.exactOptional(z.string()) })],
  ["a prefault", z.string().prefault("x")],
  ["a record of known keys", z.record(z.enum(["a"]), z.int())],
  [
    "a key that is __proto__",
    z.object(JSON.parse('{"__proto__":1}', (key, value) => key === "" ? value : z.int())),
  ],
  ["a typed catchall", z.object({}).catchall(z.int())],
  ["an object of a class", z.instanceof(Date)],
  ["a URL in a union", z.union([z.url(), z.literal("a")])],
  ["ipv6", z.ipv6()],
  ["base64", z.base64()],
  ["multiples of a fraction", z.number().multipleOf(0.5)],
  ["multiples in a union", z.union([z.number().multipleOf(3), z.string()])],
  ["float32", z.float32()],
  ["a date with bounds", z.date().min(new Date(0))],
];
for (const [name, schema] of UNKNOWN) {
  Deno.test(`writeSchemaParser() leaves ${name} to zod`, () =>
    assertStrictEquals(compileSchema(schema), undefined));
}

Deno.test("writeSchemaParser() leaves a schema to zod that zod has compiled", () => {
  assertStrictEquals(compileSchema(z.compile(z.object({ a: z.int() }))), undefined);
});

Deno.test("writeSchemaParser() leaves schemas of another zod to that zod", () => {
  const schema = z.string();
  Object.assign(schema._zod, { version: { major: 4, minor: 5, patch: 0 } });
  assertStrictEquals(compileSchema(schema), undefined);
});

testCompiled("writeSchemaParser() puts no text of a schema into code", () => {
  const key = '"];globalThis.pwned=1;//\u2028\n`${1}';
  const schema = z.object({ [key]: z.literal([key, "\\"]), o: z.enum([key]).optional() });
  assertEquals(compileSchema(schema)!({ [key]: key, o: key }), { [key]: key, o: key });
  assertEquals("pwned" in globalThis, false);
});

testCompiled("writeSchemaParser() gives what zod gives, for any schema and any value", () => {
  let compiled = 0;
  let taken = 0;
  const cases = fc.oneof(schemas.object, schemas.any).chain((schema) =>
    fc.tuple(fc.constant(schema), valueFor(schema))
  );
  fc.assert(
    fc.property(cases, ([schema, value]) => {
      if (compileSchema(schema) === undefined) return;
      compiled++;
      if (compare(schema, value)) taken++;
    }),
    { seed, numRuns },
  );
  // the property would hold as well if nothing were ever compiled or taken
  assert(
    compiled > numRuns / 4 && taken > numRuns / 10,
    `${compiled} compiled, ${taken} taken of ${numRuns}`,
  );
});
