import { assertEquals, assertInstanceOf, assertStrictEquals } from "@std/assert";
import { DataApiError, readFailure } from "../../../database/providers/data_api_error.ts";

interface Expected {
  code: string;
  message: string;
  names?: Record<string, unknown>;
}

const CASES: readonly [text: string, expected: Expected][] = [
  [
    'ERROR: duplicate key value violates unique constraint "users_email_key"\n  Detail: Key (email, "Org")=(a@b, 1) already exists.; SQLState: 23505',
    {
      code: "23505",
      message: 'duplicate key value violates unique constraint "users_email_key"',
      names: { constraint: "users_email_key", columns: ["email", "Org"] },
    },
  ],
  [
    'ERROR: duplicate key value violates unique constraint "u"; SQLState: 23505',
    {
      code: "23505",
      message: 'duplicate key value violates unique constraint "u"',
      names: { constraint: "u" },
    },
  ],
  [
    'ERROR: update or delete on table "a" violates foreign key constraint "f" on table "b"\n  Detail: Key (id)=(1) is still referenced from table "b".; SQLState: 23503',
    {
      code: "23503",
      message: 'update or delete on table "a" violates foreign key constraint "f" on table "b"',
      names: { constraint: "f", table: "b" },
    },
  ],
  [
    'ERROR: update or delete on table "a" violates RESTRICT setting of foreign key constraint "f" on table "b"; SQLState: 23001',
    {
      code: "23001",
      message:
        'update or delete on table "a" violates RESTRICT setting of foreign key constraint "f" on table "b"',
      names: { constraint: "f", table: "b" },
    },
  ],
  [
    'ERROR: value for domain positive violates check constraint "c"; SQLState: 23514',
    {
      code: "23514",
      message: 'value for domain positive violates check constraint "c"',
      names: { constraint: "c" },
    },
  ],
  // a value that looks like the end, or like a name
  [
    'ERROR: invalid input syntax for type uuid: "x; SQLState: 40001"; SQLState: 22P02',
    { code: "22P02", message: 'invalid input syntax for type uuid: "x; SQLState: 40001"' },
  ],
  [
    'ERROR: invalid input syntax for type uuid: "a\n  Detail: Key (secret)=(1); SQLState: 22P02',
    { code: "22P02", message: 'invalid input syntax for type uuid: "a' },
  ],
  // a RAISE in words of its own
  [
    'ERROR: the order "secret" violates unique constraint "secret"; SQLState: 23505',
    { code: "23505", message: 'the order "secret" violates unique constraint "secret"' },
  ],
  [
    `ERROR: duplicate key value violates unique constraint "${"x".repeat(64)}"; SQLState: 23505`,
    {
      code: "23505",
      message: `duplicate key value violates unique constraint "${"x".repeat(64)}"`,
    },
  ],
  ["FATAL: sorry, too many clients already; SQLState: 53300", {
    code: "53300",
    message: "sorry, too many clients already",
  }],
];

Deno.test("readFailure() reads SQLSTATE and names from the Data API's text, and from PostgreSQL's own messages alone", () => {
  for (const [text, { code, message, names = {} }] of CASES) {
    const error = readFailure(new Error(text));
    assertInstanceOf(error, DataApiError, text);
    assertEquals([error.code, error.message], [code, message]);
    const { constraint, table, column, columns } = error;
    const found = Object.entries({ constraint, table, column, columns }).filter(([, value]) =>
      value !== undefined
    );
    assertEquals(Object.fromEntries<unknown>(found), names, text);
  }
});

Deno.test("readFailure() leaves an error without a SQLSTATE as it is", () => {
  for (
    const error of [
      new Error("Database is resuming"),
      new Error("SQLState: unknown"),
      new Error("; SQLState: 2350"),
      new Error("; SQLState: 235055"),
      "text",
      undefined,
    ]
  ) {
    assertStrictEquals(readFailure(error), error);
  }
});
