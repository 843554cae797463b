import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import * as z from "zod";
import * as mini from "zod/mini";
import {
  validateSchema,
  validateSchemaAsync,
  type ValidationResult,
  z as ours,
  ZodError,
} from "../../validation/mod.ts";
import { createValidator } from "../../validation/schema.ts";

const Note = z.object({
  title: z.string().min(1, "too short").max(3, "too long").regex(/^[a-z]*$/, "not lower case"),
  address: z.object({ zip: z.string("no zip") }).optional(),
  items: z.array(z.object({ sku: z.string("no sku") })).optional(),
  count: z.coerce.number("no number").default(7),
});

const CASES: [name: string, data: unknown, result: ValidationResult][] = [
  ["parsed data", { title: "abc", more: 1 }, { success: true, data: { title: "abc", count: 7 } }],
  ["coerced data", { title: "a", count: "8" }, { success: true, data: { title: "a", count: 8 } }],
  ["several messages of a field", { title: "ABCD" }, {
    success: false,
    errors: { title: ["too long", "not lower case"] },
  }],
  ["dotted paths", { title: "a", address: {}, items: [{ sku: "x" }, {}], count: "x" }, {
    success: false,
    errors: { "address.zip": ["no zip"], "items.1.sku": ["no sku"], count: ["no number"] },
  }],
];

for (const [name, data, result] of CASES) {
  Deno.test(`validateSchema() gives ${name}`, async () => {
    for (const schema of [Note, z.compile(Note)]) {
      assertEquals<ValidationResult>(validateSchema(schema, data), result);
      assertEquals<ValidationResult>(await validateSchemaAsync(schema, data), result);
    }
  });
}

Deno.test("validateSchema() puts messages of the whole input under _form", () => {
  for (const data of [undefined, null, "text", 7, []]) {
    const result = validateSchema(Note, data);
    assertEquals([result.success, Object.keys(result.errors ?? {})], [false, ["_form"]]);
  }
  const Pair = z.object({ a: z.number(), b: z.number() }).refine(
    ({ a, b }) => a < b,
    "a must be less than b",
  );
  assertEquals(validateSchema(Pair, { a: 2, b: 1 }).errors, { _form: ["a must be less than b"] });
});

Deno.test("validateSchema() takes schemas of zod, of zod/mini and of the package's own z", () => {
  const schemas = [
    z.object({ a: z.string() }),
    mini.object({ a: mini.string() }),
    ours.object({ a: ours.string() }),
    z.compile(z.object({ a: z.string() })),
  ];
  for (const schema of schemas) {
    assertEquals(validateSchema(schema, { a: "x", b: 1 }), { success: true, data: { a: "x" } });
    assertEquals(Object.keys(validateSchema(schema, { a: 1 }).errors ?? {}), ["a"]);
  }
});

Deno.test("validateSchema() does not lose a field called __proto__ or constructor", () => {
  const schema = z.record(z.string(), z.string("no text"));
  const errors =
    validateSchema(schema, JSON.parse('{"__proto__":1,"constructor":2,"toString":3}')).errors ?? {};
  assertEquals(Object.getPrototypeOf(errors), Object.prototype);
  for (const key of Object.keys(errors)) assertEquals(Object.hasOwn(errors, key), true);
  assertEquals(errors.constructor as unknown, ["no text"]);
  assertEquals(errors.toString as unknown, ["no text"]);
});

Deno.test("validateSchema() says what to use for a schema that validates asynchronously", async () => {
  const schema = z.string().refine(
    async (text) => await Promise.resolve(text !== "taken"),
    "taken",
  );
  assertThrows(() => validateSchema(schema, "free"), TypeError, "validateSchemaAsync");
  assertEquals(await validateSchemaAsync(schema, "free"), { success: true, data: "free" });
  assertEquals(await validateSchemaAsync(schema, "taken"), {
    success: false,
    errors: { _form: ["taken"] },
  });
});

Deno.test("validateSchema() throws on what a refinement throws", async () => {
  const schema = z.string().refine(() => {
    throw new TypeError("broken refinement");
  });
  assertThrows(() => validateSchema(schema, "x"), TypeError, "broken refinement");
  await assertRejects(() => validateSchemaAsync(schema, "x"), TypeError, "broken refinement");
});

Deno.test("createValidator() is synchronous for a synchronous schema", () => {
  const validate = createValidator(z.string());
  assertEquals(validate("x"), { success: true, data: "x" });
});

Deno.test("createValidator() goes over to asynchronous when a value first needs it, and stays there", async () => {
  let checks = 0;
  const schema = z.string().min(2).refine(async () => {
    checks++;
    return await Promise.resolve(true);
  });
  const validate = createValidator(schema);
  const short = validate("x"), good = validate("abc");
  assertEquals((await short).success, false);
  assertInstanceOf(good, Promise);
  assertEquals(await good, { success: true, data: "abc" });
  const before = checks; // the first value is checked twice, later ones once
  const third = validate("abcd");
  assertInstanceOf(third, Promise);
  assertEquals((await third).success, true);
  assertEquals(checks, before + 1);
});

const down = (): Promise<never> => Promise.reject(new TypeError("database down"));
const FAILING: [name: string, schema: z.ZodType][] = [
  ["refine", z.string().refine(down)],
  ["superRefine", z.string().superRefine(down)],
  ["check", z.string().check(down)],
  ["a refinement deep in an object", z.object({ a: z.array(z.string().refine(down)) })],
  ["a refinement after a transform", z.string().transform((text) => text.length).refine(down)],
];

for (const [name, schema] of FAILING) {
  Deno.test(`createValidator() rejects when ${name} does, and leaves no rejection unhandled`, async () => {
    const validate = createValidator(schema);
    for (let i = 0; i < 2; i++) {
      await assertRejects(
        async () => await validate(name.endsWith("object") ? { a: ["x"] } : "x"),
        TypeError,
        "database down",
      );
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  });
}

Deno.test("createValidator() goes over to asynchronous also after a value that passed synchronously", async () => {
  const schema = z.union([
    z.number(),
    z.string().refine(async (text) => await Promise.resolve(text !== "taken")),
  ]);
  const validate = createValidator(schema);
  assertEquals(validate(1), { success: true, data: 1 });
  assertEquals((await validate("taken")).success, false);
  assertEquals(await validate("free"), { success: true, data: "free" });
  assertInstanceOf(validate(1), Promise);
});

Deno.test("createValidator() gives the same for asynchronous transforms", async () => {
  const validate = createValidator(
    z.string().transform(async (text) => await Promise.resolve(text.length)),
  );
  for (let i = 0; i < 2; i++) assertEquals(await validate("abc"), { success: true, data: 3 });
});

Deno.test("createValidator() throws on what a synchronous refinement throws", () => {
  const validate = createValidator(
    z.string().refine(() => {
      throw new RangeError("broken refinement");
    }),
  );
  assertThrows(() => validate("x"), RangeError, "broken refinement");
});

Deno.test("createValidator() takes an input that is nested deeper than the schema can follow for a fault of the input", () => {
  let data: unknown = [];
  for (let i = 0; i < 100_000; i++) data = [data];
  const result = createValidator(z.json())(data) as ValidationResult;
  assertEquals(result.success, false);
  assertStringIncludes(JSON.stringify(result.errors), "nested");
});

Deno.test("the package's ZodError is zod's own", () => {
  const { error } = z.string().safeParse(1);
  assertInstanceOf(error, ZodError);
});
