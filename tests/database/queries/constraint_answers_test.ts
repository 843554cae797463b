import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { createQueryFactory } from "../../../database/mod.ts";
import { findConstraintAnswer } from "../../../database/queries/constraint_answers.ts";
import {
  ConfigurationError,
  DatabaseError,
  type DatabaseErrorOptions,
} from "../../../errors/mod.ts";

const answer = { field: "email", message: "is taken" };
const { defineQuery } = createQueryFactory(() => Promise.reject(new Error("not called")));

Deno.test("defineQuery() refuses constraints that could never be answered", () => {
  const cases: [constraints: unknown, part: string][] = [
    [[], "constraints must be an object"],
    ["users", "constraints must be an object"],
    [null, "constraints must be an object"],
    [{ "": answer }, "empty name"],
    [{ ["x".repeat(64)]: answer }, "64 bytes"],
    [{ ["ä".repeat(32)]: answer }, "64 bytes"],
    [{ "40001": answer }, 'constraints["40001"]'],
    [{ "42P01": answer }, "classes 22"],
    [{ users_key: undefined }, "constraints.users_key"],
    [{ users_key: "is taken" }, "constraints.users_key"],
    [{ users_key: { field: "email" } }, '{"field":"email"}'],
    [{ users_key: { field: "", message: "is taken" } }, "constraints.users_key"],
    [{ users_key: { field: "email", message: 7 } }, "constraints.users_key"],
    [{ users_key: { ...answer, status: 400 } }, '"status":400'],
  ];
  for (const [constraints, part] of cases) {
    const define = () =>
      defineQuery({ tables: [], constraints: constraints as never }, async () => {});
    assertStringIncludes(assertThrows(define, ConfigurationError).message, part);
  }
  defineQuery(
    { tables: [], constraints: { ["x".repeat(63)]: answer, "22001": answer, "23P01": answer } },
    async () => {},
  );
});

Deno.test("findConstraintAnswer() goes by the constraint's name, then by the name of a NOT NULL column, then by SQLSTATE", () => {
  const long = { table: "t".repeat(40), column: "c".repeat(40) };
  const cases: [key: string, failure: DatabaseErrorOptions, isFound: boolean][] = [
    ["users_email_key", { sqlState: "23505", constraint: "users_email_key" }, true],
    ["users_email_key", { sqlState: "23505", constraint: "other" }, false],
    ["users_email_key", { sqlState: "23505" }, false],
    ["23505", { sqlState: "23505", constraint: "other" }, true],
    ["users_email_not_null", { sqlState: "23502", table: "users", columns: ["email"] }, true],
    // the CHECK that stands for NOT NULL on the distributed engine
    ["users_email_not_null", { sqlState: "23514", constraint: "users_email_not_null" }, true],
    ["users_email_not_null", { sqlState: "23514", table: "users", columns: ["email"] }, false],
    ["users_email_not_null", { sqlState: "23502", columns: ["email"] }, false],
    // PostgreSQL cuts the longer part
    [
      `${"t".repeat(27)}_${"c".repeat(26)}_not_null`,
      { sqlState: "23502", table: long.table, columns: [long.column] },
      true,
    ],
    ["constructor", { sqlState: "23505", constraint: "toString" }, false],
  ];
  for (const [key, failure, isFound] of cases) {
    const found = findConstraintAnswer({ [key]: answer }, new DatabaseError("m", failure));
    assertEquals(found, isFound ? answer : undefined, `${key} ${JSON.stringify(failure)}`);
  }
  const both = { a: answer, "23505": { field: "_form", message: "exists" } };
  assertEquals(
    findConstraintAnswer(both, new DatabaseError("m", { sqlState: "23505", constraint: "a" })),
    answer,
  );
});
