import { assertEquals } from "@std/assert";
import { getSqlState, readDriverError } from "../../errors/driver_error.ts";
import { addKnownNames } from "../../errors/known_names.ts";

const HOSTILE = {
  get code(): string {
    throw new Error("no");
  },
};

Deno.test("getSqlState() distinguishes a SQLSTATE from other codes", () => {
  const cases: [unknown, string | undefined][] = [
    [{ code: "23505" }, "23505"],
    [{ code: "40001" }, "40001"],
    [{ code: "OC000" }, "OC000"],
    [{ code: "P0001" }, "P0001"],
    [{ sqlState: "22P02" }, "22P02"],
    [{ code: "ECONNRESET", sqlState: "08006" }, "08006"],
    [{ code: "EPIPE" }, undefined],
    [{ code: "E2BIG" }, undefined],
    [{ code: "ECONNRESET" }, undefined],
    [{ code: "2350" }, undefined],
    [{ code: "23505x" }, undefined],
    [{ code: "2350a" }, undefined],
    [{ code: 23505 }, undefined],
    [{}, undefined],
    [null, undefined],
    [undefined, undefined],
    ["23505", undefined],
    [HOSTILE, undefined],
  ];
  for (const [value, expected] of cases) assertEquals(getSqlState(value), expected);
});

/** Messages as PostgreSQL 18 writes them, `VALUE` standing for what a statement carried. */
const MESSAGES: [code: string, message: string, safe: string][] = [
  [
    "22P02",
    'invalid input syntax for type uuid: "VALUE"',
    'invalid input syntax for type uuid: "…"',
  ],
  ["22P02", 'invalid input value for enum mood: "VALUE"', 'invalid input value for enum mood: "…"'],
  ["22P02", 'malformed array literal: "VALUE ""quoted"" VALUE"', 'malformed array literal: "…"'],
  [
    "22003",
    'value "VALUE" is out of range for type integer',
    'value "…" is out of range for type integer',
  ],
  [
    "22007",
    'invalid input syntax for type date: "VALUE"',
    'invalid input syntax for type date: "…"',
  ],
  [
    "22021",
    "invalid byte sequence for encoding UTF8: VALUE",
    "invalid byte sequence for encoding UTF8: …",
  ],
  ["42601", 'syntax error at or near "VALUE"', 'syntax error at or near "…"'],
  ["P0001", "the balance of VALUE is too low", "raised by a database function"],
  ["XX000", "unexpected: VALUE\nsecond VALUE", "unexpected: …"],
  [
    "22001",
    "value too long for type character varying(3)",
    "value too long for type character varying(3)",
  ],
  ["23505", 'duplicate key value violates unique constraint "users_email_key"', ""],
  ["23502", 'null value in column "email" of relation "users" violates not-null constraint', ""],
  ["42P01", 'relation "VALUE" does not exist', 'relation "…" does not exist'],
  ["42703", 'column "VALUE" does not exist', 'column "…" does not exist'],
  ["42703", "column a.VALUE does not exist", "column ….… does not exist"],
  ["42883", "function VALUE(integer) does not exist", "function … does not exist"],
  ["42501", "permission denied for table notes", ""],
  ["23505", "user VALUE exists", "SQLSTATE 23505"],
  ["40001", "could not serialize access due to concurrent update", ""],
  ["57014", "canceling statement due to statement timeout", ""],
  ["OC001", "schema has been updated by another transaction, please retry: (OC001)", ""],
];

Deno.test("readDriverError() takes values out of the server's messages and leaves names in", () => {
  for (const [code, message, safe] of MESSAGES) {
    const read = readDriverError(Object.assign(new Error(message), { code }));
    assertEquals(read, { sqlState: code, message: safe || message, names: {} });
    assertEquals(read?.message.includes("VALUE"), false, message);
  }
});

Deno.test("readDriverError() shows declared names, and all identifiers when asked", () => {
  addKnownNames(() => ["known_table", "known_column"]);
  const read = (code: string, message: string, options = {}) =>
    readDriverError({ code, message }, options)?.message;
  const missing = 'relation "known_table" does not exist';
  assertEquals(read("42P01", missing), missing);
  assertEquals(
    read("42703", "column known_table.known_column does not exist"),
    "column known_table.known_column does not exist",
  );
  assertEquals(read("42P01", 'relation "other" does not exist'), 'relation "…" does not exist');
  const shown = 'relation "other" does not exist';
  assertEquals(read("42P01", shown, { showIdentifiers: true }), shown);
  assertEquals(
    read("22P02", 'invalid input syntax for type uuid: "x"', { showIdentifiers: true }),
    'invalid input syntax for type uuid: "…"',
  );
});

