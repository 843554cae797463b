import { assert, assertEquals, assertFalse } from "@std/assert";
import {
  IDEMPOTENT_DDL_CODES,
  IDEMPOTENT_TEST_CODES,
  isIdempotentDdlError,
  isOccError,
  OCC_ERROR_CODES,
} from "../../database/mod.ts";
import { isCommitOutcomeUnknown } from "../../sql/sqlstate.ts";

function withCode(code: unknown): Error {
  return Object.assign(new Error("x"), { code });
}

Deno.test("isOccError() finds each conflict's code at any depth of the cause chain", () => {
  assertEquals([...OCC_ERROR_CODES], ["40001", "OC000", "OC001"]);
  for (const code of OCC_ERROR_CODES) {
    assert(isOccError(withCode(code)));
    assert(
      isOccError(new Error("outer", { cause: new Error("middle", { cause: withCode(code) }) })),
    );
    assert(isOccError(new AggregateError([new Error("a"), withCode(code)])));
  }
});

Deno.test("isOccError() reads no message and takes no other code", () => {
  for (
    const error of [
      new Error("change conflicts (OC000) 40001"),
      withCode("40P01"),
      withCode(40001),
      null,
      "40001",
    ]
  ) {
    assertFalse(isOccError(error));
  }
  const loop = new Error("loop") as Error & { cause?: unknown };
  loop.cause = loop;
  assertFalse(isOccError(loop));
});

Deno.test("isIdempotentDdlError() takes what says that DDL is done, and not a failure of rows", () => {
  for (const code of IDEMPOTENT_DDL_CODES) {
    assert(isIdempotentDdlError(new Error("outer", { cause: withCode(code) })));
  }
  for (const code of ["23505", "42601", "42501", "40001"]) {
    assertFalse(isIdempotentDdlError(withCode(code)));
  }
  assertEquals([...IDEMPOTENT_TEST_CODES], [...IDEMPOTENT_DDL_CODES, "23505", "23503", "2BP01"]);
});

Deno.test("isCommitOutcomeUnknown() is true where the server did not say how COMMIT ended", () => {
  const cases: [error: unknown, expected: boolean][] = [
    [withCode("CONNECTION_CLOSED"), true],
    [withCode("ECONNRESET"), true],
    [withCode("EPIPE"), true],
    [new Error("Connection terminated unexpectedly"), true],
    [withCode("08006"), true],
    [withCode("57P01"), true],
    [withCode("XX000"), true],
    [withCode("40001"), false],
    [withCode("23505"), false],
    [withCode("25P02"), false],
    [new Error("outer", { cause: withCode("40001") }), false],
  ];
  for (const [error, expected] of cases) {
    assertEquals(isCommitOutcomeUnknown(error), expected, String(error));
  }
});
