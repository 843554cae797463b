import { assertEquals, assertFalse, assertInstanceOf, assertStrictEquals } from "@std/assert";
import {
  AppError,
  CommitOutcomeUnknownError,
  DatabaseError,
  ForeignKeyViolationError,
  UniqueViolationError,
} from "../../errors/mod.ts";

function driverError(code: string, message = "a message with 'secret'"): Error {
  return Object.assign(new Error(message), { code });
}

Deno.test("DatabaseError takes the SQLSTATE from the cause chain by default", () => {
  const cause = new Error("Failed query", { cause: driverError("23505") });
  assertEquals(new DatabaseError("m", { cause }).sqlState, "23505");
  assertEquals(new DatabaseError("m", { cause, sqlState: "40001" }).sqlState, "40001");
  assertEquals(new DatabaseError("m", { cause: new Error("x") }).sqlState, undefined);
  const { code, statusCode, expose, message, queryName } = new DatabaseError(undefined, {
    queryName: "q",
  });
  assertEquals([code, statusCode, expose, message, queryName], [
    "DATABASE",
    500,
    false,
    "A database query failed",
    "q",
  ]);
});

Deno.test("DatabaseError.from() says query name and SQLSTATE, and nothing that the driver said", () => {
  const cases: [unknown, string | undefined, string][] = [
    [driverError("23505"), "createUser", "Query createUser failed with SQLSTATE 23505"],
    [driverError("23505"), undefined, "A query failed with SQLSTATE 23505"],
    [new Error("secret"), "createUser", "Query createUser failed"],
    ["secret", undefined, "A query failed"],
    [undefined, undefined, "A query failed"],
    [
      new Error("Failed query: secret", { cause: driverError("22P02") }),
      "q",
      "Query q failed with SQLSTATE 22P02",
    ],
  ];
  for (const [cause, name, message] of cases) {
    const error = DatabaseError.from(cause, name);
    assertEquals(error.message, message);
    assertStrictEquals(error.cause, cause);
    assertEquals(error.queryName, name);
    assertFalse(JSON.stringify(error.details ?? "").includes("secret"));
  }
});

Deno.test("DatabaseError.from() keeps the names that the server gave", () => {
  const cause = Object.assign(driverError("23505"), {
    table_name: "users",
    constraint_name: "users_email_key",
    detail: "x",
  });
  assertEquals(DatabaseError.from(cause).details, {
    table: "users",
    constraint: "users_email_key",
  });
});

Deno.test("DatabaseError.from() leaves a DatabaseError as it is", () => {
  const error = new CommitOutcomeUnknownError();
  assertStrictEquals(DatabaseError.from(error, "q"), error);
});

Deno.test("ForeignKeyViolationError is 409 and names table and column", () => {
  const error = new ForeignKeyViolationError(undefined, { table: "users", column: "id" });
  assertInstanceOf(error, AppError);
  assertEquals(
    [
      error.name,
      error.code,
      error.statusCode,
      error.expose,
      error.message,
      error.table,
      error.column,
    ],
    [
      "ForeignKeyViolationError",
      "FOREIGN_KEY_VIOLATION",
      409,
      true,
      "A referenced row does not exist",
      "users",
      "id",
    ],
  );
});

Deno.test("CommitOutcomeUnknownError is a DatabaseError with its own code and status 500", () => {
  const error = new CommitOutcomeUnknownError(undefined, {
    queryName: "q",
    cause: driverError("08006"),
  });
  assertInstanceOf(error, DatabaseError);
  assertEquals(
    [error.name, error.code, error.statusCode, error.expose, error.sqlState, error.queryName],
    ["CommitOutcomeUnknownError", "COMMIT_OUTCOME_UNKNOWN", 500, false, "08006", "q"],
  );
});

Deno.test("DatabaseError.from() makes the class of each violated constraint", () => {
  const names = { constraint: "c", table: "t", detail: "Key (a, b)=(secret, 1) already exists." };
  const cases: [
    code: string,
    type: typeof DatabaseError,
    status: number,
    errorCode: string,
    columns: string[],
  ][] = [
    ["23505", UniqueViolationError, 409, "UNIQUE_VIOLATION", ["a", "b"]],
    ["23P01", UniqueViolationError, 409, "UNIQUE_VIOLATION", ["a", "b"]],
    ["23503", ForeignKeyViolationError, 409, "FOREIGN_KEY_VIOLATION", ["a", "b"]],
    ["23001", ForeignKeyViolationError, 409, "FOREIGN_KEY_VIOLATION", ["a", "b"]],
    ["23514", DatabaseError, 500, "DATABASE", ["a", "b"]],
  ];
  for (const [code, type, status, errorCode, columns] of cases) {
    const error = DatabaseError.from(Object.assign(driverError(code), names), "q");
    assertStrictEquals(error.constructor, type, code);
    assertEquals([error.statusCode, error.code, error.sqlState], [status, errorCode, code]);
    assertEquals([error.constraint, error.table, error.columns], ["c", "t", columns]);
    // the message is for the log: it has the query's name
    assertEquals([error.expose, error.attempts], [false, undefined]);
  }
});

Deno.test("DatabaseError.from() says which constraint, table and columns, and how often it was tried", () => {
  const base = "Query q failed with SQLSTATE";
  const cases: [Record<string, string>, attempts: number | undefined, string][] = [
    [
      { code: "23505", constraint: "u", table: "t", detail: "Key (a, b)=(secret)" },
      undefined,
      `${base} 23505 (constraint u, table t, column a, b)`,
    ],
    [{ code: "23502", table: "t", column: "a" }, undefined, `${base} 23502 (table t, column a)`],
    [{ code: "23514", constraint: "u" }, undefined, `${base} 23514 (constraint u)`],
    [{ code: "40001" }, 4, `${base} 40001 after 4 attempts`],
    [{ code: "40001" }, 1, `${base} 40001 after 1 attempt`],
  ];
  for (const [fields, attempts, message] of cases) {
    const error = DatabaseError.from(Object.assign(new Error("secret"), fields), "q", attempts);
    assertEquals([error.message, error.attempts], [message, attempts]);
  }
});

Deno.test("UniqueViolationError and ForeignKeyViolationError are exposed, and carry messages by field", () => {
  const errors = { email: ["is taken"] };
  for (const type of [UniqueViolationError, ForeignKeyViolationError]) {
    const error = new type(undefined, {
      errors,
      constraint: "c",
      columns: ["a", "b"],
      sqlState: "23505",
    });
    assertEquals([error.statusCode, error.expose, error.errors], [409, true, errors]);
    assertEquals([error.constraint, error.columns, error.sqlState], ["c", ["a", "b"], "23505"]);
    assertEquals(new type().errors, undefined);
    assertEquals(new type().columns, []);
  }
  assertEquals(new UniqueViolationError().message, "A row with the same values exists already");
  assertEquals(new ForeignKeyViolationError(undefined, { columns: ["a", "b"] }).column, "a");
  assertEquals(new ForeignKeyViolationError(undefined, { column: "a" }).columns, ["a"]);
});
