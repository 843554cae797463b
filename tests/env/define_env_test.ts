import { assertEquals, assertFalse, assertStringIncludes, assertThrows } from "@std/assert";
import { inspect } from "node:util";
import * as z from "zod";
import { defineEnv, type StandardSchema } from "../../env/mod.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { redactValue } from "../../observability/mod.ts";
import { withEnv } from "../support/with_env.ts";

const SECRET = "s3cr3t-value-4711";

Deno.test("defineEnv() parses by schema, and gives texts where there is none", () => {
  const env = defineEnv({
    PORT: { schema: z.coerce.number().int() },
    NAME: {},
    FLAG: z.stringbool(),
  }, { source: { PORT: "8080", NAME: "notes", FLAG: "true" } });
  const port: number = env.PORT, name: string = env.NAME, flag: boolean = env.FLAG;
  assertEquals([port, name, flag], [8080, "notes", true]);
  assertEquals(Object.keys(env), ["PORT", "NAME", "FLAG"]);
});

Deno.test("defineEnv() uses a default, optional, or the schema's own default for what is unset or empty", () => {
  for (const source of [{}, { A: "", B: "", C: "", D: "" }]) {
    const env = defineEnv({
      A: { schema: z.coerce.number(), default: 1 },
      B: { optional: true },
      C: z.string().default("c"),
      D: z.string().optional(),
    }, { source });
    assertEquals({ ...env }, { A: 1, B: undefined, C: "c", D: undefined });
  }
});

Deno.test("defineEnv() reads nothing before the first access, and once", async () => {
  let reads = 0;
  const source = {
    get A(): string {
      reads++;
      return "a";
    },
  };
  const env = defineEnv({ A: {} }, { source });
  assertEquals(reads, 0);
  assertEquals([env.A, env.A, reads], ["a", "a", 1]);
  await withEnv({ TRELLIS_TEST_VARIABLE: "from the process" }, () => {
    assertEquals(
      defineEnv({ TRELLIS_TEST_VARIABLE: {} }).TRELLIS_TEST_VARIABLE,
      "from the process",
    );
  });
});

Deno.test("defineEnv() reports all problems at once, without values of secrets", () => {
  const env = defineEnv({
    MISSING: {},
    MISSING_TOO: z.string(),
    PORT: z.coerce.number("PORT must be a number"),
    KEY: { schema: z.string().regex(/^k-/, `not ${SECRET}`), secret: true },
    SLOW: {
      "~standard": { version: 1, vendor: "t", validate: (value) => Promise.resolve({ value }) },
    } as StandardSchema,
  }, { source: { PORT: "x", KEY: SECRET, SLOW: "s" } });
  const error = assertThrows(() => env.PORT, ConfigurationError);
  assertEquals(error.message.includes(SECRET), false);
  assertEquals(error.details?.problems, [
    "MISSING is not set",
    "MISSING_TOO is not set",
    "PORT PORT must be a number",
    "KEY is not valid",
    "SLOW has a schema that validates asynchronously: use a synchronous one",
  ]);
  for (const problem of error.details?.problems as string[]) {
    assertStringIncludes(error.message, problem);
  }
});

Deno.test("defineEnv() reports its problems again at the next access", () => {
  const env = defineEnv({ A: {} }, { source: {} });
  for (let i = 0; i < 2; i++) assertThrows(() => env.A, ConfigurationError, "A is not set");
});

Deno.test("defineEnv() shows a secret in nothing that is printed, logged or serialised", () => {
  const env = defineEnv({ KEY: { secret: true }, PORT: {} }, {
    source: { KEY: SECRET, PORT: "1" },
  });
  assertEquals(env.KEY, SECRET);
  const shown: string[] = [
    JSON.stringify(env),
    JSON.stringify({ nested: [env] }),
    inspect(env),
    inspect({ env }, { depth: 9, showHidden: true }),
    Deno.inspect(env),
    JSON.stringify(redactValue({ env })),
  ];
  for (const text of shown) {
    assertFalse(text.includes(SECRET), text);
    assertStringIncludes(text, "REDACTED");
    assertStringIncludes(text, "PORT");
  }
  let template = "";
  try {
    template = `${env}`;
  } catch {
    // an object without a prototype has no text: nothing was shown
  }
  assertFalse(template.includes(SECRET));
});

Deno.test("defineEnv() gives an object that cannot be changed", () => {
  const env = defineEnv({ A: {} }, { source: { A: "a" } });
  assertThrows(() => Object.assign(env, { A: "b" }), TypeError);
  assertThrows(() => Object.assign(env, { B: "b" }), TypeError);
  assertEquals(env.A, "a");
});