Deno.test("readDriverError() shows nothing of what a database function raised", () => {
  const raised = { code: "23505", message: "VALUE", table: "VALUE", routine: "exec_stmt_raise" };
  assertEquals(readDriverError(raised), {
    sqlState: "23505",
    message: "raised by a database function",
    names: {},
  });
});

Deno.test("readDriverError() reads the names of postgres.js and of node-postgres, and no detail, hint or query", () => {
  const rest = {
    detail: "Key (email)=(VALUE)",
    hint: "VALUE",
    where: "VALUE",
    query: "VALUE",
    parameters: ["VALUE"],
  };
  const expected = {
    schema: "public",
    table: "users",
    column: "email",
    constraint: "users_email_key",
  };
  const postgresJs = {
    schema_name: "public",
    table_name: "users",
    column_name: "email",
    constraint_name: "users_email_key",
  };
  for (const names of [expected, postgresJs]) {
    const read = readDriverError({
      code: "23505",
      message: "duplicate key value violates unique constraint",
      ...names,
      ...rest,
    });
    assertEquals(read, {
      sqlState: "23505",
      message: "duplicate key value violates unique constraint",
      names: expected,
    });
  }
});

Deno.test("readDriverError() leaves out names that are empty or no text", () => {
  const read = readDriverError({ code: "23505", message: 7, table: "", column: 3 });
  assertEquals(read, { sqlState: "23505", message: "", names: {} });
});

Deno.test("readDriverError() is undefined for anything else", () => {
  for (const value of [new Error("x"), { code: "ENOENT" }, null, "23505"]) {
    assertEquals(readDriverError(value), undefined);
  }
});

/** Details as PostgreSQL 15 to 18 write them. */
const DETAILS: [code: string, detail: string, columns: string[] | undefined][] = [
  ["23505", "Key (email)=(VALUE) already exists.", ["email"]],
  ["23505", 'Key ("E mail", tenant_id)=(VALUE, 1) already exists.', ["E mail", "tenant_id"]],
  ["23505", "Key (email)=(a)=(b) already exists.", ["email"]],
  ["23505", "Key (lower(email))=(VALUE) already exists.", undefined],
  ["23505", 'Key ("a, b")=(VALUE) already exists.', undefined],
  ["23505", "VALUE Key (email)=(VALUE)", undefined],
  [
    "23P01",
    "Key (room, during)=(1, VALUE) conflicts with existing key (room, during)=(1, VALUE).",
    ["room", "during"],
  ],
  ["23503", 'Key (owner_id)=(VALUE) is not present in table "users".', ["owner_id"]],
  // the key of the other table
  ["23503", 'Key (id)=(VALUE) is still referenced from table "pets".', undefined],
  ["23001", 'Key (id)=(VALUE) is referenced from table "pets".', undefined],
  ["23514", "Failing row contains (VALUE).", undefined],
  ["22P02", "Key (VALUE)=(1)", undefined],
];

Deno.test("readDriverError() reads the columns of a key from the engine's detail, and nothing behind them", () => {
  for (const [code, detail, columns] of DETAILS) {
    assertEquals(readDriverError({ code, message: "m", detail })?.columns, columns, detail);
  }
});

Deno.test("readDriverError() reads no columns from the detail of a RAISE", () => {
  const error = {
    code: "23505",
    message: "m",
    detail: "Key (VALUE)=(1) already exists.",
    routine: "exec_stmt_raise",
  };
  assertEquals(readDriverError(error), {
    sqlState: "23505",
    message: "raised by a database function",
    names: {},
  });
});

Deno.test("readDriverError() takes columns that an error lists itself, and only texts of them", () => {
  assertEquals(readDriverError({ code: "23505", message: "m", columns: ["a", 7, "b"] })?.columns, [
    "a",
    "b",
  ]);
  assertEquals(
    readDriverError({ code: "23505", message: "m", column: "a", columns: ["b"] })?.columns,
    undefined,
  );
});
