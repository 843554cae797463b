import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { NotFoundError, ValidationError } from "../../errors/mod.ts";
import { describeError, type ErrorDescription } from "../../observability/describe_error.ts";

const VALUE = "value-4711@example.com";

Deno.test("describeError() gives name, message, code, details, frames and causes", () => {
  const cause = Object.assign(new TypeError("inner"), { code: "ECONNRESET" });
  const description = describeError(
    new NotFoundError("No such note", { cause, details: { id: "n1" } }),
  );
  const { stack, cause: inner, ...rest } = description;
  assertEquals(rest, {
    name: "NotFoundError",
    message: "No such note",
    code: "NOT_FOUND",
    details: { id: "n1" },
  });
  assertMatch(stack ?? "", /^at .*describe_error_test/);
  assertEquals((inner as ErrorDescription).name, "TypeError");
  assertEquals((inner as ErrorDescription).code, "ECONNRESET");
});

Deno.test("describeError() takes a number for a code", () => {
  assertEquals(describeError(Object.assign(new Error("x"), { code: 7 })).code, "7");
});

Deno.test("describeError() describes what is no Error", () => {
  const NO_ERROR = "a value that is no Error was thrown";
  const cases: [unknown, ErrorDescription][] = [
    ["text", { name: "string", message: "text" }],
    [7, { name: "number", message: NO_ERROR }],
    [null, { name: "object", message: NO_ERROR }],
    [undefined, { name: "undefined", message: NO_ERROR }],
    [{ password: VALUE }, { name: "object", message: NO_ERROR }],
    [Symbol(VALUE), { name: "symbol", message: NO_ERROR }],
  ];
  for (const [value, description] of cases) assertEquals(describeError(value), description);
});

Deno.test("describeError() survives an error that cannot be read", () => {
  const proxy = new Proxy(new Error("x"), {
    get(): never {
      throw new Error("no");
    },
    getPrototypeOf(): never {
      throw new Error("no");
    },
  });
  class Hostile extends Error {
    override get message(): string {
      throw new Error("no");
    }
  }
  for (const value of [proxy, new Hostile(), new Error("outer", { cause: proxy })]) {
    assertStringIncludes(JSON.stringify(describeError(value)), "cannot be read");
  }
});

Deno.test("describeError() describes the parts of an AggregateError", () => {
  const parts = Array.from(
    { length: 20 },
    (_, i) => new AggregateError([new Error("deep")], `part ${i}`),
  );
  const { errors } = describeError(
    new AggregateError([new TypeError("first", { cause: "why" }), ...parts], "all"),
  );
  assertEquals(errors?.length, 8);
  assertEquals([errors?.[0].name, errors?.[0].message, errors?.[0].cause?.message], [
    "TypeError",
    "first",
    "why",
  ]);
});

Deno.test("describeError() ends a chain of causes that leads back to itself", () => {
  const error = new Error("a");
  error.cause = new Error("b", { cause: error });
  assert(JSON.stringify(describeError(error)).length < 100_000);
});

Deno.test("describeError() keeps 16 frames and none of the message", () => {
  function deep(n: number): Error {
    return n === 0 ? new Error(`first\n    at time zone '${VALUE}'\n  at ${VALUE}`) : deep(n - 1);
  }
  const { stack } = describeError(deep(30));
  assertFalse(stack?.includes(VALUE), stack);
  assertEquals(stack?.split("\n").every((line) => line.startsWith("at ")), true);
  assert((stack?.split("\n").length ?? 0) <= 16);
});

/** Errors of drivers, as they come: values of a statement in message, detail, query and parameters. */
function driverErrors(): [string, Error][] {
  const postgres = Object.assign(new Error(`invalid input syntax for type uuid: "${VALUE}"`), {
    name: "PostgresError",
    code: "22P02",
    detail: `Key (email)=(${VALUE}) already exists.`,
    where: `unnamed portal parameter $1 = '${VALUE}'`,
    query: `select '${VALUE}'`,
    parameters: [VALUE],
    table_name: "users",
  });
  const drizzle = Object.assign(
    new Error(`Failed query: select * from users where email = $1\nparams: ${VALUE}`, {
      cause: postgres,
    }),
    { query: "select * from users where email = $1", params: [VALUE] },
  );
  const raised = Object.assign(new Error(`no money for ${VALUE}`), { code: "P0001" });
  return [
    ["a driver's error", postgres],
    ["drizzle's error", drizzle],
    ["a function's RAISE", raised],
    [
      "an error two causes down",
      new Error("outer", { cause: new Error("middle", { cause: drizzle }) }),
    ],
    ["a validation error over one", new ValidationError("m", { cause: drizzle })],
  ];
}

for (const [name, error] of driverErrors()) {
  Deno.test(`describeError() shows neither values nor SQL of ${name}`, () => {
    const text = JSON.stringify(describeError(error));
    assertFalse(text.includes(VALUE), text);
    assertFalse(text.includes("select"), text);
  });
}

Deno.test("describeError() keeps the names that a database gave", () => {
  const unique = Object.assign(
    new Error('duplicate key value violates unique constraint "users_pkey"'),
    {
      code: "23505",
      table_name: "users",
    },
  );
  assertEquals(describeError(unique).details, { table: "users" });
  const description = describeError(driverErrors()[0][1]);
  assertEquals(description.details, undefined);
  assertEquals(description.code, "22P02");
  assertEquals(description.message, 'invalid input syntax for type uuid: "…"');
});
