import { assertEquals, assertFalse, assertInstanceOf, assertStrictEquals } from "@std/assert";
import { AppError, CommitOutcomeUnknownError, DatabaseError, ForeignKeyViolationError } from "../../errors/mod.ts";

function driverError(code: string, message = "a message with 'secret'"): Error {
  return Object.assign(new Error(message), { code });
}

Deno.test("DatabaseError takes the SQLSTATE from the cause chain unless it is told", () => {
  const cause = new Error("Failed query", { cause: driverError("23505") });
  assertEquals(new DatabaseError("m", { cause }).sqlState, "23505");
  assertEquals(new DatabaseError("m", { cause, sqlState: "40001" }).sqlState, "40001");
  assertEquals(new DatabaseError("m", { cause: new Error("x") }).sqlState, undefined);
  const { code, statusCode, expose, message, queryName } = new DatabaseError(undefined, { queryName: "q" });
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
    [new Error("Failed query: secret", { cause: driverError("22P02") }), "q", "Query q failed with SQLSTATE 22P02"],
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
  assertEquals(DatabaseError.from(cause).details, { table: "users", constraint: "users_email_key" });
});

Deno.test("DatabaseError.from() leaves a DatabaseError as it is", () => {
  const error = new CommitOutcomeUnknownError();
  assertStrictEquals(DatabaseError.from(error, "q"), error);
});

Deno.test("ForeignKeyViolationError is 409 and names table and column", () => {
  const error = new ForeignKeyViolationError(undefined, { table: "users", column: "id" });
  assertInstanceOf(error, AppError);
  assertEquals(
    [error.name, error.code, error.statusCode, error.expose, error.message, error.table, error.column],
    ["ForeignKeyViolationError", "FOREIGN_KEY_VIOLATION", 409, true, "A referenced row does not exist", "users", "id"],
  );
});

Deno.test("CommitOutcomeUnknownError is a DatabaseError with a code of its own and status 500", () => {
  const error = new CommitOutcomeUnknownError(undefined, { queryName: "q", cause: driverError("08006") });
  assertInstanceOf(error, DatabaseError);
  assertEquals(
    [error.name, error.code, error.statusCode, error.expose, error.sqlState, error.queryName],
    ["CommitOutcomeUnknownError", "COMMIT_OUTCOME_UNKNOWN", 500, false, "08006", "q"],
  );
});
